// cpp.js: a dispatchable as C++: dmlref's native desc, or Microsoft's structs.

import { operatorFields } from './schema.js';

const snake = (name) => name.replace(/Tensor$/, '').replace(/([a-z])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3_$2').toLowerCase();
/** The native desc's name of a field, and of the desc. */
const memberOf = (field) => snake(field.replace(/^InputWindow/, 'Window'));
const descOf = (type) => `${type.toLowerCase().replace(/(^|_)([a-z])/g, (_, blank, letter) => letter.toUpperCase())}Desc`;
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
const scalar = (kind, value) => (kind === 'float' ? real(value) : String(Number(value)));

/** The names of an activation's parameters stand in the desc in the struct's order. */
const parameters = ({ parameters: given }) => Object.entries(given)
  .filter(([name, value]) => (typeof value === 'number' || words[wordOf(value)]) && name !== 'AxisCount').map(([, value]) => value);

function nativeTensor(tensor) {
  const strides = tensor.hasStrides ? `, dmlref::Dimensions${list(tensor.strides)}` : '';
  return `dmlref::TensorDesc(dmlref::DataType::${tensor.dataType.toLowerCase()}, ${list(tensor.sizes)}${strides})`;
}

export function nativeDesc({ type, desc, tensors, activation }) {
  const name = descOf(type);
  const fields = operatorFields[type];
  const lines = ['#include <dmlref/dmlref.hpp>', '', `dmlref::${name} make_desc() {`, `  dmlref::${name} desc;`];
  for (const tensor of Object.values(tensors)) {
    const member = memberOf(tensor.name);
    lines.push(`  desc.${member} = ${nativeTensor(tensor)};`);
    const optional = fields.some(([field, , absent]) => field === tensor.name && absent);
    const access = `desc.${member}${optional ? '->' : '.'}`;
    if (tensor.totalBytes) lines.push(`  ${access}total_size_in_bytes = ${tensor.totalBytes};`);
    if (tensor.alignment) lines.push(`  ${access}guaranteed_base_offset_alignment = ${tensor.alignment};`);
    if (tensor.owned) lines.push(`  ${access}owned_by_dml = true;`);
  }
  for (const [field, kind] of fields) {
    const value = desc[field];
    if (['input', 'output', 'count', 'activation'].includes(kind) || value === undefined || value === null) continue;
    const text = Array.isArray(value) ? list(value) : kind === 'bool' ? String(Boolean(value)) : scalar(kind, value);
    lines.push(`  desc.${memberOf(field)} = ${text};`);
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
  const values = operatorFields[type].map(([field, kind]) => {
    if (kind === 'input' || kind === 'output') return tensors[field] ? `&${snake(field)}` : 'nullptr';
    if (kind === 'activation') return activation ? '&fused' : 'nullptr';
    if (kind !== 'uints' && kind !== 'ints') return scalar(kind, desc[field] ?? 0);
    const id = `${snake(field)}_values`;
    body.push(`const ${kind === 'ints' ? 'INT' : 'UINT'} ${id}[] = ${list(desc[field] ?? [])};`);
    return id;
  });
  body.push(`const DML_${type}_OPERATOR_DESC members = {`, `    ${values.join(', ')}};`,
    `const DML_OPERATOR_DESC desc = {DML_OPERATOR_${type}, &members};`);
  return ['#include <DirectML.h>  // or <dmlref/directml.hpp>', '',
    'template <class Use>  // what is pointed to lives until use(desc) returns', 'auto with_desc(Use use) {',
    ...body.map((line) => `  ${line}`), '  return use(desc);', '}', ''].join('\n');
}
