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

const tests = {
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
        const text = exampleText(name).replace(/"type": "print"[^}]*/g, '"type": "print", "resource": "output"');
        const output = new RegExp(`"dispatchable": "${dispatchable}"[^]*?"OutputTensor": "(\\w+)"`).exec(text)[1];
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
      assert.ok(dmlref('validate', text, '--json').err.includes(shown.replace(/ ?show$/, '').trim().slice(0, 80)), `${JSON.stringify(text.slice(0, 40))}: ${shown}`);
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
      await test(tab, { browser });
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
