// run.mjs: the page in Chromium, from a file and from a server, beside the command.
//   node test/run.mjs PAGE.html DMLREF [SCREENSHOTS]
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdtempSync, readFileSync, readdirSync, writeFileSync, cpSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve, dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { done, launch, open, type } from './browser.mjs';
import { writeNpy } from '../src/npy.js';

const [page, command, screenshots] = process.argv.slice(2).map((path) => resolve(path));
const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const examples = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.json')).sort();
const folder = mkdtempSync(join(tmpdir(), 'playground-'));
cpSync(join(root, 'examples/picture.png'), join(folder, 'picture.png'));

/** What the command says of this text: status and lines. */
function dmlref(verb, text, ...more) {
  writeFileSync(join(folder, 'model.json'), text);
  const { status, stdout, stderr } = spawnSync(command, [verb, 'model.json', ...more], { cwd: folder, encoding: 'utf8' });
  return { status, out: stdout.trimEnd(), err: stderr.trim() };
}

const exampleText = (name) => readFileSync(join(root, 'examples', name), 'utf8');

async function choose(tab, name) {
  await tab.locator('#examples').selectOption(name);
  await done(tab);
}

/** Cells whose text does not fit. */
const cutOff = (tab) => tab.locator('.grid td, .grid th').evaluateAll((cells) =>
  cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent));

// Zeros, the largest and smallest, what JavaScript's numbers cannot hold, ties of the last digit, many digits, both
// notations.
const values = {
  FLOAT32: ['0', '-0.0', '-0.9258201', '"nan"', '"inf"', '"-inf"', '3.4028235e38', '-1.1754944e-38', '1e-45', '16777216', '0.00024414062', '0.1', '1e15', '-1.5e16', '0.0001', '-0.00001'],
  FLOAT16: ['0', '-0.0', '-0.9258', '"nan"', '"inf"', '"-inf"', '65504', '-0.0000609756', '5.9604645e-8', '2047', '0.015625', '0.1', '1023.5', '-0.3333', '0.0001', '-0.00001'],
  FLOAT64: ['0', '-0.0', '-0.92582009977255146', '"nan"', '"inf"', '"-inf"', '1.7976931348623157e308', '-2.2250738585072014e-308', '4.9406564584124654e-324', '9007199254740993', '0.1', '-123456.78901234567', '1e15', '-1.5e16', '0.0001', '-0.00001'],
  INT64: ['0', '-9223372036854775808', '9223372036854775807', '-9007199254740993', '9007199254740993', '-1'],
  UINT64: ['0', '18446744073709551615', '9223372036854775809', '9007199254740993', '1', '2'],
  INT32: ['0', '-2147483648', '2147483647', '-1', '1', '2'], UINT32: ['0', '4294967295', '2147483648', '1', '2', '3'],
  INT16: ['0', '-32768', '32767'], UINT16: ['0', '65535', '1'], INT8: ['0', '-128', '127'], UINT8: ['0', '255', '1'],
};
const copied = (type) => {
  const count = values[type].length;
  const numbers = (number) => Array(count).fill(number).join(', ');
  return `{"resources": {"x": {"initialValuesDataType": "${type}", "initialValues": [${values[type]}]},
  "y": {"initialValuesDataType": "${type}", "initialValues": [${numbers(0)}]}},
  "dispatchables": {"copy": {"type": "SLICE1", "desc": {"InputTensor": {"DataType": "${type}", "Sizes": [${count}]},
    "OutputTensor": {"DataType": "${type}", "Sizes": [${count}]}, "DimensionCount": 1, "InputWindowOffsets": [0],
    "InputWindowSizes": [${count}], "InputWindowStrides": [1]}}},
  "commands": [{"type": "dispatch", "dispatchable": "copy", "bindings": {"InputTensor": "x", "OutputTensor": "y"}},
    {"type": "print", "resource": "y"}]}`;
};

const tests = {
  async 'the page opens on a model that three levels make legal step by step'(tab, { fresh }) {
    const first = await fresh();
    assert.equal(await first.locator('.strip .accepted').last().textContent(), '6_4');
    const steps = (await first.locator('.violations li').allTextContents()).map((text) => /Accepted from feature level (\S+)\./.exec(text)[1]);
    assert.ok(new Set(steps).size >= 3, String(steps));
    assert.equal(await first.locator('#run-note').textContent(), '');
    assert.ok((await first.locator('#printed pre').textContent()).length > 0);
    assert.equal(await first.locator('#model').inputValue(), exampleText(await first.locator('#examples').inputValue()));
    const about = await first.locator('#about').textContent();
    assert.ok(about.length > 60 && about.startsWith(await first.locator('#examples option:checked').textContent()), about);
    await type(first, '{');
    assert.equal(await first.locator('#about').textContent(), '');
    await first.context().close();
  },

  async 'examples are chosen by what they show'(tab) {
    const shown = await tab.locator('#examples option').evaluateAll((options) =>
      options.map(({ value, textContent, parentElement: { label } }) => ({ value, text: textContent, label })));
    assert.deepEqual(shown.map(({ value }) => value).sort(), examples);
    assert.equal(new Set(shown.map(({ text }) => text)).size, examples.length);
    for (const { value, text, label } of shown) {
      assert.match(text, /^[A-Z0-9].{20,98}\.$/, value);
      const model = exampleText(value);
      assert.ok(model.replace(/\s*\/\/\s*/g, ' ').startsWith(`{ ${text}`), `${value}: ${text}`);
      assert.ok(label === 'Several operators' || model.includes(`"DML_OPERATOR_${label}"`) || model.includes(`"${label}"`), `${value}: ${label}`);
    }
  },

  async 'nothing of a model stays when the next cannot be used'(tab) {
    await type(tab, exampleText('slice_row.json').replace(/("InputTensor": \{[^}]*"Sizes": )\[[^\]]*\]/, '$1[1, 1, 1, 1]'));
    assert.match(await tab.locator('#run-note').textContent(), /^Not run: an operator is refused/);
    await type(tab, '{');
    assert.match(await tab.locator('.failure').textContent(), /line 1/);
    for (const part of ['#run-note', '#printed', '#files']) assert.equal(await tab.locator(part).textContent(), '', part);
  },

  async 'violations of lower levels stand below a heading that says so'(tab) {
    for (const [name, level] of [['slice1_feature_level.json', '4_1'], ['mvn1_axes.json', '3_1'], ['slice_row.json', null]]) {
      await choose(tab, name);
      assert.deepEqual(await tab.locator('.card h3', { hasText: 'Below' }).allTextContents(), level ? [`Below ${level}`] : [], name);
      assert.equal(await tab.locator('.card h3 + .violations').count(), level ? 1 : 0, name);
      assert.equal(await tab.locator('.card .violations').count(), level ? 1 : 0, name);
    }
    // Refused everywhere: what the latest level refuses comes first.
    await type(tab, exampleText('slice1_feature_level.json').replace(/"InputWindowOffsets": \[[^\]]*\]/, '"InputWindowOffsets": [9, 9, 9]'));
    const latest = JSON.parse(dmlref('validate', await tab.locator('#model').inputValue(), '--json').out).operators[0].levels.at(-1);
    const lists = await tab.locator('.violations').evaluateAll((found) => found.map((list) => [...list.children].map((one) => one.textContent)));
    assert.equal(lists.length, 2);
    assert.equal(lists[0].length, latest.violations.length);
    latest.violations.forEach(({ message }, i) => assert.ok(lists[0][i].startsWith(message), message));
    assert.ok(lists[0].every((text) => text.includes('No level accepts it')) && lists[1].every((text) => text.includes('Accepted from')));
    assert.deepEqual(await tab.locator('.card h3').allTextContents(), ['Below 4_1']);
    await tab.locator('.strip button').first().click();
    assert.equal(await tab.locator('.card h3').count(), 0);
    await tab.locator('.strip button').first().click();
  },

  async 'cells show whole values of every type, as the command prints them'(tab) {
    for (const kind of Object.keys(values)) {
      await type(tab, copied(kind));
      const { status, out, err } = dmlref('run', await tab.locator('#model').inputValue());
      assert.equal(status, 0, err);
      const printed = out.replace("Resource 'y': ", '').split(', ');
      for (const grid of await tab.locator('figure.grid').all()) assert.deepEqual(await grid.locator('td').allTextContents(), printed, kind);
      assert.equal(await tab.locator('#printed pre').textContent(), out);
      assert.deepEqual(await cutOff(tab), [], kind);
    }
    for (const name of examples) {
      await choose(tab, name);
      assert.deepEqual(await cutOff(tab), [], name);
    }
    // Numbers of rows and columns, too.
    await type(tab, exampleText('slice_row.json').replace(/("(?:Input|Output)Tensor": \{[^}]*"Sizes": )\[[^\]]*\]/g, '$1[1, 1, 1, 4294967295]'));
    await tab.getByLabel('first column').first().fill('4294967000');
    await tab.waitForFunction(() => [...document.querySelectorAll('.grid th')].some((cell) => cell.textContent === '4294967000'));
    assert.deepEqual(await cutOff(tab), []);
  },

  async 'every example has the command’s verdicts and results'(tab) {
    for (const name of examples) {
      await choose(tab, name);
      const text = exampleText(name);
      for (const { dispatchable, levels } of JSON.parse(dmlref('validate', text, '--json').out).operators) {
        const shown = await tab.locator(`[data-name="${dispatchable}"] .strip button`).evaluateAll((buttons) =>
          buttons.map((button) => [button.textContent, button.className]));
        // The command names ranges: the first and last level of each.
        for (const { from, to, accepted } of levels) {
          for (const end of [from, to]) {
            assert.ok(shown.some(([level, kind]) => level === end && kind === (accepted ? 'accepted' : 'refused')), `${name} ${end}`);
          }
        }
        assert.equal(shown.length, 15, name);
      }
      const printed = await tab.locator('#printed pre').allTextContents();
      const ran = dmlref('run', text);
      if (ran.status === 0) assert.equal(printed.join('\n'), ran.out, name);
      else assert.match(await tab.locator('#run-note').textContent(), /^Not run/, name);
    }
  },

  async 'every output that is downloaded has the command’s bytes'(tab) {
    for (const name of examples) {
      await choose(tab, name);
      const buttons = tab.getByRole('button', { name: 'Download the output as .npy' });
      for (let i = 0; i < (await buttons.count()); ++i) {
        const card = tab.locator('section.card').nth(i);
        const dispatchable = await card.getAttribute('data-name');
        const [file] = await Promise.all([tab.waitForEvent('download'), buttons.nth(i).click()]);
        // The same model, which writes that output itself.
        const output = new RegExp(`"dispatchable": "${dispatchable}"[^]*?"OutputTensor": "(\\w+)"`).exec(exampleText(name))[1];
        const text = exampleText(name).replace(/"type": "print"[^}]*/g, `"type": "print", "resource": "${output}"`);
        const end = text.lastIndexOf(']');
        const writing = `${text.slice(0, end).trimEnd()}, {"type": "writeFile", "resource": "${output}", "targetPath": "out.npy"}]}`;
        const ran = dmlref('run', writing);
        assert.equal(ran.status, 0, ran.err);
        assert.deepEqual(readFileSync(await file.path()), readFileSync(join(folder, 'out.npy')), `${name} ${dispatchable}`);
      }
    }
  },

  async 'an element explains itself as the command does'(tab) {
    for (const name of ['slice1_reversed.json', 'qlc_padding.json', 'mvn1_axes.json']) {
      await choose(tab, name);
      const card = tab.locator('section.card').first();
      await card.locator('figure.grid').last().locator('td').nth(1).click();
      await tab.waitForFunction(() => !document.querySelector('.how').textContent.startsWith('Choose'));
      const at = /^\[([^\]]*)\]/.exec(await card.locator('figure.grid').last().locator('td').nth(1).getAttribute('aria-label'))[1];
      const { out } = dmlref('explain', exampleText(name), '--dispatchable', await card.getAttribute('data-name'), '--element', at.replaceAll(' ', ''));
      assert.equal((await card.locator('.how').textContent()).trimEnd(), out, name);
    }
  },

  async 'a refused value is underlined and named'(tab) {
    await type(tab, exampleText('slice1_window.json').replace('"InputWindowStrides": [', '"InputWindowStrides": [0, '));
    const text = await tab.locator('#model').inputValue();
    const expected = dmlref('validate', text, '--json');
    assert.equal(expected.status, 2);
    assert.match(await tab.locator('.failure').textContent(), /InputWindowStrides/);
    assert.equal(await tab.locator('.behind mark').count(), 1);
    await choose(tab, 'slice1_feature_level.json');
    await tab.locator('.strip button').first().click();
    assert.ok((await tab.locator('.violations li').count()) > 0);
    assert.ok((await tab.locator('.behind mark').count()) > 0);
  },

  async 'broken text gives a message with its place'(tab) {
    for (const text of ['', '{', '{"resources": }', 'x'.repeat(10000), '[[[[', '{"dispatchables": {"a": {"type": "NONE"}}}', '\u0000', '{"a":1,"a":2}']) {
      await type(tab, text);
      const shown = await tab.locator('.failure').textContent();
      const lines = dmlref('validate', text, '--json').err.replace(/\s+/g, ' ');
      assert.ok(lines.includes(shown.replace(/ ?show$/, '').trim().slice(0, 80)), `${JSON.stringify(text.slice(0, 40))}: ${shown}`);
    }
  },

  async 'huge sizes are validated, and not run'(tab) {
    const text = exampleText('slice_row.json').replace(/("(?:Input|Output)Tensor": \{[^}]*"Sizes": )\[[^\]]*\]/g, '$1[1, 1, 30000, 30000]')
      .replace(/"Sizes": \[\d[^\]]*\],\n( *)"Strides"/, '"Sizes": [1, 1, 30000, 30000],\n$1"Strides"');
    await type(tab, text);
    assert.match(await tab.locator('#run-note').textContent(), /^Not run: /);
  },

  async 'a dropped file becomes the input'(tab) {
    await choose(tab, 'slice_row.json');
    const model = exampleText('slice_row.json');
    const resource = /"InputTensor": "(\w+)"/.exec(model)[1];
    const before = await tab.locator('#printed pre').textContent();
    const kind = /"initialValuesDataType": "(\w+)"/.exec(model)[1];
    assert.equal(kind, 'FLOAT32');
    const file = join(folder, 'dropped.npy');
    writeFileSync(file, writeNpy('FLOAT32', [64], new Float32Array(64).map((_, i) => 1000 + i)));
    await tab.locator('summary', { hasText: 'Files for resources' }).click();
    await tab.getByLabel(`A file for ${resource}`).setInputFiles(file);
    await done(tab);
    const text = await tab.locator('#model').inputValue();
    assert.match(text, /"sourcePath": "dropped.npy"/);
    const after = await tab.locator('#printed pre').textContent();
    assert.notEqual(after, before);
    assert.equal(after, dmlref('run', text).out);
    const picture = join(folder, 'picture.png');
    await choose(tab, 'picture_pipeline.json');
    await tab.getByLabel('A file for picture', { exact: true }).setInputFiles(picture);
    await done(tab);
    assert.equal(await tab.locator('#run-note').textContent(), '');
    assert.ok((await tab.locator('.picture canvas').count()) > 2);
  },

  async 'a link holds the model'(tab, { browser }) {
    await choose(tab, 'qlc_padding.json');
    await tab.locator('#share').click();
    await tab.waitForFunction(() => location.hash.startsWith('#model='));
    const other = await open(browser, tab.url());
    assert.equal(await other.locator('#model').inputValue(), exampleText('qlc_padding.json'));
    assert.deepEqual(other.complaints, []);
    await other.goto(tab.url().replace(/#.*/, '#model=AAAA'));
    await other.reload();
    await done(other);
    assert.deepEqual(other.complaints, []);
    await other.context().close();
  },

  async 'the C++ of every example compiles'(tab) {
    const texts = [];
    for (const name of examples) {
      await choose(tab, name);
      for (const summary of await tab.locator('summary', { hasText: 'As C++' }).all()) await summary.click();
      await tab.waitForFunction(() => document.querySelectorAll('.code').length === 2 * document.querySelectorAll('.card').length);
      texts.push(...(await tab.locator('.code').allTextContents()));
    }
    const blocks = texts.map((text, i) => `namespace block_${i} {\n${text.replace(/^#include.*$/gm, '')}\n}`);
    const source = join(folder, 'blocks.cpp');
    writeFileSync(source, `#define DMLREF_SEPARATE\n#include <dmlref/dmlref.hpp>\n#include <dmlref/directml.hpp>\n#include <limits>\n${blocks.join('\n')}`);
    execFileSync('g++', ['-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Werror', '-Wno-unused', `-I${join(root, 'include')}`, source], { stdio: 'inherit' });
  },

  async 'grids answer to the keyboard'(tab) {
    await choose(tab, 'qlc_padding.json');
    const grid = tab.locator('figure.grid').last();
    await grid.locator('td').first().focus();
    await tab.keyboard.press('ArrowRight');
    assert.match(await tab.evaluate(() => document.activeElement.getAttribute('aria-label')), /^\[0, 0, 0, 1\]/);
    await tab.keyboard.press('Enter');
    await tab.waitForFunction(() => !document.querySelector('.how').textContent.startsWith('Choose'));
  },

  async 'a phone needs no sideways scrolling'(tab) {
    await tab.setViewportSize({ width: 390, height: 800 });
    for (const name of examples) {
      await choose(tab, name);
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name}: ${wide} px too wide`);
    }
    await tab.setViewportSize({ width: 1280, height: 900 });
  },
};

async function pictures(browser, address) {
  for (const colorScheme of ['light', 'dark']) {
    const tab = await open(browser, address, { colorScheme });
    for (const name of ['slice1_reversed.json', 'qlc_padding.json', 'mvn1_group_strides.json', 'slice1_feature_level.json', 'picture_pipeline.json']) {
      await choose(tab, name);
      await tab.screenshot({ path: join(screenshots, `${name.replace('.json', '')}-${colorScheme}.png`), fullPage: true });
    }
    await tab.context().close();
  }
  const phone = await open(browser, address, { viewport: { width: 390, height: 800 } });
  await phone.screenshot({ path: join(screenshots, 'phone.png'), fullPage: true });
  await phone.context().close();
}

const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(readFileSync(page)));
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const browser = await launch();
let failed = 0;
for (const address of [pathToFileURL(page).href, `http://127.0.0.1:${server.address().port}/`]) {
  const start = performance.now();
  const tab = await open(browser, address);
  console.log(`${address.slice(0, 4)}: first verdict after ${Math.round(performance.now() - start)} ms, page of ${statSync(page).size} bytes`);
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test(tab, { browser, fresh: () => open(browser, address) });
      assert.deepEqual(tab.complaints, [], 'the console is empty');
      console.log(`  ok ${name}`);
    } catch (error) {
      ++failed;
      tab.complaints.length = 0;
      console.log(`  FAILED ${name}\n${error.stack}`);
    }
  }
  await tab.context().close();
}
if (screenshots) await pictures(browser, pathToFileURL(page).href);
await browser.close();
server.close();
console.log(failed ? `${failed} failed` : 'all passed');
process.exit(failed ? 1 : 0);
