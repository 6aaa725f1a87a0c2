# cmake -D NODE=… -D SCRIPT=…/wpt.js -D DMLREF=… -D TESTS=… -P webnn.cmake: wpt.js on graphs of our own prints
# expected.txt; a wrong expectation, and a file that is none, are reported with their exit status.
function(run name status pattern)
  execute_process(COMMAND ${NODE} ${SCRIPT} --dmlref ${DMLREF} ${TESTS}/${name}
    OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE result)
  if(NOT result EQUAL status OR NOT "${out}${err}" MATCHES "${pattern}")
    message(FATAL_ERROR "${name}: status ${result}, expected ${status} and \"${pattern}\"\n${out}${err}")
  endif()
  message("${out}${err}")
endfunction()

file(READ ${TESTS}/expected.txt expected)
run(sample.https.any.js 0 "^${expected}$")
run(wrong.https.any.js 1 "slice with a wrong element: differ: 1 of 2 elements of FLOAT32.* 1 passed\n$")
run(utils.js 2 "^wpt.js: .*utils.js: has no call of webnn_conformance_test with a graph\n$")
run(expected.txt 2 "^wpt.js: .*expected.txt: ")
run(missing.js 2 "^wpt.js: .*missing.js: ENOENT")
