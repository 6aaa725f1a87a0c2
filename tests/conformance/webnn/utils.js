'use strict';

// As in web-platform-tests: it runs graphs in a browser, which wpt.js must not try.
const webnn_conformance_test = () => {
  throw new Error('a browser is needed');
};
const isTargetTest = () => location.search === '?nothing';
const getPrecisionTolerance = (resources) => {
  const moved = resources.operators[0].name === 'slice';
  return {metricType: 'ULP', value: moved ? 0 : {float32: 1, float16: 1, int8: 0, uint8: 0}};
};
