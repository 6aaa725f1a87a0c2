// see.js: pictures of what an operator reads. They follow the desc; numbers come from the command.
import { element } from './dom.js';
import { Grid } from './grid.js';
import { showNumber } from './npy.js';

const dimensionNames = (rank) => (rank === 4 ? ['N', 'C', 'H', 'W'] : Array.from({ length: rank }, (_, d) => `dimension ${d}`));
const isArrayOf = (values, length) => Array.isArray(values) && values.length === length && values.every(Number.isInteger);
const linear = (coordinates, sizes) => coordinates.reduce((index, at, d) => index * sizes[d] + at, 0);

/** What a cell shows of an element: its value where it is known, else its place in memory. */
const text = (tensor, value) => (at) => {
  const known = value?.(at);
  return known === undefined ? '·' : showNumber(known, tensor.dataType);
};

/** Positions that a slice reads along each dimension: {start, step, count, first, past}. */
function sliceWindows({ type, desc }, rank) {
  const [offsets, sizes, strides] = type === 'SLICE' ? [desc.Offsets, desc.Sizes, desc.Strides]
    : [desc.InputWindowOffsets, desc.InputWindowSizes, desc.InputWindowStrides];
  if (![offsets, sizes, strides].every((list) => isArrayOf(list, rank)) || strides.includes(0)) return null;
  return offsets.map((offset, d) => {
    const step = strides[d];
    if (type === 'SLICE') {
      return { start: offset, step, count: sizes[d], first: offset, past: offset + (sizes[d] - 1) * step + 1 };
    }
    const count = Math.ceil(sizes[d] / Math.abs(step));
    return { start: step > 0 ? offset : offset + sizes[d] - 1, step, count, first: offset, past: offset + sizes[d] };
  });
}

function seeSlice(dispatchable, values, explain) {
  const { InputTensor: input, OutputTensor: output } = dispatchable.tensors;
  const windows = input && output && sliceWindows(dispatchable, input.sizes.length);
  if (!windows || output.sizes.length !== input.sizes.length) return [unseen('the window')];
  let chosen = null;
  const source = (at) => at.map((k, d) => windows[d].start + k * windows[d].step);
  const readAs = (at) => {
    const index = at.map((p, d) => (p - windows[d].start) / windows[d].step);
    return index.every((k, d) => Number.isInteger(k) && k >= 0 && k < windows[d].count) ? index : null;
  };
  const same = (a, b) => a && b && a.every((x, d) => x === b[d]);
  const inputGrid = new Grid({
    title: `Input ${input.sizes.join(' × ')}: the window, and what is read, in order`,
    sizes: input.sizes, names: dimensionNames(input.sizes.length), text: text(input, values.InputTensor),
    look(at) {
      const index = readAs(at);
      const inside = at.every((p, d) => p >= windows[d].first && p < windows[d].past);
      if (index) return { kind: same(chosen, index) ? 'read chosen' : 'read', note: `read for output [${index.join(', ')}]` };
      return inside ? { kind: 'window', note: 'in the window, not read' } : {};
    },
    arrows(lead) {
      const rank = input.sizes.length;
      if (rank > 2 && !readAs([...lead, windows[rank - 2].start, windows[rank - 1].start])) return [];
      const last = (d) => windows[d].start + (windows[d].count - 1) * windows[d].step;
      const lines = [];
      const row = rank === 1 ? { start: 0, count: 1, step: 1 } : windows[rank - 2];
      for (let k = 0; k < Math.min(row.count, 24); ++k) {
        const r = row.start + k * row.step;
        if (windows[rank - 1].count > 1) lines.push([[r, windows[rank - 1].start], [r, last(rank - 1)]]);
      }
      const column = windows[rank - 1].start;
      if (row.count > 1) lines.push([[row.start, column], [last(rank - 2), column]]);
      return lines;
    },
  });
  const outputGrid = new Grid({
    title: `Output ${output.sizes.join(' × ')}`,
    sizes: output.sizes, names: dimensionNames(output.sizes.length), text: text(output, values.OutputTensor),
    look: (at) => ({ kind: same(chosen, at) ? 'read chosen' : 'read', note: `from input [${source(at).join(', ')}]` }),
    point: choose, pick: (at) => (choose(at), explain(at)),
  });
  function choose(at) {
    chosen = at;
    inputGrid.show(source(at));
    outputGrid.update();
  }
  inputGrid.show(source(output.sizes.map(() => 0)));
  return [inputGrid.root, outputGrid.root];
}

function seeConvolution(dispatchable, values, explain) {
  const { InputTensor: input, FilterTensor: filter, OutputTensor: output } = dispatchable.tensors;
  const { desc } = dispatchable;
  const spatial = (input?.sizes.length ?? 0) - 2;
  const lists = [desc.Strides, desc.Dilations, desc.StartPadding, desc.EndPadding];
  if (spatial < 1 || filter?.sizes.length !== spatial + 2 || output?.sizes.length !== spatial + 2 ||
      !lists.every((list) => isArrayOf(list, spatial))) {
    return [unseen('the receptive field')];
  }
  const [strides, dilations, start, end] = lists;
  const groups = Math.max(Number(desc.GroupCount) || 1, 1);
  const outPerGroup = Math.max(Math.floor(output.sizes[1] / groups), 1);
  const rank = spatial + 2;
  let chosen = output.sizes.map(() => 0);
  const group = () => Math.floor(chosen[1] / outPerGroup);
  /** The tap of the filter that meets this input element for the chosen output; null: none. */
  const tap = (at) => {
    const channel = at[1] - group() * filter.sizes[1];
    if (at[0] !== chosen[0] || channel < 0 || channel >= filter.sizes[1]) return null;
    const taps = at.slice(2).map((p, d) => (p + start[d] - chosen[d + 2] * strides[d]) / dilations[d]);
    return taps.every((k, d) => Number.isInteger(k) && k >= 0 && k < filter.sizes[d + 2]) ? [chosen[1], channel, ...taps] : null;
  };
  const inside = (at) => at.every((p, d) => p >= 0 && p < input.sizes[d]);
  const shownAxes = [rank - 2, rank - 1];
  const before = (d) => (d < 2 ? 0 : start[d - 2]);
  const after = (d) => (d < 2 ? 0 : end[d - 2]);
  const inputGrid = new Grid({
    title: `Input ${input.sizes.join(' × ')}, with its padding: the receptive field of one output`,
    sizes: input.sizes, names: dimensionNames(rank),
    from: shownAxes.map((d) => -before(d)), to: shownAxes.map((d) => input.sizes[d] + after(d)),
    text: (at) => (inside(at) ? text(input, values.InputTensor)(at) : 'zp'),
    look(at) {
      const met = tap(at);
      const padding = !inside(at);
      const note = [padding && 'padding: the input zero point', met && `times filter [${met.join(', ')}]`].filter(Boolean).join(', ');
      return { kind: `${padding ? 'padding ' : ''}${met ? 'read chosen' : ''}`.trim(), note };
    },
  });
  const filterGrid = new Grid({
    title: `Filter ${filter.sizes.join(' × ')}${groups > 1 ? `, ${groups} groups` : ''}`,
    sizes: filter.sizes, names: rank === 4 ? ['output channel', 'channel in the group', 'H', 'W'] : dimensionNames(rank),
    text: text(filter, values.FilterTensor),
    look: (at) => (at[0] === chosen[1] ? { kind: 'read', note: 'used for the chosen output' } : {}),
  });
  const outputGrid = new Grid({
    title: `Output ${output.sizes.join(' × ')}`,
    sizes: output.sizes, names: dimensionNames(rank), text: text(output, values.OutputTensor),
    look: (at) => (at.every((p, d) => p === chosen[d]) ? { kind: 'read chosen' } : {}),
    point: choose, pick: (at) => (choose(at), explain(at)),
    planeChanged: (lead) => choose([...lead, ...chosen.slice(lead.length)]),
  });
  function choose(at) {
    chosen = at;
    const firstChannel = Math.min(group() * filter.sizes[1], input.sizes[1] - 1);
    const sameGroup = Math.floor(inputGrid.lead[1] / filter.sizes[1]) === group();
    inputGrid.show([at[0], sameGroup ? inputGrid.lead[1] : firstChannel, ...inputGrid.lead.slice(2)]);
    filterGrid.show([Math.min(at[1], filter.sizes[0] - 1), ...filterGrid.lead.slice(1)]);
    outputGrid.update();
  }
  choose(chosen);
  return [inputGrid.root, filterGrid.root, outputGrid.root];
}

function seeNormalization(dispatchable, values, explain) {
  const { InputTensor: input, OutputTensor: output } = dispatchable.tensors;
  const rank = input?.sizes.length ?? 0;
  const axes = dispatchable.type !== 'MEAN_VARIANCE_NORMALIZATION' ? dispatchable.desc.Axes
    : Array.from({ length: rank }, (_, d) => d).slice(dispatchable.desc.CrossChannel ? 1 : 2);
  if (rank === 0 || !Array.isArray(axes) || output?.sizes.length !== rank) return [unseen('the groups')];
  const kept = input.sizes.map((_, d) => d).filter((d) => !axes.includes(d));
  const groupOf = (at) => linear(kept.map((d) => at[d]), kept.map((d) => input.sizes[d]));
  let chosen = input.sizes.map(() => 0);
  const look = (at) => {
    const group = groupOf(at);
    const same = at.every((p, d) => p === chosen[d]);
    return {
      kind: same ? 'group chosen' : group === groupOf(chosen) ? 'group together' : 'group',
      hue: (group * 137.5) % 360, note: `group ${group}`,
    };
  };
  const names = dimensionNames(rank);
  const over = axes.length === 0 ? 'no axis' : axes.map((d) => names[d] ?? d).join(', ');
  const grids = [];
  const choose = (at) => {
    chosen = at;
    for (const grid of grids) grid.show(at);
  };
  for (const [title, name, tensor] of [['Input', 'InputTensor', input], ['Output', 'OutputTensor', output]]) {
    grids.push(new Grid({
      title: `${title} ${tensor.sizes.join(' × ')}: one colour is one group, normalized over ${over}`,
      sizes: tensor.sizes, names, text: text(tensor, values[name]), look, pick: (at) => (choose(at), explain(at)),
    }));
  }
  return grids.map((grid) => grid.root);
}

/** A picture of all tensors: what the chosen output reads. reads(name, tensor, coordinates, the output's) */
const seeReads = (reads) => ({ tensors }, values, explain) => {
  const output = tensors.OutputTensor;
  const all = Object.entries(tensors).filter(([, tensor]) => tensor);
  if (!output?.sizes.length || all.some(([, { sizes }]) => sizes.length === 0)) return [unseen('what an output reads')];
  let chosen = output.sizes.map(() => 0);
  const grids = all.map(([name, tensor]) => new Grid({
    title: `${name.replace(/Tensor$/, '').replace(/([a-z])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')} ${tensor.sizes.join(' × ')}`,
    sizes: tensor.sizes, names: dimensionNames(tensor.sizes.length), text: text(tensor, values[name]),
    look(at) {
      if (tensor === output) return at.every((p, d) => p === chosen[d]) ? { kind: 'read chosen' } : {};
      return reads(name, tensor, at, chosen, output) ? { kind: 'read', note: 'read for the chosen output' } : {};
    },
    ...(tensor === output && { point: choose, pick: (at) => (choose(at), explain(at)) }),
  }));
  function choose(at) {
    chosen = at;
    for (const grid of grids) grid.update();
  }
  return grids.map((grid) => grid.root);
};

/** A row of A, a column of B, and their scales and zero points. */
function readsOfProduct(name, { sizes }, at, chosen) {
  const [row, column] = chosen.slice(-2);
  if (sizes.every((size) => size === 1)) return true;
  if (name !== 'ATensor' && name !== 'BTensor') return name.startsWith('B') ? at.at(-1) === column : at[0] === row;
  const sameProduct = at.slice(0, -2).every((p, d) => sizes[d] === 1 || p === chosen[d]);
  return sameProduct && (name === 'ATensor' ? at.at(-2) === row : at.at(-1) === column);
}

/** The element at the same place; a scale may be one of a block. */
const readsOfElement = (name, { sizes }, at, chosen, output) =>
  at.every((p, d) => p === Math.floor((chosen[d] * sizes[d]) / output.sizes[d]));

function unseen(what) {
  return element('p', { class: 'note' }, `The desc is not far enough to show ${what}: see the violations above.`);
}

const pictures = {
  SLICE: seeSlice, SLICE1: seeSlice, QUANTIZED_LINEAR_CONVOLUTION: seeConvolution, CONVOLUTION_INTEGER: seeConvolution,
  MEAN_VARIANCE_NORMALIZATION: seeNormalization, MEAN_VARIANCE_NORMALIZATION1: seeNormalization,
  MEAN_VARIANCE_NORMALIZATION2: seeNormalization,
  MATRIX_MULTIPLY_INTEGER: seeReads(readsOfProduct), QUANTIZED_LINEAR_MATRIX_MULTIPLY: seeReads(readsOfProduct),
  ELEMENT_WISE_QUANTIZE_LINEAR: seeReads(readsOfElement), ELEMENT_WISE_DEQUANTIZE_LINEAR: seeReads(readsOfElement) };
/** Of an operator without a picture of its own: its tensors. */
const tensorsAlone = seeReads(() => false);

/** Figures of a dispatchable. `values`: by tensor, a function of coordinates; explain(coordinates) says how one output comes about. */
export const see = (dispatchable, values, explain) =>
  (pictures[dispatchable.type] ?? tensorsAlone)(dispatchable, values, explain);

/** Each element's place in memory. */
export function seeMemory(tensor) {
  const place = (at) => at.reduce((sum, p, d) => sum + p * tensor.strides[d], 0);
  const unused = tensor.span > tensor.count ? `, ${tensor.span - tensor.count} of them between elements` : '';
  const shared = tensor.strides.some((stride, d) => stride === 0 && tensor.sizes[d] > 1);
  return [
    element('p', {}, `Strides ${tensor.strides.join(', ')}${tensor.hasStrides ? '' : ' (packed)'}: ` +
      `${tensor.span} elements from the first to the last${shared ? '; a stride of 0 repeats elements' : unused}.`),
    new Grid({
      title: `${tensor.name} ${tensor.sizes.join(' × ')}: places in memory, in elements`,
      sizes: tensor.sizes, names: dimensionNames(tensor.sizes.length), text: (at) => String(place(at)),
      look: (at) => ({ kind: 'memory', hue: 220, note: `byte ${place(at) * tensor.elementBytes}` }),
    }).root];
}
