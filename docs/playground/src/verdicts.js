// verdicts.js: what `dmlref validate --json` says, and the strip of feature levels.
import { element } from './dom.js';

/** A line of exit status 2: its message, with the JSON path or [line, column] that it names. */
export function failureOf(line, file) {
  const message = line.replace(/^dmlref: /, '').replace(`${file}: `, '');
  const path = /^(\$(?:\.[\w$]+|\[\d+\]|\["(?:[^"\\]|\\.)*"\])*): /.exec(message)?.[1];
  const place = /^line (\d+), column (\d+): /.exec(message);
  return { message, path, place: place && [Number(place[1]), Number(place[2])] };
}

// In the order of the releases.
const names = ['1_0', '2_0', '2_1', '3_0', '3_1', '4_0', '4_1', '5_0', '5_1', '5_2', '6_0', '6_1', '6_2', '6_3', '6_4'];

/** One row for each level of a range. */
function expand({ from, to, accepted, violations }, path) {
  const placed = violations.map((one) => ({ ...one, path: `${path}.${one.field}` }));
  return names.slice(names.indexOf(from), names.indexOf(to) + 1).map((level) => ({ level, accepted, violations: placed }));
}

/** [{name, operator, levels: [{level, accepted, violations}], somewhere, latest, marked}]. */
export function verdictsOf(text, chosen) {
  return JSON.parse(text).operators.map(({ dispatchable, type, path, levels: ranges }) => {
    const levels = ranges.flatMap((range) => expand(range, path));
    const latest = levels.at(-1);
    const shown = levels.find(({ level }) => level === chosen.chosen) ?? latest;
    return {
      name: dispatchable, operator: type, levels, latest: latest.accepted,
      somewhere: levels.some(({ accepted }) => accepted), marked: shown.violations };
  });
}

function violation({ message, rule, available_from: from, path }, show) {
  return element('li', {}, message, ' ', element('span', { class: 'rule' }, `[${rule}]`),
    from ? ` Accepted from feature level ${from}.` : ' No level accepts it.', ' ',
    element('button', { class: 'link', click: () => show(path) }, 'show'));
}

/**
 * The violations of all levels, each once (its message may name the level): those of the latest level, those that a level
 * lifts, and the first level without any of these.
 */
function byLevel(levels) {
  const keyed = ({ violations }) => violations.map((one) => [`${one.path} ${one.rule} ${one.available_from}`, one]);
  const lasting = new Map(keyed(levels.at(-1)));
  const lifted = new Map();
  let from = levels[0].level;
  levels.forEach((row, i) => {
    for (const [key, one] of keyed(row)) {
      if (lasting.has(key)) continue;
      lifted.set(key, one);
      from = levels[i + 1].level;
    }
  });
  return { lasting: [...lasting.values()], lifted: [...lifted.values()], from };
}

/** A button for each level; below, the violations of the pressed one, or of the latest, then those of lower levels. */
export function strip(verdict, state, { show, changed }) {
  const { levels } = verdict;
  const list = element('div', { 'aria-live': 'polite' });
  const buttons = levels.map((row) => element('button', {
    class: row.accepted ? 'accepted' : 'refused', 'aria-label': `feature level ${row.level}: ${row.accepted ? 'accepted' : 'refused'}`,
    click: () => press(state.chosen === row.level ? null : row) }, row.level));
  function fill(row) {
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(levels[i] === row)));
    const first = levels.find(({ accepted }) => accepted);
    const verdictText = row ? `${row.accepted ? 'Accepted' : 'Refused'} at feature level ${row.level}.`
      : first ? `Accepted from feature level ${first.level}.` : 'Refused at every feature level.';
    const { lasting, lifted, from } = row ? { lasting: row.violations, lifted: [] } : byLevel(levels);
    const listed = (violations) => (violations.length ? element('ul', { class: 'violations' },
      ...violations.map((one) => violation(one, show))) : '');
    list.replaceChildren(
      element('p', { class: (row ?? first)?.accepted ? 'good' : 'bad' }, verdictText),
      listed(lasting), lifted.length ? element('h3', {}, `Below ${from}`) : '', listed(lifted));
  }
  function press(row) {
    state.chosen = row?.level ?? null;
    fill(row);
    changed((row ?? levels.at(-1)).violations);
  }
  fill(levels.find(({ level }) => level === state.chosen));
  return element('div', {}, element('div', { class: 'strip', role: 'group', 'aria-label': 'Feature levels' }, ...buttons), list);
}
