// cpp.js: a dispatchable as C++: dmlref's native desc, or Microsoft's structs.

const cppType = {
  FLOAT32: 'float32', FLOAT16: 'float16', FLOAT64: 'float64', UINT8: 'uint8', UINT16: 'uint16', UINT32: 'uint32',
  UINT64: 'uint64', INT8: 'int8', INT16: 'int16', INT32: 'int32', INT64: 'int64' };

// Members of the native descs: [ours, Microsoft's].
const members = {
  SLICE: ['SliceDesc', [['offsets', 'Offsets'], ['sizes', 'Sizes'], ['strides', 'Strides']]],
  SLICE1: ['Slice1Desc', [['window_offsets', 'InputWindowOffsets'], ['window_sizes', 'InputWindowSizes'],
    ['window_strides', 'InputWindowStrides']]],
  QUANTIZED_LINEAR_CONVOLUTION: ['QuantizedLinearConvolutionDesc', [['strides', 'Strides'], ['dilations', 'Dilations'],
    ['start_padding', 'StartPadding'], ['end_padding', 'EndPadding'], ['group_count', 'GroupCount']]],
  MEAN_VARIANCE_NORMALIZATION: ['MeanVarianceNormalizationDesc', [['cross_channel', 'CrossChannel'],
    ['normalize_variance', 'NormalizeVariance'], ['epsilon', 'Epsilon']]],
  MEAN_VARIANCE_NORMALIZATION1: ['MeanVarianceNormalization1Desc', [['axes', 'Axes'],
    ['normalize_variance', 'NormalizeVariance'], ['epsilon', 'Epsilon']]],
};

// Microsoft's structs, in their order: a tensor by its name, an array with what counts it, or a number.
const structs = {
  SLICE: ['InputTensor', 'OutputTensor', 'DimensionCount', 'Offsets[]', 'Sizes[]', 'Strides[]'],
  SLICE1: ['InputTensor', 'OutputTensor', 'DimensionCount', 'InputWindowOffsets[]', 'InputWindowSizes[]', 'InputWindowStrides[int]'],
  QUANTIZED_LINEAR_CONVOLUTION: ['InputTensor', 'InputScaleTensor', 'InputZeroPointTensor', 'FilterTensor', 'FilterScaleTensor',
    'FilterZeroPointTensor', 'BiasTensor', 'OutputScaleTensor', 'OutputZeroPointTensor', 'OutputTensor', 'DimensionCount',
    'Strides[]', 'Dilations[]', 'StartPadding[]', 'EndPadding[]', 'GroupCount'],
  MEAN_VARIANCE_NORMALIZATION: ['InputTensor', 'ScaleTensor', 'BiasTensor', 'OutputTensor', 'CrossChannel', 'NormalizeVariance',
    'Epsilon', 'FusedActivation'],
  MEAN_VARIANCE_NORMALIZATION1: ['InputTensor', 'ScaleTensor', 'BiasTensor', 'OutputTensor', 'AxisCount', 'Axes[]',
    'NormalizeVariance', 'Epsilon', 'FusedActivation'],
};

const snake = (name) => name.replace(/Tensor$/, '').replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
const list = (values) => `{${values.join(', ')}}`;
/** Models spell what JSON has no number for as these words. */
const words = { inf: 'infinity()', '-inf': 'infinity()', nan: 'quiet_NaN()' };
const wordOf = (value) => (typeof value === 'string' ? value.toLowerCase() : String(value));
const real = (value) => {
  const word = wordOf(value);
  if (words[word]) return `${word[0] === '-' ? '-' : ''}std::numeric_limits<float>::${words[word]}`;
  const text = String(value);
  return `${/[.e]/.test(text) ? text : `${text}.0`}f`;
};
const scalar = (name, value) => (name === 'Epsilon' ? real(value) : String(Number(value)));

/** The names of an activation's parameters stand in the desc in the struct's order. */
const parameters = ({ parameters: given }) => Object.entries(given)
  .filter(([name, value]) => (typeof value === 'number' || words[wordOf(value)]) && name !== 'AxisCount').map(([, value]) => value);

function nativeTensor(tensor) {
  const strides = tensor.hasStrides ? `, dmlref::Dimensions${list(tensor.strides)}` : '';
  return `dmlref::TensorDesc(dmlref::DataType::${cppType[tensor.dataType]}, ${list(tensor.sizes)}${strides})`;
}

export function nativeDesc({ type, desc, tensors, activation }) {
  const [name, fields] = members[type];
  const lines = ['#include <dmlref/dmlref.hpp>', '', `dmlref::${name} make_desc() {`, `  dmlref::${name} desc;`];
  for (const tensor of Object.values(tensors)) {
    const member = snake(tensor.name);
    lines.push(`  desc.${member} = ${nativeTensor(tensor)};`);
    const optional = /zero_point|bias/.test(member) || (member === 'scale' && type.startsWith('MEAN'));
    const access = `desc.${member}${optional ? '->' : '.'}`;
    if (tensor.totalBytes) lines.push(`  ${access}total_size_in_bytes = ${tensor.totalBytes};`);
    if (tensor.alignment) lines.push(`  ${access}guaranteed_base_offset_alignment = ${tensor.alignment};`);
    if (tensor.owned) lines.push(`  ${access}owned_by_dml = true;`);
  }
  for (const [ours, theirs] of fields) {
    const value = desc[theirs];
    if (value === undefined || value === null) continue;
    const bool = ['CrossChannel', 'NormalizeVariance'].includes(theirs);
    lines.push(`  desc.${ours} = ${Array.isArray(value) ? list(value) : bool ? String(Boolean(value)) : scalar(theirs, value)};`);
  }
  if (activation) {
    lines.push(`  desc.fused_activation = dmlref::Activation{dmlref::ActivationType::${activation.type.toLowerCase()}, ` +
      `${list(parameters(activation).map(real))}};`);
  }
  return [...lines, '  return desc;', '}', ''].join('\n');
}

function microsoftTensor(tensor) {
  const id = snake(tensor.name);
  const bytes = tensor.totalBytes || Math.ceil((tensor.span * tensor.elementBytes) / 4) * 4;
  const strides = tensor.hasStrides ? `const UINT ${id}_strides[] = ${list(tensor.strides)};` : null;
  return [
    `const UINT ${id}_sizes[] = ${list(tensor.sizes)};`, strides,
    `const DML_BUFFER_TENSOR_DESC ${id}_buffer = {DML_TENSOR_DATA_TYPE_${tensor.dataType}, ` +
      `DML_TENSOR_FLAG_${tensor.owned ? 'OWNED_BY_DML' : 'NONE'}, ${tensor.sizes.length}, ${id}_sizes, ` +
      `${strides ? `${id}_strides` : 'nullptr'}, ${bytes}, ${tensor.alignment}};`,
    `const DML_TENSOR_DESC ${id} = {DML_TENSOR_TYPE_BUFFER, &${id}_buffer};`].filter(Boolean);
}

export function microsoftStructs({ type, desc, tensors, activation }) {
  const body = Object.values(tensors).flatMap(microsoftTensor);
  if (activation) {
    const values = ['nullptr', 'nullptr', ...parameters(activation).map(real)];
    body.push(`const DML_ACTIVATION_${activation.type}_OPERATOR_DESC activation = ${list(values)};`,
      `const DML_OPERATOR_DESC fused = {DML_OPERATOR_ACTIVATION_${activation.type}, &activation};`);
  }
  const values = structs[type].map((field) => {
    if (field.endsWith('Tensor')) return tensors[field] ? `&${snake(field)}` : 'nullptr';
    if (field === 'FusedActivation') return activation ? '&fused' : 'nullptr';
    const array = /^(\w+)\[(int)?\]$/.exec(field);
    if (!array) return scalar(field, desc[field] ?? 0);
    const id = `${snake(array[1])}_values`;
    body.push(`const ${array[2] ? 'INT' : 'UINT'} ${id}[] = ${list(desc[array[1]] ?? [])};`);
    return id;
  });
  body.push(`const DML_${type}_OPERATOR_DESC members = {`, `    ${values.join(', ')}};`,
    `const DML_OPERATOR_DESC desc = {DML_OPERATOR_${type}, &members};`);
  return ['#include <DirectML.h>  // or <dmlref/directml.hpp>', '',
    'template <class Use>  // what is pointed to lives until use(desc) returns', 'auto with_desc(Use use) {',
    ...body.map((line) => `  ${line}`), '  return use(desc);', '}', ''].join('\n');
}
