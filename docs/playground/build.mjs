// build.mjs: makes one file of the page, which works from a folder as from a server.
//   node build.mjs FOLDER-OF-dmlref.js-AND-dmlref.wasm OUT.html
import { build } from 'esbuild';
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const examples = join(here, '../../examples');
const [command, out] = process.argv.slice(2);
if (!command || !out) {
  console.error('usage: node build.mjs FOLDER-OF-dmlref.js-AND-dmlref.wasm OUT.html');
  process.exit(2);
}

const models = {
  name: 'examples',
  setup(run) {
    run.onResolve({ filter: /^virtual:examples$/ }, () => ({ path: 'examples', namespace: 'examples' }));
    run.onLoad({ filter: /.*/, namespace: 'examples' }, () => {
      const names = readdirSync(examples).filter((name) => name.endsWith('.json')).sort();
      const texts = Object.fromEntries(names.map((name) => [name, readFileSync(join(examples, name), 'utf8')]));
      return { contents: JSON.stringify(texts), loader: 'json' };
    });
  },
};

async function bundle(entry, format) {
  const result = await build({
    entryPoints: [join(here, 'src', entry)], bundle: true, format, minify: true, write: false, charset: 'utf8',
    target: 'es2022', mainFields: ['module', 'main'], plugins: [models] });
  return result.outputFiles[0].text;
}

// Nothing inside a script element may look like its end.
const quiet = (text) => text.replaceAll('</', '<\\/').replaceAll('<!--', '<\\u0021--');
const worker = readFileSync(join(command, 'dmlref.js'), 'utf8') + '\n' + (await bundle('worker.js', 'iife'));
const page = await bundle('page.js', 'esm');
const put = (html, mark, text) => html.replace(mark, () => text);
const filled = (id, text) => [`id="${id}">`, `id="${id}">${text}`];

let html = readFileSync(join(here, 'index.html'), 'utf8');
html = put(html, '/*style*/', readFileSync(join(here, 'style.css'), 'utf8'));
html = put(html, ...filled('wasm-bytes', readFileSync(join(command, 'dmlref.wasm')).toString('base64')));
html = put(html, ...filled('worker-text', quiet(JSON.stringify(worker))));
html = put(html, ...filled('picture-bytes', readFileSync(join(examples, 'picture.png')).toString('base64')));
html = put(html, '/*page*/', quiet(page));
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, html);
console.log(`${out}: ${html.length} bytes`);
