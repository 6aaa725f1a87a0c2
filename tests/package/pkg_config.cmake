# pkg-config: the headers alone, and the static library.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
needs(pkg-config)
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component development)
file(GLOB_RECURSE file ${WORK}/prefix/*/dmlref.pc)
get_filename_component(folder "${file}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})

# build(PACKAGE SOURCE): WORK/PACKAGE from consumer/SOURCE with the flags that pkg-config says.
function(build package source)
  step(pkg-config --modversion ${package})
  expect_equal("${output}" "${version}\n" "version of ${package}")
  step(pkg-config --cflags ${package})
  separate_arguments(compile_flags UNIX_COMMAND "${output}")
  step(pkg-config --libs ${package})
  separate_arguments(libraries UNIX_COMMAND "${output}")
  step(${COMPILER} -std=c++20 ${kernels} ${compile_flags} ${consumer}/${source} ${libraries} -o ${WORK}/${package})
endfunction()
build(dmlref main.cpp)
expect_prints(${WORK}/dmlref "${slice}")
build(dmlref-compiled operators.cpp)
expect_prints(${WORK}/dmlref-compiled "${operators}")

# DMLREF_TARGETS, which the library was configured with, is for its users, too.
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/scalar ${common} ${library_alone} -DDMLREF_INSTALL_COMPILED=OFF
  -DDMLREF_TARGETS=scalar)
step(${CMAKE_COMMAND} --install ${WORK}/scalar --prefix ${WORK}/scalar/prefix)
file(GLOB_RECURSE file ${WORK}/scalar/prefix/*/dmlref.pc)
get_filename_component(folder "${file}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
step(pkg-config --cflags dmlref)
if(NOT output MATCHES "-DDMLREF_TARGETS=scalar")
  message(FATAL_ERROR "pkg-config lacks DMLREF_TARGETS: ${output}")
endif()
