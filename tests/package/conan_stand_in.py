"""Runs packaging/conan/conanfile.py with stand-ins for Conan's modules: conan_stand_in.py SOURCE WORK VERSION CMAKE_OPTION…

What the recipe exports must suffice to build and install the headers, and its CMake variables must be options there.
"""
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import types

source, work, version, *common = sys.argv[1:]
exported, built, packaged = (pathlib.Path(work, name) for name in ("exported", "build", "package"))


class Options(types.SimpleNamespace):
    def rm_safe(self, name):
        delattr(self, name)


class Toolchain:
    def __init__(self, recipe):
        self.cache_variables = recipe.variables = {}

    def generate(self):
        pass


class CMake:
    def __init__(self, recipe):
        self.variables = recipe.variables

    def configure(self):
        words = {True: "ON", False: "OFF"}
        definitions = [f"-D{name}={words.get(value, value)}" for name, value in self.variables.items()]
        text = run("cmake", "-S", exported, "-B", built, *common, *definitions)
        assert "were not used" not in text, text

    def build(self):
        run("cmake", "--build", built)

    def install(self):
        run("cmake", "--install", built, "--prefix", packaged)


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


def copy(recipe, pattern, src, dst):
    files = [file for file in pathlib.Path(src).glob(pattern.replace("/*", "/**/*")) if file.is_file()]
    assert files, f"{pattern} matches nothing"
    for file in files:
        to = dst / file.relative_to(src)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


module("conan", ConanFile=object)
module("conan.tools")
module("conan.tools.cmake", CMake=CMake, CMakeToolchain=Toolchain, cmake_layout=lambda recipe: None)
module("conan.tools.files", copy=copy, load=lambda recipe, path: pathlib.Path(path).read_text())
path = pathlib.Path(source, "packaging", "conan", "conanfile.py")
spec = importlib.util.spec_from_file_location("conanfile", path)
conanfile = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conanfile)

recipe = conanfile.Dmlref()
config = pathlib.Path(source, "include", "dmlref", "config.hpp").read_text()
targets = ["", *re.findall(r"#define DMLREF_RANK_(\w+) \d", config)]
assert recipe.options["targets"] == targets, targets
assert set(recipe.default_options) == set(recipe.options)
assert all(value in recipe.options[name] for name, value in recipe.default_options.items())
recipe.recipe_folder = str(path.parent)
recipe.export_sources_folder = exported
recipe.options = Options(compiled=False, fPIC=True, targets="scalar")
recipe.set_version()
assert recipe.version == version, recipe.version
recipe.export_sources()
for method in (recipe.configure, recipe.layout, recipe.generate, recipe.build, recipe.package):
    method()
assert recipe.package_type == "header-library"
assert (packaged / "include" / "dmlref" / "dmlref.hpp").exists()
assert (packaged / "lib" / "cmake" / "dmlref" / "dmlref-config.cmake").exists()
assert "-DDMLREF_TARGETS=scalar" in (packaged / "lib" / "pkgconfig" / "dmlref.pc").read_text()
