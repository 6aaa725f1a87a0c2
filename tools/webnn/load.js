// load.js: takes the graphs out of a test file of web-platform-tests by running it with stand-ins for the browser.
// The file is the user's own and runs as any script that he starts.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');

/** What test files and their scripts use of a browser and of testharness.js while they are loaded. */
function browser() {
  const nothing = () => {};
  const globals = {
    console, structuredClone, setTimeout, BigInt,
    navigator: {ml: {}},
    location: {search: '?cpu'},
    test: nothing, promise_test: nothing, promise_setup: nothing, setup: nothing, done: nothing,
  };
  for (const name of ['true', 'equals', 'implements', 'not_equals', 'throws', 'unreached', 'array_equals']) {
    globals[`assert_${name}`] = nothing;
  }
  globals.self = globals.globalThis = globals;
  return vm.createContext(globals);
}

/** The tolerance as `dmlref compare` takes it, or why there is none. */
function toleranceOf(graph, getTolerance) {
  try {
    const {metricType, value} = getTolerance(graph, {});
    const type = Object.values(graph.expectedOutputs)[0].descriptor.dataType;
    const number = typeof value === 'object' ? value[type] : value;
    if (Number.isFinite(number) && metricType === 'ULP') return {options: ['--ulp', String(Math.floor(number))]};
    if (Number.isFinite(number) && metricType === 'ATOL') return {options: ['--abs', String(number)]};
    return {missing: `${metricType} ${value}`};
  } catch (error) {
    return {missing: error.message};
  }
}

/** [{name, graph, tolerance}] of one *.https.any.js. Both orders of webnn_conformance_test's arguments are known. */
function loadTests(file) {
  const context = browser();
  const text = fs.readFileSync(file, 'utf8');
  for (const [, script] of text.matchAll(/^\/\/ META: script=(\S+)/gm)) {
    const source = path.resolve(path.dirname(file), script);
    // Without its scripts a file has no tolerances of its own.
    if (fs.existsSync(source)) vm.runInContext(fs.readFileSync(source, 'utf8'), context, {filename: source});
  }
  const found = [];
  const collect = (...given) => {
    const tests = given.find((argument) => typeof argument === 'object');
    const getTolerance = given.filter((argument) => typeof argument === 'function').pop();
    for (const test of [tests].flat()) {
      if (!test || !test.graph) continue;
      found.push({name: test.name, graph: test.graph, tolerance: toleranceOf(test.graph, getTolerance)});
    }
  };
  // Parameters hide what the scripts define under these names; the file may define them again.
  const parameters = {
    webnn_conformance_test: collect,
    runWebNNConformanceTests: collect,
    isTargetTest: () => true,
  };
  const used = ['buildAndExecuteGraph', 'getPrecisionTolerance', 'getZeroULPTolerance',
                'getInstanceNormPrecisionTolerance'];
  const missing = used.filter((name) => vm.runInContext(`typeof ${name}`, context) === 'undefined');
  for (const name of missing) parameters[name] = () => ({metricType: 'unknown', value: name});
  const names = Object.keys(parameters).join(', ');
  const run = vm.runInContext(`(function(${names}) { (function() {${text}\n})(); })`, context, {filename: file});
  run(...Object.values(parameters));
  return found;
}

module.exports = {loadTests};
