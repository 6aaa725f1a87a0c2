# Runs PROGRAM (under EMULATOR, if any) and demands that it prints the text of the file EXPECTED.
execute_process(COMMAND ${EMULATOR} ${PROGRAM} OUTPUT_VARIABLE actual RESULT_VARIABLE status)
file(READ ${EXPECTED} expected)
if(NOT status EQUAL 0 OR NOT actual STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} failed (${status}) or differs:\n${actual}\nexpected:\n${expected}")
endif()
