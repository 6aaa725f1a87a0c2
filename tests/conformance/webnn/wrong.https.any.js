// META: title=a graph with a wrong expectation, which must be reported
'use strict';

const wrongTests = [{
  name: 'slice with a wrong element',
  graph: {
    inputs: {input: {data: [1, 2, 3], descriptor: {shape: [3], dataType: 'float32'}}},
    operators: [{name: 'slice', arguments: [{input: 'input'}, {starts: [1]}, {sizes: [2]}], outputs: 'output'}],
    expectedOutputs: {output: {data: [2, 3.0000002384185791], descriptor: {shape: [2], dataType: 'float32'}}},
  },
}];

webnn_conformance_test(wrongTests, buildAndExecuteGraph, getPrecisionTolerance);
