// META: title=a wrong expectation, which must be reported, and one within the script's own tolerance
'use strict';

const wrongTests = [{
  name: 'slice with a wrong element',
  graph: {
    inputs: {input: {data: [1, 2, 3], descriptor: {shape: [3], dataType: 'float32'}}},
    operators: [{name: 'slice', arguments: [{input: 'input'}, {starts: [1]}, {sizes: [2]}], outputs: 'output'}],
    expectedOutputs: {output: {data: [2, 3.0000002384185791], descriptor: {shape: [2], dataType: 'float32'}}},
  },
}, {
  name: 'quantizeLinear, one unit off',
  graph: {
    inputs: {
      input: {data: [3], descriptor: {shape: [1], dataType: 'float32'}},
      scale: {data: [1], descriptor: {shape: [1], dataType: 'float32'}},
      zeroPoint: {data: [0], descriptor: {shape: [1], dataType: 'uint8'}},
    },
    operators: [{
      name: 'quantizeLinear',
      arguments: [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}],
      outputs: 'output',
    }],
    expectedOutputs: {output: {data: [4], descriptor: {shape: [1], dataType: 'uint8'}}},
  },
}];

webnn_conformance_test(wrongTests, buildAndExecuteGraph, getPrecisionTolerance);
