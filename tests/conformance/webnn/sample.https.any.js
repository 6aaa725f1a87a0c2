// META: title=graphs of our own in the format of web-platform-tests
// META: global=window
// META: script=utils.js
// META: timeout=long

'use strict';

const tensor = (dataType, shape, data, constant = false) => ({data, descriptor: {shape, dataType}, constant});
const graph = (name, inputs, operators, output) =>
    ({name, graph: {inputs, operators, expectedOutputs: {output}}});
const operator = (name, args, outputs = 'output') => ({name, arguments: args, outputs});

const sampleTests = [
  graph('slice with strides, of int64', {input: tensor('int64', [2, 5], [0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n])},
        [operator('slice', [{input: 'input'}, {starts: [0, 1]}, {sizes: [2, 4]}, {options: {strides: [1, 3]}}])],
        tensor('int64', [2, 2], [1n, 4n, 6n, 9n])),
  graph('slice of a scalar', {input: tensor('float32', [], [28.5], true)},
        [operator('slice', [{input: 'input'}, {starts: []}, {sizes: []}])], tensor('float32', [], [28.5])),
  graph('slice to nothing', {input: tensor('float32', [3], 7)},
        [operator('slice', [{input: 'input'}, {starts: [1]}, {sizes: [0]}])], tensor('float32', [0], [])),
  graph('reverse of one axis, then slice', {input: tensor('float16', [2, 3], [1, 2, 3, 4, 5, 1 / 3])},
        [
          operator('reverse', [{input: 'input'}, {options: {axes: [1]}}], 'reversed'),
          operator('slice', [{input: 'reversed'}, {starts: [1, 0]}, {sizes: [1, 3]}]),
        ],
        tensor('float16', [1, 3], [0.333251953125, 5, 4])),
  // Mean 3, variance 4 over axes 1 and 2.
  graph('layerNormalization with axes out of order',
        {
          input: tensor('float32', [1, 2, 2], [1, 5, 1, 5]),
          scale: tensor('float32', [2, 2], [1, 3, 2, 4]),
          bias: tensor('float32', [2, 2], [0.5, 0.25, 0, 0]),
        },
        // scale[k][j] belongs to input[0][j][k].
        [operator('layerNormalization',
                  [{input: 'input'}, {options: {axes: [2, 1], scale: 'scale', bias: 'bias', epsilon: 0}}])],
        tensor('float32', [1, 2, 2], [-0.5, 2, -2.75, 4])),
  graph('layerNormalization over no axes',
        {input: tensor('float32', [2, 2], [1, 5, 1, 5]), bias: tensor('float32', [], [2.5])},
        [operator('layerNormalization', [{input: 'input'}, {options: {axes: [], bias: 'bias'}}])],
        tensor('float32', [2, 2], 2.5)),
  graph('layerNormalization over no axes of eight dimensions',
        {input: tensor('float32', [1, 1, 1, 1, 1, 1, 1, 2], [1, 5])},
        [operator('layerNormalization', [{input: 'input'}, {options: {axes: []}}])],
        tensor('float32', [1, 1, 1, 1, 1, 1, 1, 2], [0, 0])),
  graph('layerNormalization of default axes', {input: tensor('float32', [2, 2], [1, 5, 4, 0])},
        [operator('layerNormalization', [{input: 'input'}, {options: {epsilon: 0}}])],
        tensor('float32', [2, 2], [-1, 1, 1, -1])),
  graph('layerNormalization of an infinite epsilon', {input: tensor('float32', [2, 2], [1, 5, 4, 0])},
        [operator('layerNormalization', [{input: 'input'}, {options: {epsilon: Infinity}}])],
        tensor('float32', [2, 2], [0, 0, 0, 0])),
  // Each channel has mean 3 and variance 5; with 4 the root is 3.
  graph('instanceNormalization of nhwc',
        {
          input: tensor('float32', [1, 2, 2, 2], [0, 0, 2, 2, 4, 4, 6, 6]),
          scale: tensor('float32', [2], [3, 6]),
        },
        [operator('instanceNormalization',
                  [{input: 'input'}, {options: {layout: 'nhwc', epsilon: 4, scale: 'scale'}}])],
        tensor('float32', [1, 2, 2, 2], [-3, -6, -1, -2, 1, 2, 3, 6])),
  graph('batchNormalization', {input: tensor('float32', [2, 1], [1, 2]), mean: tensor('float32', [1], [1])},
        [operator('batchNormalization', [{input: 'input'}, {mean: 'mean'}, {variance: 'mean'}])],
        tensor('float32', [2, 1], [0, 1])),
  graph('an operator that is not lowered', {input: tensor('float32', [1], [1])}, [operator('relu', [{input: 'input'}])],
        tensor('float32', [1], [1])),
  graph('quantizeLinear with one scale per row: halves to even, then the zero point, then the bounds',
        {
          input: tensor('float32', [2, 4], [0.5, 1.5, -2.5, 300, 1, 3, -5, -300]),
          scale: tensor('float32', [2, 1], [1, 2], true),
          zeroPoint: tensor('int8', [2, 1], [1, -1], true),
        },
        [operator('quantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}])],
        tensor('int8', [2, 4], [1, 3, -1, 127, -1, 1, -3, -128])),
  graph('quantizeLinear of float16 by numbers without axes',
        {
          input: tensor('float16', [3], [1, -1, 4.5]),
          scale: tensor('float16', [], [0.5]),
          zeroPoint: tensor('uint8', [], [128]),
        },
        [operator('quantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}])],
        tensor('uint8', [3], [130, 126, 137])),
  graph('quantizeLinear in blocks of 3 by 2',
        {
          input: tensor('float32', [3, 4], [1, 2, 4, 8, 3, 4, 12, 16, 5, 6, 20, 24]),
          scale: tensor('float32', [1, 2], [1, 4]),
          zeroPoint: tensor('uint8', [1, 2], [10, 20]),
        },
        [operator('quantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}])],
        tensor('uint8', [3, 4], [11, 12, 21, 22, 13, 14, 23, 24, 15, 16, 25, 26])),
  graph('dequantizeLinear in blocks of two axes, the first of three without a scale',
        {
          input: tensor('uint8', [2, 2, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], true),
          scale: tensor('float32', [1, 2], [1, 0.5]),
          zeroPoint: tensor('uint8', [1, 2], [0, 10]),
        },
        [operator('dequantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}])],
        tensor('float32', [2, 2, 4], [1, 2, -3.5, -3, 5, 6, -1.5, -1, 9, 10, 0.5, 1, 13, 14, 2.5, 3])),
  graph('dequantizeLinear of an int32 scalar',
        {
          input: tensor('int32', [], [70000]),
          scale: tensor('float32', [], [0.5]),
          zeroPoint: tensor('int32', [], [-2]),
        },
        [operator('dequantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}])],
        tensor('float32', [], [35001])),
  graph('what was quantized and dequantized, normalized and cut',
        {
          input: tensor('float32', [2, 2], [0.9, 5.1, 4.2, -0.1]),
          scale: tensor('float32', [1, 1], [1]),
          zeroPoint: tensor('int8', [1, 1], [3]),
        },
        [
          operator('quantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}], 'q'),
          operator('dequantizeLinear', [{input: 'q'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}], 'x'),
          operator('layerNormalization', [{input: 'x'}, {options: {epsilon: 0}}], 'y'),
          operator('slice', [{input: 'y'}, {starts: [0, 1]}, {sizes: [2, 1]}]),
        ],
        tensor('float32', [2, 1], [1, -1])),
  graph('quantizeLinear to int32',
        {
          input: tensor('float32', [1], [1]), scale: tensor('float32', [1], [1]), zeroPoint: tensor('int32', [1], [0]),
        },
        [operator('quantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}])],
        tensor('int32', [1], [1])),
  graph('dequantizeLinear of int4',
        {input: tensor('int4', [1], [1]), scale: tensor('float32', [1], [1]), zeroPoint: tensor('int4', [1], [0])},
        [operator('dequantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}])],
        tensor('float32', [1], [1])),
  graph('dequantizeLinear in blocks that leave a rest',
        {input: tensor('int8', [5], 1), scale: tensor('float32', [2], 1), zeroPoint: tensor('int8', [2], 0)},
        [operator('dequantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}])],
        tensor('float32', [5], 1)),
  graph('dequantizeLinear with other blocks of its zero point',
        {input: tensor('int8', [4], 1), scale: tensor('float32', [2], 1), zeroPoint: tensor('int8', [1], 0)},
        [operator('dequantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}])],
        tensor('float32', [4], 1)),
  graph('dequantizeLinear in blocks that need more dimensions than DirectML has',
        {
          input: tensor('int8', [4, 4, 4, 4, 4], 1),
          scale: tensor('float32', [2, 2, 2, 2, 2], 1),
          zeroPoint: tensor('int8', [2, 2, 2, 2, 2], 0),
        },
        [operator('dequantizeLinear', [{input: 'input'}, {scale: 'scale'}, {zeroPoint: 'zeroPoint'}])],
        tensor('float32', [4, 4, 4, 4, 4], 1)),
  // Input 0.5 * (q - 1) with q - 1 of [[0, 1], [2, 4]]; a filter of [1, 2]; one column to the left, two rows below.
  graph('quantized conv2d of nhwc with uneven padding',
        {
          input: tensor('float32', [1, 2, 2, 1], [0, 0.5, 1, 2]),
          inputScale: tensor('float32', [1], [0.5], true),
          inputZero: tensor('uint8', [1], [1], true),
          filter: tensor('int8', [1, 1, 2, 1], [1, 2], true),
          filterScale: tensor('float32', [1], [2], true),
          filterZero: tensor('int8', [1], [0], true),
          bias: tensor('int32', [1], [3], true),
          biasScale: tensor('float32', [1], [1], true),
          biasZero: tensor('int32', [1], [0], true),
          outputScale: tensor('float32', [1], [2], true),
          outputZero: tensor('uint8', [1], [10], true),
        },
        [
          operator('quantizeLinear', [{input: 'input'}, {scale: 'inputScale', zeroPoint: 'inputZero'}], 'q'),
          operator('dequantizeLinear', [{input: 'q'}, {scale: 'inputScale'}, {zeroPoint: 'inputZero'}], 'x'),
          operator('dequantizeLinear', [{input: 'filter'}, {scale: 'filterScale'}, {zeroPoint: 'filterZero'}], 'w'),
          operator('dequantizeLinear', [{input: 'bias'}, {scale: 'biasScale'}, {zeroPoint: 'biasZero'}], 'b'),
          operator('conv2d', [{input: 'x'}, {filter: 'w'}, {options: {
            inputLayout: 'nhwc', filterLayout: 'ohwi', padding: [0, 2, 1, 0], bias: 'b',
          }}], 'y'),
          operator('quantizeLinear', [{input: 'y'}, {scale: 'outputScale', zeroPoint: 'outputZero'}], 'p'),
          operator('dequantizeLinear', [{input: 'p'}, {scale: 'outputScale', zeroPoint: 'outputZero'}]),
        ],
        // Sums plus 3: 3 5, 7 13, 3 3, 3 3; halves to even: 2 2, 4 6, 2 2, 2 2; times 2.
        tensor('float32', [1, 4, 2, 1], [4, 4, 8, 12, 4, 4, 4, 4])),
];

if (navigator.ml) {
  sampleTests.filter(isTargetTest).forEach((test) => {
    webnn_conformance_test(buildAndExecuteGraph, getPrecisionTolerance, test);
  });
}
