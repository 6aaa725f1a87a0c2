// model.js: a model in one spelling, for the pictures. The command validates; this only reads.
import { parse } from 'jsonc-parser';
import { bytesOf, operatorFields } from './schema.js';

const isTensor = ([, kind]) => kind === 'input' || kind === 'output';
const tensorNames = Object.fromEntries(
  Object.entries(operatorFields).map(([type, fields]) => [type, fields.filter(isTensor).map(([name]) => name)]));

export const operators = Object.keys(tensorNames);

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const without = (text, prefix) => (typeof text === 'string' && text.startsWith(prefix) ? text.slice(prefix.length) : text);
const isCount = (value) => Number.isInteger(value) && value >= 0 && value <= 0xffffffff;
const product = (values) => values.reduce((a, b) => a * b, 1);

/** Row-major strides, in elements. */
export function packed(sizes) {
  const strides = new Array(sizes.length);
  let step = 1;
  for (let d = sizes.length - 1; d >= 0; --d) {
    strides[d] = step;
    step *= sizes[d];
  }
  return strides;
}

function readTensor(name, given) {
  if (!isObject(given)) return null;
  const inner = given.Desc ?? given.desc ?? given;
  const sizes = inner?.Sizes;
  if (!Array.isArray(sizes) || sizes.length === 0 || !sizes.every((size) => isCount(size) && size > 0)) return null;
  const listed = Array.isArray(inner.Strides) && inner.Strides.length > 0 ? inner.Strides : null;
  if (listed && (listed.length !== sizes.length || !listed.every(isCount))) return null;
  const strides = listed ?? packed(sizes);
  const dataType = without(inner.DataType, 'DML_TENSOR_DATA_TYPE_');
  const flags = [inner.Flags ?? []].flat().map((flag) => without(flag, 'DML_TENSOR_FLAG_'));
  return {
    name, sizes, strides, dataType,
    hasStrides: listed !== null,
    elementBytes: bytesOf[dataType] ?? 0,
    count: product(sizes),
    span: sizes.reduce((last, size, d) => last + (size - 1) * strides[d], 1),
    totalBytes: inner.TotalTensorSizeInBytes || 0,
    alignment: inner.GuaranteedBaseOffsetAlignment || 0,
    owned: flags.includes('OWNED_BY_DML'),
  };
}

function readActivation(given) {
  if (!isObject(given)) return null;
  const type = without(without(given.Type ?? given.type, 'DML_OPERATOR_'), 'ACTIVATION_');
  return { type, parameters: given.Desc ?? given.desc ?? given };
}

function readDispatchable(name, given) {
  if (!isObject(given)) return null;
  const type = without(given.type ?? given.Type, 'DML_OPERATOR_');
  const names = tensorNames[type];
  const desc = given.desc ?? given.Desc ?? given;
  if (!names || !isObject(desc)) return null;
  const tensors = {};
  for (const tensor of names) {
    const read = readTensor(tensor, desc[tensor]);
    if (read) tensors[tensor] = read;
  }
  return {
    name, type, desc, tensors, bindings: given.bindings ?? given.Bindings ?? {},
    activation: readActivation(desc.FusedActivation),
  };
}

/** The comment that begins a model, '' without one. */
export const commentOf = (text) => (/^\s*\{\s*((?:\/\/.*\s*)+)/.exec(text)?.[1] ?? '').replace(/\s*\/\/\s*/g, ' ').trim();

const bindingName = (binding) => (isObject(binding) ? binding.name : binding);

/** {json, dispatchables, dispatches}; empty lists where the text is not that far. */
export function readModel(text) {
  const json = parse(text, [], { allowTrailingComma: true });
  const dispatchables = Object.entries(isObject(json?.dispatchables) ? json.dispatchables : {})
    .map(([name, given]) => readDispatchable(name, given))
    .filter(Boolean);
  const dispatches = [];
  const commands = Array.isArray(json?.commands) ? json.commands : [];
  commands.forEach((command, index) => {
    if (command?.type !== 'dispatch') return;
    const dispatchable = dispatchables.find((one) => one.name === command.dispatchable);
    if (dispatchable) dispatches.push({ index, dispatchable, bindings: isObject(command.bindings) ? command.bindings : {} });
  });
  return { json, dispatchables, dispatches };
}

/** The resource and first element that a dispatch gives to a tensor; null where it gives none. */
export function boundTo(dispatch, tensor) {
  const binding = dispatch.bindings[tensor] ?? dispatch.dispatchable.bindings[tensor];
  const resource = bindingName(binding);
  if (typeof resource !== 'string') return null;
  return { resource, offset: isObject(binding) ? Number(binding.elementOffset ?? 0) : 0 };
}

/** Bytes that the tensors of all dispatches span, and products of all convolutions. */
export function work(model) {
  let bytes = 0;
  let products = 0;
  for (const { dispatchable } of model.dispatches) {
    for (const tensor of Object.values(dispatchable.tensors)) bytes += tensor.span * tensor.elementBytes;
    const { FilterTensor, OutputTensor } = dispatchable.tensors;
    if (FilterTensor && OutputTensor) products += (OutputTensor.count * FilterTensor.count) / FilterTensor.sizes[0];
  }
  return { bytes, products };
}
