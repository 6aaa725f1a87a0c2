"""A recipe for Conan 2 that packages the checkout it stands in: `conan create packaging/conan`."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Dmlref(ConanFile):
    name = "dmlref"
    description = "A trustworthy CPU reference of DirectML operators, in C++20 headers"
    license = "MIT"
    settings = "os", "arch", "compiler", "build_type"
    # compiled: kernels and rules as a static library; targets: DMLREF_TARGETS, the most that is compiled in
    options = {
        "compiled": [True, False],
        "fPIC": [True, False],
        "targets": ["", "scalar", "avx2", "avxvnni", "avx512vnni", "amx_int8", "neon", "neon_dotprod"],
    }
    default_options = {"compiled": True, "fPIC": True, "targets": ""}

    def checkout(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def set_version(self):
        config = load(self, os.path.join(self.checkout(), "include", "dmlref", "config.hpp"))
        self.version = ".".join(re.findall(r"#define DMLREF_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", config))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "compiled/*", "include/*"):
            copy(self, pattern, self.checkout(), self.export_sources_folder)

    def configure(self):
        self.package_type = "static-library" if self.options.compiled else "header-library"
        if not self.options.compiled:
            self.options.rm_safe("fPIC")

    def package_id(self):
        if not self.info.options.compiled:
            self.info.settings.clear()

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "DMLREF_BUILD_TESTS": False,
            "DMLREF_BUILD_TOOLS": False,
            "DMLREF_BUILD_BENCH": False,
            "DMLREF_INSTALL": True,
            "DMLREF_INSTALL_COMPILED": bool(self.options.compiled),
            "DMLREF_TARGETS": str(self.options.targets),
        })
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package brings its own CMake and pkg-config files.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "dmlref")]
        if self.options.compiled:
            self.cpp_info.libs = ["dmlref_compiled"]
            self.cpp_info.defines = ["DMLREF_SEPARATE"]
