// page.js: the page. Typing asks the command for verdicts, then for results; both answer in a worker.
import examples from 'virtual:examples';
import { modify, applyEdits } from 'jsonc-parser';
import { microsoftStructs, nativeDesc } from './cpp.js';
import { download, element } from './dom.js';
import { Editor } from './editor.js';
import { Engine } from './engine.js';
import { fromFragment, toFragment } from './link.js';
import { commentOf, operators, readModel, work } from './model.js';
import { isPicture, looksLikePicture, pictureOf, pictureToNpy } from './picture.js';
import { placeOf, placeOfLine } from './places.js';
import { makeProbe, outputFile, tooMuch, valuesOf } from './probe.js';
import { see, seeMemory } from './see.js';
import { failureOf, strip, verdictsOf } from './verdicts.js';

const file = 'model.json';
const pause = 150; // ms without typing
const opening = 'slice1_feature_level.json'; // levels that refuse it, levels that accept it, a window, a result

const bytesOf = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
const inlined = (id) => document.getElementById(id).textContent;

const engine = new Engine(JSON.parse(inlined('worker-text')), bytesOf(inlined('wasm-bytes').trim()));
const dropped = { 'picture.png': bytesOf(inlined('picture-bytes').trim()) };
const $ = (id) => document.getElementById(id);
const level = { chosen: null };
let turn = 0; // the newest request; older answers are dropped
let timer = 0;

const editor = new Editor(() => {
  document.documentElement.dataset.state = 'busy';
  clearTimeout(timer);
  timer = setTimeout(refresh, pause);
});

function say(text, kind = '') {
  $('status').textContent = text;
  $('status').className = kind;
}

/** A line of the command that says where the text is wrong. */
function showFailure(line) {
  const { message, path, place } = failureOf(line, file);
  const where = path ? placeOf(editor.text, path) : place ? placeOfLine(editor.text, ...place) : null;
  editor.mark([where]);
  const button = where && element('button', { class: 'link', click: () => editor.select(where) }, 'show');
  $('results').replaceChildren(element('p', { class: 'failure', role: 'alert' }, message, ' ', button));
  say('The model cannot be used.', 'bad');
}

function showVerdicts(model, verdicts) {
  const cards = verdicts.map((verdict) => {
    const card = element('section', { class: 'card', 'data-name': verdict.name }, element('h2', {}, verdict.name, ' ',
      element('span', { class: 'operator' }, verdict.operator)));
    card.append(strip(verdict, level, {
      show: (path) => editor.select(placeOf(editor.text, path)),
      changed: (violations) => editor.mark(violations.map(({ path }) => placeOf(editor.text, path))),
    }));
    const dispatchable = model.dispatchables.find((one) => one.name === verdict.name);
    if (dispatchable) card.append(element('div', { class: 'figures' }), cpp(dispatchable), memory(dispatchable));
    return card;
  });
  editor.mark(verdicts.flatMap((verdict) => verdict.marked).map(({ path }) => placeOf(editor.text, path)));
  $('results').replaceChildren(...cards);
  const accepted = verdicts.filter((verdict) => verdict.somewhere).length;
  say(verdicts.length === 0 ? 'The model has no dispatchables.' : `${accepted} of ${verdicts.length} operators are accepted at some feature level.`,
    accepted === verdicts.length ? 'good' : 'bad');
}

function cpp(dispatchable) {
  const body = element('div');
  const details = element('details', { toggle: () => details.open && fill() }, element('summary', {}, 'As C++'), body);
  function fill() {
    const texts = [['dmlref’s desc', nativeDesc], ['Microsoft’s structs', microsoftStructs]].map(([title, make]) => {
      const text = make(dispatchable);
      return [element('h3', {}, title), element('button', { click: () => navigator.clipboard.writeText(text) }, 'Copy'),
        element('button', { click: () => download(`${dispatchable.name}.cpp`, text, 'text/plain') }, 'Download'),
        element('pre', { class: 'code' }, text)];
    });
    body.replaceChildren(...texts.flat());
  }
  return details;
}

function memory(dispatchable) {
  const body = element('div');
  const names = Object.keys(dispatchable.tensors);
  const choice = element('select', { 'aria-label': 'Tensor', change: fill }, ...names.map((name) => element('option', {}, name)));
  const details = element('details', { toggle: () => details.open && fill() }, element('summary', {}, 'Memory order'), choice, body);
  function fill() {
    body.replaceChildren(...seeMemory(dispatchable.tensors[choice.value]));
  }
  return names.length ? details : null;
}

const cardOf = (name) => $('results').querySelector(`[data-name="${CSS.escape(name)}"]`);

function showFigures(model, written, probe) {
  for (const dispatchable of model.dispatchables) {
    const figures = cardOf(dispatchable.name)?.querySelector('.figures');
    if (!figures) continue;
    const dispatch = model.dispatches.find((one) => one.dispatchable === dispatchable);
    const values = dispatch ? valuesOf(dispatch, written) : {};
    const how = element('pre', { class: 'how', 'aria-live': 'polite' }, probe ? 'Choose an element of the output to see how it comes about.' : '');
    let asked = 0;
    const explain = async (at) => {
      if (!probe) return;
      const mine = ++asked;
      const { out, err } = await engine.run(
        ['explain', file, '--dispatchable', dispatchable.name, '--element', at.join(',')], { ...probe.files, [file]: probe.text });
      if (mine === asked) how.textContent = [...out, ...err].join('\n');
    };
    figures.replaceChildren(...see(dispatchable, values, explain), how, ...results(dispatch, values, written));
  }
}

/** The output as a picture, and its file. */
function results(dispatch, values, written) {
  const bytes = dispatch && written[outputFile(dispatch)];
  if (!bytes) return [];
  const tensor = dispatch.dispatchable.tensors.OutputTensor;
  const found = [element('button', { click: () => download('output.npy', bytes) }, 'Download the output as .npy')];
  if (looksLikePicture(tensor)) {
    const canvas = pictureOf(tensor, values.OutputTensor);
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', 'The output as a picture');
    found.unshift(element('figure', { class: 'picture' }, element('figcaption', {}, 'Output as a picture'), canvas));
  }
  return found;
}

function showPrinted(lines) {
  $('printed').replaceChildren(...(lines.length ? [element('h2', {}, 'Printed'), element('pre', {}, lines.join('\n'))] : []));
}

/** Asks the command about the text. data-state of the page says whether an answer is awaited. */
async function refresh() {
  const mine = ++turn;
  const state = document.documentElement.dataset;
  state.state = 'busy';
  $('about').textContent = commentOf(editor.text);
  try {
    await answer(mine, editor.text);
  } finally {
    if (mine === turn) state.state = 'done';
  }
}

async function answer(mine, text) {
  const checked = await engine.run(['validate', file, '--json'], { [file]: text });
  if (mine !== turn) return;
  showPrinted([]);
  $('run-note').textContent = '';
  $('files').replaceChildren();
  if (checked.status === 2) return showFailure(checked.err.join(' '));
  const model = readModel(text);
  const verdicts = verdictsOf(checked.out.join('\n'), level);
  showVerdicts(model, verdicts);
  $('files').replaceChildren(...resources(model));
  const reason = !verdicts.every((verdict) => verdict.latest) ? 'an operator is refused at the latest feature level' : tooMuch(work(model));
  if (reason || model.dispatches.length === 0) {
    showFigures(model, {}, null);
    if (reason) $('run-note').textContent = `Not run: ${reason}.`;
    return;
  }
  let probe;
  try {
    probe = await makeProbe(text, model, dropped);
  } catch (error) {
    if (mine !== turn) return;
    showFigures(model, {}, null);
    $('run-note').textContent = `Not run: ${error.message}.`;
    return;
  }
  const ran = await engine.run(['run', file], { ...probe.files, [file]: probe.text }, probe.want);
  if (mine !== turn) return;
  if (ran.status !== 0) $('run-note').textContent = `Not run: ${ran.err.join(' ')}`;
  showFigures(model, ran.files, ran.status === 0 ? probe : null);
  showPrinted(ran.out);
}

/** A place to drop a file for each resource. */
function resources(model) {
  return Object.keys(model.json?.resources ?? {}).map((name) => {
    const input = element('input', {
      type: 'file', accept: '.npy,.png,.jpg,.jpeg', 'aria-label': `A file for ${name}`,
      change: () => input.files[0] && give(model, name, input.files[0]) });
    const line = element('label', {
      class: 'drop', dragover: (event) => event.preventDefault(),
      drop: (event) => {
        event.preventDefault();
        if (event.dataTransfer.files[0]) give(model, name, event.dataTransfer.files[0]);
      } }, name, ' ', input);
    return line;
  });
}

/** Makes a resource come from a file: the text says so, the file is kept until the page is left. */
async function give(model, resource, given) {
  document.documentElement.dataset.state = 'busy';
  const bytes = new Uint8Array(await given.arrayBuffer());
  let name = given.name;
  const old = model.json.resources[resource];
  if (isPicture(name)) {
    const bound = model.dispatches.flatMap((dispatch) => Object.entries(dispatch.bindings)
      .filter(([, binding]) => (binding?.name ?? binding) === resource)
      .map(([tensor]) => dispatch.dispatchable.tensors[tensor])).find((tensor) => tensor?.sizes.length === 4);
    try {
      name = `${name}.npy`;
      dropped[name] = await pictureToNpy(bytes, old.initialValuesDataType, bound?.sizes.slice(1));
    } catch (error) {
      document.documentElement.dataset.state = 'done';
      return say(`${given.name}: ${error.message}`, 'bad');
    }
  } else {
    dropped[name] = bytes;
  }
  const edits = modify(editor.text, ['resources', resource, 'initialValues'], { sourcePath: name }, { formattingOptions: { insertSpaces: true, tabSize: 2 } });
  editor.text = applyEdits(editor.text, edits);
  return refresh();
}

const firstSentence = (text) => /^.*?\.(?=\s|$)/.exec(text)?.[0] ?? text;

/** The examples by operator, each with what the comment that begins it says. */
function choices() {
  const groups = new Map([...operators, 'Several operators'].map((name) => [name, element('optgroup', { label: name })]));
  for (const [name, text] of Object.entries(examples)) {
    const types = [...new Set(readModel(text).dispatchables.map(({ type }) => type))];
    groups.get(types.length === 1 ? types[0] : 'Several operators').append(element('option', { value: name }, firstSentence(commentOf(text))));
  }
  return groups.values();
}

async function start() {
  $('editor').append(editor.root);
  $('examples').append(...choices());
  $('examples').value = opening;
  $('examples').addEventListener('change', () => {
    editor.text = examples[$('examples').value];
    refresh();
  });
  $('share').addEventListener('click', async () => {
    history.replaceState(null, '', await toFragment(editor.text));
    say('The address of this page now holds the model; files that were dropped are not part of it.');
    await navigator.clipboard?.writeText(location.href).catch(() => {});
  });
  $('save').addEventListener('click', () => download(file, editor.text, 'application/json'));
  const follow = async () => {
    try {
      const text = await fromFragment(location.hash);
      if (text !== null) editor.text = text;
      return text !== null;
    } catch (error) {
      const isLong = error instanceof RangeError;
      say(`The link is ${isLong ? `too long: ${error.message}` : 'damaged: it holds no model'}.`, 'bad');
      return false;
    }
  };
  addEventListener('hashchange', async () => {
    if (!(await follow())) return;
    $('examples').selectedIndex = -1;
    refresh();
  });
  addEventListener('dragover', (event) => event.preventDefault());
  addEventListener('drop', (event) => event.preventDefault());
  if (await follow()) $('examples').selectedIndex = -1;
  else editor.text = examples[opening];
  await refresh();
}

start();
