# add_subdirectory, with the headers alone and with the kernels compiled once.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
build_consumer(-DWAY=subdirectory -DDMLREF_SOURCE=${SOURCE} -DLEVELS=3 ${kernels})
expect_prints(${WORK}/build/consumer_3 "${slice}")
expect_prints(${WORK}/build/consumer_separate "${operators}")
# The user's installation holds what is the user's.
step(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/prefix)
file(GLOB_RECURSE files ${WORK}/prefix/*)
expect_equal("${files}" "" "a subproject installed")
