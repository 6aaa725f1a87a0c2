// picture.js: pictures that the browser decodes, as tensors, and tensors as pictures.
import { numberToHalf, writeNpy } from './npy.js';

export const isPicture = (name) => /\.(png|jpe?g)$/i.test(name);

/** Planes (1, C, H, W): UINT8 keeps 0..255, FLOAT32 and FLOAT16 become 0..1. `size`: [C, H, W] to scale to. */
export async function pictureToNpy(bytes, type, size) {
  const bitmap = await createImageBitmap(new Blob([bytes]), { colorSpaceConversion: 'none', premultiplyAlpha: 'none' });
  const [channels, height, width] = size ?? [3, bitmap.height, bitmap.width];
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d');
  context.drawImage(bitmap, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const plane = width * height;
  const make = { UINT8: Uint8Array, FLOAT32: Float32Array, FLOAT16: Uint16Array }[type];
  if (!make) throw new Error(`a picture is UINT8, FLOAT32 or FLOAT16, not ${type}`);
  const values = new make(channels * plane);
  const convert = { UINT8: (v) => Math.round(v), FLOAT32: (v) => v / 255, FLOAT16: (v) => numberToHalf(v / 255) }[type];
  for (let i = 0; i < plane; ++i) {
    const [r, g, b, a] = data.subarray(4 * i, 4 * i + 4);
    const pixel = channels < 3 ? [0.299 * r + 0.587 * g + 0.114 * b, a] : [r, g, b, a];
    for (let c = 0; c < channels; ++c) values[c * plane + i] = convert(pixel[c]);
  }
  return writeNpy(type, [1, channels, height, width], values);
}

/** Whether a tensor can be looked at: 1, 3 or 4 channels of 8 pixels and more, bytes or real numbers. */
export function looksLikePicture({ sizes, dataType }) {
  const [n, c, h, w] = sizes;
  return sizes.length === 4 && n === 1 && [1, 3, 4].includes(c) && h >= 8 && w >= 8 && h * w <= 1 << 24 &&
    ['UINT8', 'FLOAT32', 'FLOAT16'].includes(dataType);
}

/** A canvas of the tensor whose element at these coordinates is value([n, c, h, w]). */
export function pictureOf(tensor, value) {
  const [, channels, height, width] = tensor.sizes;
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(width, height);
  const level = tensor.dataType === 'UINT8' ? (v) => v : (v) => 255 * v;
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const at = 4 * (y * width + x);
      for (let c = 0; c < 3; ++c) image.data[at + c] = level(Number(value([0, channels < 3 ? 0 : c, y, x])));
      image.data[at + 3] = channels === 4 ? level(Number(value([0, 3, y, x]))) : 255;
    }
  }
  canvas.getContext('2d').putImageData(image, 0, 0);
  return canvas;
}
