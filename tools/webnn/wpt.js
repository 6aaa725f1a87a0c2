#!/usr/bin/env node
// wpt.js [--dmlref COMMAND] [--out DIR] FILE…: WebNN conformance tests of web-platform-tests through dmlref.
//
// FILE: webnn/conformance_tests/*.https.any.js of a checkout of your own. Each graph becomes DIR/FILE/NUMBER with
// model.json, inputs and expected_N.npy; with a command it runs there and is compared at the test's own tolerance.
// Prints a table; exit status 1 where an output differs, 2 where a file cannot be used.
'use strict';

const fs = require('fs');
const os = require('os');
const path = require('path');
const {spawnSync} = require('child_process');
const {loadTests} = require('./load.js');
const {Refusal, lowerGraph} = require('./lower.js');
const {npy} = require('./tensor.js');

function unusable(what) {
  console.error(`wpt.js: ${what}`);
  process.exit(2);
}

function parseLine(words) {
  const line = {files: []};
  for (let i = 0; i < words.length; ++i) {
    if (words[i] === '--dmlref' || words[i] === '--out') {
      if (i + 1 === words.length) unusable(`${words[i]} needs a value`);
      line[words[i].slice(2)] = path.resolve(words[++i]);
    } else {
      line.files.push(words[i]);
    }
  }
  if (line.files.length === 0 || !(line.dmlref || line.out)) {
    unusable('usage: wpt.js [--dmlref COMMAND] [--out DIR] FILE..., with one of the options at least');
  }
  return line;
}

/** JSON of a model: words stand for infinities and NaN, for which JSON has no number. */
function modelText(model) {
  const word = (key, value) => (typeof value !== 'number' || Number.isFinite(value) ? value :
    Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf');
  return JSON.stringify(model, word, 1);
}

function writeCase(folder, lowered) {
  fs.mkdirSync(folder, {recursive: true});
  for (const file of [...lowered.files, ...lowered.expected]) {
    fs.writeFileSync(path.join(folder, file.name), npy(file.dataType, file.shape, file.data));
  }
  fs.writeFileSync(path.join(folder, 'model.json'), `${modelText(lowered.model)}\n`);
}

// Where a checkout has no tolerance that is understood: WebNN's for normalization and quantization, exact for what is
// moved.
function fallback(graph) {
  const has = (end) => graph.operators.some(({name}) => name.endsWith(end));
  if (!has('Normalization')) return ['--ulp', has('uantizeLinear') ? '1' : '0'];
  const half = Object.values(graph.expectedOutputs).some(({descriptor}) => descriptor.dataType === 'float16');
  return ['--abs', String(half ? 1 / 512 : 1 / 1024)];
}

/** {kind: 'passed' | 'refused' | 'differs', why}. */
function runCase(folder, dmlref, outputs, tolerance) {
  const call = (...words) => spawnSync(dmlref, words, {cwd: folder, encoding: 'utf8'});
  const run = call('run', 'model.json');
  if (run.error) unusable(`${dmlref}: ${run.error.message}`);
  if (run.status !== 0) {
    const rule = /\[([a-z]\w*)\]/.exec(run.stderr);
    return rule ? {kind: 'refused', why: `rule ${rule[1]}`} : {kind: 'differs', why: run.stderr.trim()};
  }
  for (let i = 0; i < outputs; ++i) {
    const compared = call('compare', `output_${i}.npy`, `expected_${i}.npy`, ...tolerance);
    if (compared.status !== 0) return {kind: 'differs', why: (compared.stdout + compared.stderr).trim()};
  }
  return {kind: 'passed', why: ''};
}

function checkCase(test, folder, line) {
  let lowered;
  try {
    lowered = lowerGraph(test.graph);
  } catch (error) {
    if (error instanceof Refusal) return {kind: 'refused', why: error.message};
    throw error;
  }
  writeCase(folder, lowered);
  if (!line.dmlref) return {kind: 'written', why: ''};
  // The integers of a quantized conv2d are exact. Dequantized ones have one rounding, far below their step.
  const quantized = test.graph.operators.some(({name}) => name === 'conv2d');
  const tolerance = quantized ? ['--ulp', lowered.expected[0].dataType.startsWith('float') ? '1' : '0'] :
                                test.tolerance.options || fallback(test.graph);
  return runCase(folder, line.dmlref, lowered.expected.length, tolerance);
}

const line = parseLine(process.argv.slice(2));
const work = line.out || fs.mkdtempSync(path.join(os.tmpdir(), 'dmlref-wpt-'));
let failed = 0;
for (const file of line.files) {
  let tests;
  try {
    tests = loadTests(file);
  } catch (error) {
    unusable(`${file}: ${error.message}`);
  }
  if (tests.length === 0) unusable(`${file}: has no call of webnn_conformance_test with a graph`);
  const base = path.basename(file).split('.')[0];
  const counts = new Map();
  tests.forEach((test, index) => {
    const result = checkCase(test, path.join(work, base, String(index).padStart(3, '0')), line);
    const key = result.kind === 'refused' ? `refused: ${result.why}` : result.kind;
    counts.set(key, (counts.get(key) || 0) + 1);
    if (result.kind === 'differs') {
      ++failed;
      console.log(`${base}: ${test.name}: ${result.why}`);
    }
  });
  console.log(`${base}: ${tests.length} cases`);
  for (const [key, count] of [...counts].sort()) console.log(`  ${String(count).padStart(4)} ${key}`);
}
if (!line.out) fs.rmSync(work, {recursive: true});
process.exit(failed === 0 ? 0 : 1);
