// tensor.js: WebNN's data types, and NumPy's files of them.
'use strict';

/** DirectML's name, NumPy's code, bytes, and how one number is written to a DataView. */
const dataTypes = {
  float32: {dml: 'FLOAT32', npy: '<f4', bytes: 4, put: (view, at, value) => view.setFloat32(at, value, true)},
  float16: {dml: 'FLOAT16', npy: '<f2', bytes: 2, put: (view, at, value) => view.setUint16(at, toHalf(value), true)},
  int8: {dml: 'INT8', npy: '|i1', bytes: 1, put: (view, at, value) => view.setInt8(at, Number(value))},
  uint8: {dml: 'UINT8', npy: '|u1', bytes: 1, put: (view, at, value) => view.setUint8(at, Number(value))},
  int32: {dml: 'INT32', npy: '<i4', bytes: 4, put: (view, at, value) => view.setInt32(at, Number(value), true)},
  uint32: {dml: 'UINT32', npy: '<u4', bytes: 4, put: (view, at, value) => view.setUint32(at, Number(value), true)},
  int64: {dml: 'INT64', npy: '<i8', bytes: 8, put: (view, at, value) => view.setBigInt64(at, BigInt(value), true)},
  uint64: {dml: 'UINT64', npy: '<u8', bytes: 8, put: (view, at, value) => view.setBigUint64(at, BigInt(value), true)},
};

/** The bits of the nearest float16; ties to even. */
function toHalf(value) {
  if (Number.isNaN(value)) return 0x7E00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude >= 65520) return sign | 0x7C00;
  // The step between neighbours: 2^-24 below 2^-14. A quotient by a power of two is exact.
  const exponent = magnitude < 2 ** -14 ? -14 : Math.floor(Math.log2(magnitude));
  const step = 2 ** (exponent - 10);
  const steps = roundHalfToEven(magnitude / step);
  return sign | ((exponent + 14) * 1024 + steps);
}

function roundHalfToEven(value) {
  const down = Math.floor(value);
  const rest = value - down;
  if (rest !== 0.5) return rest < 0.5 ? down : down + 1;
  return down % 2 === 0 ? down : down + 1;
}

function elementCount(shape) {
  return shape.reduce((product, extent) => product * extent, 1);
}

function packedStrides(shape) {
  const strides = [];
  let step = 1;
  for (let d = shape.length - 1; d >= 0; --d) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

/** The file's bytes; a scalar is a list of one. */
function npy(dataType, shape, data) {
  const type = dataTypes[dataType];
  const extents = shape.length === 0 ? [1] : shape;
  let header = `{'descr': '${type.npy}', 'fortran_order': False, 'shape': (${extents.join(', ')}${
      extents.length === 1 ? ',' : ''}), }`;
  header += ' '.repeat((64 - (10 + header.length + 1) % 64) % 64) + '\n';
  const start = 10 + header.length;
  const bytes = Buffer.alloc(start + data.length * type.bytes);
  bytes.write('\x93NUMPY\x01\x00', 'latin1');
  bytes.writeUInt16LE(header.length, 8);
  bytes.write(header, 10, 'latin1');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let i = 0; i < data.length; ++i) type.put(view, start + i * type.bytes, data[i]);
  return bytes;
}

module.exports = {dataTypes, elementCount, npy, packedStrides, toHalf};
