# The headers alone, installed; kernels once in a file of the user's own.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/library ${common} ${library_alone} -DDMLREF_INSTALL_COMPILED=OFF)
step(${CMAKE_COMMAND} --install ${WORK}/library --prefix ${WORK}/prefix)
file(GLOB_RECURSE given RELATIVE ${SOURCE}/include ${SOURCE}/include/*.hpp)
file(GLOB_RECURSE headers RELATIVE ${WORK}/prefix/include ${WORK}/prefix/include/*)
list(SORT given)
list(SORT headers)
expect_equal("${headers}" "${given}" "installed headers")
file(GLOB_RECURSE licence RELATIVE ${WORK}/prefix ${WORK}/prefix/*/LICENSE)
expect_equal("${licence}" share/doc/dmlref/LICENSE "installed licence")
file(RENAME ${WORK}/prefix ${WORK}/elsewhere)  # the package must not remember where it was put

build_consumer(-DWAY=installed -DCMAKE_PREFIX_PATH=${WORK}/elsewhere -DLEVELS=0 -DCMAKE_CXX_FLAGS=${few_kernels})
expect_prints(${WORK}/build/consumer_0 "${slice}")
expect_prints(${WORK}/build/consumer_separate "${operators}")

# The README shows this very program.
file(READ ${consumer}/main.cpp program)
file(READ ${SOURCE}/README.md readme)
string(FIND "${readme}" "${program}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "README.md does not show tests/package/consumer/main.cpp as it is")
endif()
