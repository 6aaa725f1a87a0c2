// lower.js: from a WebNN graph, as the tests of web-platform-tests describe it, to a DxDispatch model.
'use strict';

const {dataTypes, elementCount, packedStrides} = require('./tensor.js');

/** Why a graph is not lowered. */
class Refusal extends Error {}

/** WebNN's data: a list, or one number for all elements. */
function listOf(data, count) {
  return Array.isArray(data) || ArrayBuffer.isView(data) ? Array.from(data) : new Array(count).fill(data);
}

/** Arguments of an operator, [{input: 'x'}, {options: {...}}], as one object. */
function argumentsOf(operator) {
  const all = Object.assign({}, ...operator.arguments);
  all.options = all.options || {};
  return all;
}

const sorted = (axes) => [...axes].sort((a, b) => a - b);
const listed = (shape) => `{${shape.join(', ')}}`;
const equal = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/**
 * A tensor: {dataType, shape, resource, data}. `data` is missing where an operator computes it. What dequantizeLinear
 * gives also has {dequantized: {tensor, scale, zeroPoint}}, and a resource once it is used other than by a conv2d.
 * {convolution: ...} is no tensor: a conv2d that waits to be quantized.
 */
class Lowering {
  constructor(graph) {
    this.graph = graph;
    this.values = new Map();
    this.model = {resources: {}, dispatchables: {}, commands: []};
    this.files = [];     // {name, dataType, shape, data}
    this.expected = [];  // the same, in the order of the outputs
  }

  run() {
    for (const [name, input] of Object.entries(this.graph.inputs)) this.values.set(name, this.inputValue(name, input));
    for (const operator of this.graph.operators) {
      const lower = operators[operator.name];
      if (!lower) throw new Refusal(`${operator.name} is not lowered`);
      this.values.set([operator.outputs].flat()[0], lower(this, argumentsOf(operator), operator));
    }
    Object.entries(this.graph.expectedOutputs)
        .forEach(([name, expected], index) => this.addOutput(name, expected, index));
    return this;
  }

  inputValue(name, {data, descriptor}) {
    const {dataType, shape} = descriptor;
    if (!dataTypes[dataType]) throw new Refusal(`data type ${dataType} is not lowered`);
    const count = elementCount(shape);
    const list = listOf(data, count);
    if (list.length !== count) throw new Refusal(`input ${name} has ${list.length} elements for a shape of ${count}`);
    return {name, dataType, shape, data: list};
  }

  /** A tensor, not a value that waits for another operator. */
  tensor(name) {
    const value = this.values.get(name);
    if (!value) throw new Refusal(`operand ${name} is not given`);
    if (!value.dataType) throw new Refusal(`${name} is used other than as a part of a quantized conv2d`);
    return value;
  }

  unique(name) {
    const plain = name.replace(/[^A-Za-z0-9_]/g, '_');
    let result = plain;
    for (let i = 2; result in this.model.resources || result in this.model.dispatchables; ++i) result = `${plain}_${i}`;
    return result;
  }

  /** The tensor's resource; known data get a file. */
  resource(tensor) {
    if (tensor.dequantized && !tensor.resource) {
      tensor.resource = scaleElements(this, 'DEQUANTIZE', tensor.name, tensor.dataType, tensor.dequantized).resource;
    }
    if (!tensor.resource) {
      tensor.resource = this.unique(tensor.name);
      const file = {name: `${tensor.resource}.npy`, dataType: tensor.dataType, shape: tensor.shape, data: tensor.data};
      this.files.push(file);
      this.model.resources[tensor.resource] = {
        initialValuesDataType: dataTypes[tensor.dataType].dml,
        initialValues: {sourcePath: file.name},
      };
    }
    return tensor.resource;
  }

  output(name, dataType, shape) {
    if (elementCount(shape) === 0) throw new Refusal('rule tensor_size_zero');
    const resource = this.unique(name);
    this.model.resources[resource] = {
      initialValuesDataType: dataTypes[dataType].dml,
      initialValues: {valueCount: elementCount(shape), value: 0},
    };
    return {name, dataType, shape, resource};
  }

  /** `tensors`: member of the desc -> {tensor, sizes, strides}. */
  dispatch(type, tensors, members) {
    const desc = {};
    const bindings = {};
    for (const [member, {tensor, sizes, strides}] of Object.entries(tensors)) {
      desc[member] = {DataType: dataTypes[tensor.dataType].dml, Sizes: sizes.length === 0 ? [1] : sizes};
      if (strides) desc[member].Strides = strides;
      bindings[member] = this.resource(tensor);
    }
    const name = this.unique(type.toLowerCase());
    this.model.dispatchables[name] = {type: `DML_OPERATOR_${type}`, desc: {...desc, ...members}};
    this.model.commands.push({type: 'dispatch', dispatchable: name, bindings});
  }

  addOutput(name, {data, descriptor}, index) {
    const value = this.values.get(name);
    if (!value) throw new Refusal(`output ${name} is not computed`);
    if (!value.dataType || value.data) throw new Refusal(`output ${name} is not computed by an operator of DirectML`);
    const {dataType} = descriptor;
    if (value.dataType !== dataType) throw new Refusal(`output ${name} is ${value.dataType}, expected ${dataType}`);
    const list = listOf(data, elementCount(descriptor.shape));
    const shape = descriptor.shape.length === 0 ? [1] : descriptor.shape;
    this.expected.push({name: `expected_${index}.npy`, dataType, shape, data: list});
    const targetPath = `output_${index}.npy`;
    this.model.commands.push({type: 'writeFile', resource: this.resource(value), targetPath, dimensions: shape});
  }
}

function knownNumbers(tensor, what) {
  if (!tensor.data) throw new Refusal(`${what} is not known`);
  return tensor.data;
}

/** A copy of a window; one stride for each dimension, negative ones from the window's end. */
function slice1(lowering, operator, input, offsets, sizes, strides) {
  const shape = sizes.map((size, d) => Math.ceil(size / Math.abs(strides[d])));
  const output = lowering.output([operator.outputs].flat()[0], input.dataType, shape);
  const list = (values, scalar) => values.length === 0 ? [scalar] : values;
  const tensors = {InputTensor: {tensor: input, sizes: input.shape}, OutputTensor: {tensor: output, sizes: shape}};
  lowering.dispatch('SLICE1', tensors, {
    DimensionCount: Math.max(sizes.length, 1),
    InputWindowOffsets: list(offsets, 0),
    InputWindowSizes: list(sizes, 1),
    InputWindowStrides: list(strides, 1),
  });
  return output;
}

function lowerSlice(lowering, {input, starts, sizes, options}, operator) {
  const tensor = lowering.tensor(input);
  return slice1(lowering, operator, tensor, starts, sizes, options.strides || sizes.map(() => 1));
}

function lowerReverse(lowering, {input, options}, operator) {
  const tensor = lowering.tensor(input);
  const axes = options.axes || tensor.shape.map((_, d) => d);
  return slice1(lowering, operator, tensor, tensor.shape.map(() => 0), tensor.shape,
                tensor.shape.map((_, d) => axes.includes(d) ? -1 : 1));
}

/** `parameterAxes`: the axis of the input for each dimension of scale and bias. */
function normalize(lowering, operator, input, axes, parameterAxes, options) {
  const sizes = input.shape;
  const output = lowering.output([operator.outputs].flat()[0], input.dataType, input.shape);
  const tensors = {InputTensor: {tensor: input, sizes}};
  for (const [member, name] of [['ScaleTensor', options.scale], ['BiasTensor', options.bias]]) {
    if (name === undefined) continue;
    const tensor = lowering.tensor(name);
    const full = sizes.map(() => 1);
    const strides = sizes.map(() => 0);
    const steps = packedStrides(tensor.shape);
    parameterAxes.forEach((axis, d) => {
      full[axis] = tensor.shape[d];
      strides[axis] = steps[d];
    });
    // In the order of the axes, which need not be that of the input.
    const inOrder = equal(parameterAxes, sorted(parameterAxes));
    tensors[member] = inOrder ? {tensor, sizes: full} : {tensor, sizes: full, strides};
  }
  tensors.OutputTensor = {tensor: output, sizes};
  lowering.dispatch('MEAN_VARIANCE_NORMALIZATION1', tensors, {
    AxisCount: axes.length,
    Axes: axes,
    NormalizeVariance: true,
    Epsilon: options.epsilon === undefined ? 1e-5 : options.epsilon,
  });
  return output;
}

function lowerLayerNormalization(lowering, {input, options}, operator) {
  const tensor = lowering.tensor(input);
  const axes = options.axes || tensor.shape.map((_, d) => d).slice(1);
  return normalize(lowering, operator, tensor, axes, axes, options);
}

function lowerInstanceNormalization(lowering, {input, options}, operator) {
  const tensor = lowering.tensor(input);
  const nhwc = options.layout === 'nhwc';
  return normalize(lowering, operator, tensor, nhwc ? [1, 2] : [2, 3], [nhwc ? 3 : 1], options);
}

function refuseBatchNormalization() {
  throw new Refusal('batchNormalization has statistics of its own, DirectML\'s normalization computes them');
}

/** What DirectML's operator reads, or writes, as integers. */
const integers = {QUANTIZE: ['int8', 'uint8'], DEQUANTIZE: ['int8', 'uint8', 'int32', 'uint32']};

/**
 * The sizes of an input in which each axis of several blocks is cut into blocks and their elements, and the strides that
 * repeat a parameter of one element per block. Its axes are the input's last ones.
 */
function inBlocks(shape, parameter) {
  const missing = shape.length - parameter.length;
  const counts = [...new Array(Math.max(missing, 0)).fill(1), ...parameter];
  if (missing < 0 || shape.some((extent, d) => extent % counts[d] !== 0)) {
    throw new Refusal(`scale of ${listed(parameter)} for an input of ${listed(shape)}`);
  }
  const steps = packedStrides(counts);
  const sizes = [];
  const strides = [];
  const add = (extent, stride) => {
    sizes.push(extent);
    strides.push(stride);
  };
  shape.forEach((extent, d) => {
    if (counts[d] !== 1) add(counts[d], steps[d]);
    if (counts[d] === 1 || counts[d] !== extent) add(extent / counts[d], 0);
  });
  return {sizes, strides};
}

/** ELEMENT_WISE_QUANTIZE_LINEAR or ELEMENT_WISE_DEQUANTIZE_LINEAR. All their tensors have one shape. */
function scaleElements(lowering, kind, name, dataType, {tensor, scale, zeroPoint}) {
  const integer = kind === 'QUANTIZE' ? dataType : tensor.dataType;
  if (!integers[kind].includes(integer)) throw new Refusal(`ELEMENT_WISE_${kind}_LINEAR has no quantized ${integer}`);
  if (zeroPoint && !equal(zeroPoint.shape, scale.shape)) {
    throw new Refusal(`zeroPoint of ${listed(zeroPoint.shape)} for a scale of ${listed(scale.shape)}`);
  }
  const shape = tensor.shape.length === 0 ? [1] : tensor.shape;
  const {sizes, strides} = inBlocks(shape, scale.shape);
  const output = lowering.output(name, dataType, tensor.shape);
  const tensors = {InputTensor: {tensor, sizes}, ScaleTensor: {tensor: scale, sizes, strides}};
  if (zeroPoint) tensors.ZeroPointTensor = {tensor: zeroPoint, sizes, strides};
  tensors.OutputTensor = {tensor: output, sizes};
  lowering.dispatch(`ELEMENT_WISE_${kind}_LINEAR`, tensors, {});
  return output;
}

function quantization(lowering, {scale, zeroPoint}) {
  return {scale: lowering.tensor(scale), zeroPoint: zeroPoint === undefined ? undefined : lowering.tensor(zeroPoint)};
}

function lowerQuantizeLinear(lowering, given, operator) {
  const name = [operator.outputs].flat()[0];
  const {scale, zeroPoint} = quantization(lowering, given);
  const dataType = zeroPoint ? zeroPoint.dataType : 'uint8';
  const {convolution} = lowering.values.get(given.input) || {};
  if (convolution) return convolve(lowering, name, dataType, convolution, scale, zeroPoint);
  return scaleElements(lowering, 'QUANTIZE', name, dataType, {tensor: lowering.tensor(given.input), scale, zeroPoint});
}

function lowerDequantizeLinear(lowering, given, operator) {
  const tensor = lowering.tensor(given.input);
  const {scale, zeroPoint} = quantization(lowering, given);
  return {
    name: [operator.outputs].flat()[0], dataType: scale.dataType, shape: tensor.shape,
    dequantized: {tensor, scale, zeroPoint},
  };
}

/** Where each layout has the axes of NCHW or OIHW. */
const layouts = {
  nchw: [0, 1, 2, 3], nhwc: [0, 3, 1, 2],
  oihw: [0, 1, 2, 3], hwio: [3, 2, 0, 1], ohwi: [0, 3, 1, 2], ihwo: [3, 0, 1, 2],
};

/** The same memory with the axes in DirectML's order. */
function inLayout(tensor, layout) {
  const strides = packedStrides(tensor.shape);
  const order = layouts[layout];
  const view = {tensor, sizes: order.map((axis) => tensor.shape[axis])};
  if (!equal(order, layouts.nchw)) view.strides = order.map((axis) => strides[axis]);
  return view;
}

function dequantized(lowering, name, what) {
  const value = lowering.values.get(name);
  if (!value || !value.dequantized) throw new Refusal(`${what} of conv2d is not quantized`);
  return value.dequantized;
}

function lowerConv2d(lowering, {input, filter, options}) {
  if (options.autoPad && options.autoPad !== 'explicit') {
    throw new Refusal(`conv2d with autoPad ${options.autoPad} is not lowered`);
  }
  return {
    convolution: {
      input: dequantized(lowering, input, 'input'),
      filter: dequantized(lowering, filter, 'filter'),
      bias: options.bias === undefined ? undefined : dequantized(lowering, options.bias, 'bias'),
      options,
    },
  };
}

/** One element, or one per channel; WebNN has the input's rank then, or a list. */
function parameter(tensor, channels, what) {
  const count = elementCount(tensor.shape);
  if (count !== 1 && (count !== channels || tensor.shape.filter((extent) => extent !== 1).length !== 1)) {
    throw new Refusal(`${what} is neither one number nor one per channel`);
  }
  return {tensor, sizes: [1, count, 1, 1]};
}

function convolve(lowering, name, dataType, {input, filter, bias, options}, outputScale, outputZeroPoint) {
  const inputLayout = options.inputLayout || 'nchw';
  const x = inLayout(input.tensor, inputLayout);
  const w = inLayout(filter.tensor, options.filterLayout || 'oihw');
  const strides = options.strides || [1, 1];
  const dilations = options.dilations || [1, 1];
  // WebNN: start and end of the height, then of the width. DirectML: both starts, then both ends.
  const [top, bottom, left, right] = options.padding || [0, 0, 0, 0];
  const extent = (axis, start, end) => Math.floor(
      (x.sizes[axis] + start + end - (w.sizes[axis] - 1) * dilations[axis - 2] - 1) / strides[axis - 2]) + 1;
  const channels = w.sizes[0];
  const sizes = [x.sizes[0], channels, extent(2, top, bottom), extent(3, left, right)];
  const shape = inputLayout === 'nhwc' ? [sizes[0], sizes[2], sizes[3], sizes[1]] : sizes;
  const output = lowering.output(name, dataType, shape);
  const tensors = {InputTensor: x, InputScaleTensor: parameter(input.scale, 1, 'scale of the input')};
  if (input.zeroPoint) tensors.InputZeroPointTensor = parameter(input.zeroPoint, 1, 'zeroPoint of the input');
  tensors.FilterTensor = w;
  tensors.FilterScaleTensor = parameter(filter.scale, channels, 'scale of the filter');
  if (filter.zeroPoint) {
    tensors.FilterZeroPointTensor = parameter(filter.zeroPoint, channels, 'zeroPoint of the filter');
  }
  if (bias) {
    checkBias(bias, input.scale, filter.scale);
    tensors.BiasTensor = {tensor: bias.tensor, sizes: [1, channels, 1, 1]};
  }
  tensors.OutputScaleTensor = parameter(outputScale, 1, 'scale of the output');
  if (outputZeroPoint) tensors.OutputZeroPointTensor = parameter(outputZeroPoint, 1, 'zeroPoint of the output');
  tensors.OutputTensor = inLayout(output, inputLayout);
  lowering.dispatch('QUANTIZED_LINEAR_CONVOLUTION', tensors, {
    DimensionCount: 2,
    Strides: strides,
    Dilations: dilations,
    StartPadding: [top, left],
    EndPadding: [bottom, right],
    GroupCount: options.groups || 1,
  });
  return output;
}

/** DirectML's bias is in units of inputScale * filterScale, with a zero point of 0. */
function checkBias(bias, inputScale, filterScale) {
  if (bias.tensor.dataType !== 'int32') throw new Refusal(`bias is ${bias.tensor.dataType}, expected int32`);
  if (bias.zeroPoint && knownNumbers(bias.zeroPoint, 'zeroPoint of the bias').some((zero) => Number(zero) !== 0)) {
    throw new Refusal('zeroPoint of the bias is not 0');
  }
  const [unit] = knownNumbers(inputScale, 'scale of the input');
  const units = knownNumbers(filterScale, 'scale of the filter');
  knownNumbers(bias.scale, 'scale of the bias').forEach((scale, channel) => {
    const wanted = unit * units[units.length === 1 ? 0 : channel];
    if (Math.abs(scale - wanted) > Math.abs(wanted) * 1e-6) {
      throw new Refusal(`scale of the bias is ${scale}, expected ${wanted}`);
    }
  });
}

const operators = {
  slice: lowerSlice,
  reverse: lowerReverse,
  layerNormalization: lowerLayerNormalization,
  instanceNormalization: lowerInstanceNormalization,
  batchNormalization: refuseBatchNormalization,
  quantizeLinear: lowerQuantizeLinear,
  dequantizeLinear: lowerDequantizeLinear,
  conv2d: lowerConv2d,
};

/** {model, files, expected} or throws Refusal. */
function lowerGraph(graph) {
  return new Lowering(graph).run();
}

module.exports = {Refusal, lowerGraph};
