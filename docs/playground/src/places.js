// places.js: where a JSON path of a message stands in the text.
import { findNodeAtLocation, parseTree } from 'jsonc-parser';

const tolerant = { allowTrailingComma: true };

/** "$.a[1]["b c"]" as ["a", 1, "b c"]; null where it is no path. */
export function segments(path) {
  if (!path.startsWith('$')) return null;
  const found = [];
  const step = /\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;
  step.lastIndex = 1;
  while (step.lastIndex < path.length) {
    const match = step.exec(path);
    if (!match) return null;
    found.push(match[1] ?? (match[2] !== undefined ? Number(match[2]) : JSON.parse(match[3])));
  }
  return found;
}

/** The tree of a text that may have faults. */
export const tree = (text) => parseTree(text, [], tolerant);

function child(node, key) {
  const found = findNodeAtLocation(node, [key]);
  if (found) return found;
  // {"Type": ..., "Desc": {...}} holds the members of what it wraps.
  for (const wrapper of ['Desc', 'desc']) {
    const inner = node.type === 'object' && findNodeAtLocation(node, [wrapper]);
    if (inner) return child(inner, key);
  }
  return undefined;
}

/** The deepest value that the path names: {start, end}, or null. */
export function placeOf(text, path) {
  const steps = segments(path);
  let node = tree(text);
  if (!steps || !node) return null;
  for (const step of steps) {
    const next = child(node, step);
    if (!next) break;
    node = next;
  }
  // A whole object is marked at its key: its text would be the screen's.
  const marked = node.type === 'object' && node.parent?.type === 'property' ? node.parent.children[0] : node;
  if (marked.type === 'object') return { start: marked.offset, end: marked.offset + 1 };
  return { start: marked.offset, end: marked.offset + marked.length };
}

/** The place of "line L, column C". */
export function placeOfLine(text, line, column) {
  let start = 0;
  for (let i = 1; i < line; ++i) {
    const end = text.indexOf('\n', start);
    if (end < 0) break;
    start = end + 1;
  }
  start = Math.min(start + column - 1, Math.max(text.length - 1, 0));
  return { start, end: Math.min(start + 1, text.length) };
}
