// probe.js: a model that also writes what every dispatch reads and makes, so that the page can show it.
import { applyEdits, findNodeAtLocation } from 'jsonc-parser';
import { isPicture, pictureToNpy } from './picture.js';
import { boundTo } from './model.js';
import { readNpy } from './npy.js';
import { tree } from './places.js';

const most = { bytes: 64 << 20, products: 5e8 };

/** Why a model of this much work is not run here; null where it is. */
export function tooMuch({ bytes, products }) {
  if (bytes > most.bytes) return `its tensors span ${(bytes / 2 ** 20).toFixed(0)} MiB, and this page runs models up to ${most.bytes >> 20} MiB`;
  if (products > most.products) return `its convolutions have ${(products / 1e9).toFixed(1)} billion products, and this page runs up to ${most.products / 1e9}`;
  return null;
}

const fileOf = (dispatch, tensor) => `probe/${dispatch.index}.${tensor}.npy`;

/** Pictures become .npy files, which the browser decodes: the new resources by name. */
async function withoutPictures(resources, files) {
  const changed = {};
  for (const [resourceName, resource] of Object.entries(resources ?? {})) {
    const path = resource?.initialValues?.sourcePath;
    if (typeof path !== 'string' || !isPicture(path) || !files[path]) continue;
    const size = Array.isArray(resource.resampleSize) ? resource.resampleSize.slice(-3) : undefined;
    const name = `probe/${path}.${resource.initialValuesDataType}.npy`;
    files[name] ??= await pictureToNpy(files[path], resource.initialValuesDataType, size);
    const { resampleSize, resampleMode, ...rest } = resource;
    changed[resourceName] = { ...rest, initialValues: { sourcePath: name } };
  }
  return changed;
}

/**
 * {text, files, want}: `given` holds the files that the user dropped, by name. The numbers of the text stay as they are
 * written: not all 64-bit integers, nor -0, are what JSON.parse and JSON.stringify leave of them.
 */
export async function makeProbe(text, model, given) {
  const { json } = model;
  const files = { ...given };
  const root = tree(text);
  const edit = (path, content) => {
    const { offset, length } = findNodeAtLocation(root, path);
    return { offset, length, content };
  };
  const pictures = await withoutPictures(json.resources, files);
  const edits = Object.entries(pictures).map(([name, resource]) => edit(['resources', name], JSON.stringify(resource)));
  const want = [];
  const write = (dispatch, tensor) => {
    const bound = boundTo(dispatch, tensor);
    if (!bound || json.resources?.[bound.resource]?.initialValuesDataType === 'UNKNOWN') return [];
    want.push(fileOf(dispatch, tensor));
    return [JSON.stringify({ type: 'writeFile', resource: bound.resource, targetPath: fileOf(dispatch, tensor) })];
  };
  const commands = json.commands.flatMap((command, index) => {
    if (command?.type === 'writeFile') return [];
    const dispatch = model.dispatches.find((one) => one.index === index);
    const { offset, length } = findNodeAtLocation(root, ['commands', index]);
    const written = text.slice(offset, offset + length);
    if (!dispatch) return [written];
    const names = Object.keys(dispatch.dispatchable.tensors);
    const reads = names.filter((name) => name !== 'OutputTensor').flatMap((name) => write(dispatch, name));
    return [...reads, written, ...write(dispatch, 'OutputTensor')];
  });
  edits.push(edit(['commands'], `[${commands.join(',\n')}]`));
  return { text: applyEdits(text, edits), files, want };
}

/** By tensor of this dispatch, the value at coordinates; undefined where none is known. */
export function valuesOf(dispatch, written) {
  const values = {};
  for (const tensor of Object.values(dispatch?.dispatchable.tensors ?? {})) {
    const array = readNpy(written[fileOf(dispatch, tensor.name)]);
    const bound = boundTo(dispatch, tensor.name);
    if (!array || !bound) continue;
    values[tensor.name] = (at) => {
      const place = bound.offset + at.reduce((sum, p, d) => sum + p * tensor.strides[d], 0);
      return place < array.count ? array.at(place) : undefined;
    };
  }
  return values;
}

export const outputFile = (dispatch) => fileOf(dispatch, 'OutputTensor');
