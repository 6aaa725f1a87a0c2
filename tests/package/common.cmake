# What the scripts of this folder share. Each includes the library in an independent consumer project in one way,
# builds a program and compares what it prints. CMakeLists.txt gives SOURCE, BUILD (where the kernels are compiled), WORK,
# COMPILER, GENERATOR.
cmake_minimum_required(VERSION 3.22)
set(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer)
file(READ ${consumer}/main.txt slice)  # what main.cpp prints
file(READ ${consumer}/operators.txt operators)
set(common -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=)
set(few_kernels -DDMLREF_TARGETS=scalar)
set(kernels ${few_kernels})  # a sweep compiles all of them
if(SWEEP)
  set(kernels "")
endif()
set(library_alone -DDMLREF_BUILD_TESTS=OFF -DDMLREF_BUILD_TOOLS=OFF -DDMLREF_BUILD_BENCH=OFF)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# needs(PROGRAM…): ends the test as skipped where one of them is missing.
macro(needs)
  foreach(program IN ITEMS ${ARGN})
    find_program(found_${program} ${program})
    if(NOT found_${program})
      message("skipped: needs ${program}")
      return()
    endif()
  endforeach()
endmacro()

# step(COMMAND…): its text is `output`; fails where it does.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_equal actual expected what)
  if(NOT actual STREQUAL expected)
    message(FATAL_ERROR "${what}:\n${actual}\nexpected:\n${expected}")
  endif()
endfunction()

# expect_prints(PROGRAM TEXT)
function(expect_prints program expected)
  step(${program})
  expect_equal("${output}" "${expected}" "${program} printed")
endfunction()

# build_consumer(OPTION…): the project in consumer/, by CMake.
function(build_consumer)
  step(${CMAKE_COMMAND} -S ${consumer} -B ${WORK}/build ${common} ${ARGN})
  step(${CMAKE_COMMAND} --build ${WORK}/build)
endfunction()

# The version stands in config.hpp; whatever repeats it is compared with this.
file(STRINGS ${SOURCE}/include/dmlref/config.hpp version REGEX "#define DMLREF_VERSION_(MAJOR|MINOR|PATCH) ")
list(TRANSFORM version REPLACE ".* ([0-9]+)$" "\\1")
list(JOIN version "." version)
