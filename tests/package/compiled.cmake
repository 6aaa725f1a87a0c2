# The installed static library, for programs compiled without flags and for this very CPU.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component development)
build_consumer(-DWAY=compiled -DCMAKE_PREFIX_PATH=${WORK}/prefix)
expect_prints(${WORK}/build/consumer_separate "${operators}")
expect_prints(${WORK}/build/consumer_native "${operators}")
