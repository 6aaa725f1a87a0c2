// npy.js: NumPy's array files, as the command reads and writes them.

const descr = {
  '<f4': ['FLOAT32', Float32Array], '<f8': ['FLOAT64', Float64Array], '<f2': ['FLOAT16', Uint16Array],
  '|u1': ['UINT8', Uint8Array], '|i1': ['INT8', Int8Array], '<u2': ['UINT16', Uint16Array], '<i2': ['INT16', Int16Array],
  '<u4': ['UINT32', Uint32Array], '<i4': ['INT32', Int32Array], '<u8': ['UINT64', BigUint64Array],
  '<i8': ['INT64', BigInt64Array] };

export function halfToNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Rounds half to even; |value| is at most 65504. */
export function numberToHalf(value) {
  if (value === 0) return 0;
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(value))), -14);
  const scaled = Math.abs(value) / 2 ** (exponent - 10);
  const floor = Math.floor(scaled);
  const up = scaled - floor > 0.5 || (scaled - floor === 0.5 && floor % 2 === 1);
  const bits = floor + (up ? 1 : 0) + (exponent > -14 || floor >= 1024 ? (exponent + 14) * 1024 : 0);
  return bits | (value < 0 ? 0x8000 : 0);
}

/** {type, shape, at(i), count}; null where the bytes are no such file. */
export function readNpy(bytes) {
  if (!bytes || bytes.length < 12 || String.fromCharCode(...bytes.subarray(1, 6)) !== 'NUMPY') return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = bytes[6] === 1 ? 10 : 12;
  const length = bytes[6] === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  const header = new TextDecoder().decode(bytes.subarray(start, start + length));
  const kind = descr[/'descr': *'([^']+)'/.exec(header)?.[1]];
  if (!kind || /'fortran_order': *True/.test(header)) return null;
  const shape = (/'shape': *\(([^)]*)\)/.exec(header)?.[1] ?? '').split(',').map((s) => s.trim()).filter(Boolean).map(Number);
  const [type, Kind] = kind;
  const data = bytes.slice(start + length);
  const array = new Kind(data.buffer, 0, Math.floor(data.length / Kind.BYTES_PER_ELEMENT));
  return { type, shape, count: array.length, at: type === 'FLOAT16' ? (i) => halfToNumber(array[i]) : (i) => array[i] };
}

/** A file of `values` (a typed array; FLOAT16 as Uint16Array of bits). */
export function writeNpy(type, shape, values) {
  const code = Object.keys(descr).find((key) => descr[key][0] === type);
  let header = `{'descr': '${code}', 'fortran_order': False, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`;
  header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
  const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const file = new Uint8Array(10 + header.length + data.length);
  file.set([0x93, 78, 85, 77, 80, 89, 1, 0, header.length & 255, header.length >> 8]);
  file.set(new TextEncoder().encode(header), 10);
  file.set(data, 10 + header.length);
  return file;
}

const narrow = { FLOAT32: Math.fround, FLOAT16: (value) => halfToNumber(numberToHalf(value)), FLOAT64: (value) => value };

/** To so many digits; a tie to the even one, where toPrecision goes away from zero. */
function rounded(value, digits) {
  const text = value.toPrecision(digits);
  return /[02468](?=e|$)/.test(text) ? text : (value * (1 - 2 ** -40)).toPrecision(digits);
}

/** As the command prints it: the fewest digits that read back as the same value of this type (of few powers of two, one more). */
export function showNumber(value, type) {
  if (!narrow[type]) return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf';
  let shortest = value;
  if (type !== 'FLOAT64' && !(type === 'FLOAT16' && Number.isInteger(value))) {
    for (let digits = 1; digits < 10; ++digits) {
      shortest = Number(rounded(value, digits));
      if (narrow[type](shortest) === value) break;
    }
  }
  const [mantissa, power] = shortest.toExponential().split('e');
  if (power < -4 || power >= 16) return `${mantissa}e${power[0]}${power.slice(1).padStart(2, '0')}`;
  return Object.is(value, -0) ? '-0' : String(shortest);
}
