# The release of two files: compiled as a user's own, and used by a program of two units.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
needs(python3)
step(python3 ${SOURCE}/packaging/two_files.py ${WORK}/dmlref)
foreach(file IN ITEMS dmlref.hpp dmlref.cpp)
  file(STRINGS ${WORK}/dmlref/${file} left REGEX "#[ \t]*include[ \t]*(\"dmlref/|[A-Z])")
  expect_equal("${left}" "" "${file} includes")
endforeach()
set(compile ${COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror ${kernels})
step(${compile} -c ${WORK}/dmlref/dmlref.cpp -o ${WORK}/dmlref.o)
file(WRITE ${WORK}/other.cpp "#include <dmlref/dmlref.hpp>\n")  # nothing may be defined twice
step(${compile} -I${WORK} ${consumer}/operators.cpp ${WORK}/other.cpp ${WORK}/dmlref.o -o ${WORK}/operators)
expect_prints(${WORK}/operators "${operators}")
