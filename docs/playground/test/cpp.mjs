// cpp.mjs: the C++ that the page shows of models with infinities and NaN. Needs node alone.
//   node test/cpp.mjs
import assert from 'node:assert/strict';
import { microsoftStructs, nativeDesc } from '../src/cpp.js';

const tensor = (name) => ({ name, dataType: 'FLOAT32', sizes: [2], strides: [1], elementBytes: 4, span: 2, alignment: 0 });
const spellings = {
  inf: 'std::numeric_limits<float>::infinity()', '-inf': '-std::numeric_limits<float>::infinity()',
  nan: 'std::numeric_limits<float>::quiet_NaN()', NaN: 'std::numeric_limits<float>::quiet_NaN()' };
for (const [word, text] of [...Object.entries(spellings), [0.5, '0.5f']]) {
  const model = {
    type: 'MEAN_VARIANCE_NORMALIZATION1',
    desc: { AxisCount: 1, Axes: [0], NormalizeVariance: true, Epsilon: word },
    tensors: { InputTensor: tensor('InputTensor'), OutputTensor: tensor('OutputTensor') },
    activation: { type: 'ELU', parameters: { Alpha: word } } };
  const native = nativeDesc(model);
  assert.ok(native.includes(`desc.epsilon = ${text};`), native);
  assert.ok(native.includes(`ActivationType::elu, {${text}}}`), native);
  const structs = microsoftStructs(model);
  assert.ok(structs.includes(`activation = {nullptr, nullptr, ${text}}`), structs);
  assert.ok(structs.includes(`, ${text}, &fused}`), structs);
}
console.log(`${Object.keys(spellings).length + 1} spellings`);
