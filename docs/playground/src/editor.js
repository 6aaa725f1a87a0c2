// editor.js: a text area that underlines places. The text shines through from a copy behind it, which has the marks.
import { element } from './dom.js';

export class Editor {
  #area = element('textarea', {
    id: 'model', spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', wrap: 'off', 'aria-label': 'Model, as DxDispatch JSON' });
  #behind = element('pre', { class: 'behind', 'aria-hidden': 'true' });
  #places = [];
  root = element('div', { class: 'editor' }, this.#behind, this.#area);

  constructor(changed) {
    this.#area.addEventListener('input', () => {
      this.#places = [];
      this.#paint();
      changed();
    });
    this.#area.addEventListener('scroll', () => this.#follow());
    this.#area.addEventListener('keydown', (event) => {
      // Tab leaves the editor, as everywhere; two blanks are what indents.
      if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return;
      const before = this.text.slice(0, this.#area.selectionStart);
      const indent = /[ \t]*/.exec(before.slice(before.lastIndexOf('\n') + 1))[0];
      if (indent === '') return;
      event.preventDefault();
      this.#area.setRangeText(`\n${indent}`, this.#area.selectionStart, this.#area.selectionEnd, 'end');
      this.#area.dispatchEvent(new Event('input'));
    });
  }

  get text() {
    return this.#area.value;
  }
  set text(text) {
    this.#area.value = text;
    this.#places = [];
    this.#paint();
  }

  /** Underlines these: [{start, end}]. */
  mark(places) {
    this.#places = places.filter(Boolean).sort((a, b) => a.start - b.start);
    this.#paint();
  }

  /** Shows and selects a place. */
  select({ start, end }) {
    const line = this.text.slice(0, start).split('\n').length - 1;
    this.#area.focus();
    this.#area.setSelectionRange(start, end);
    this.#area.scrollTop = Math.max(line - 5, 0) * parseFloat(getComputedStyle(this.#area).lineHeight);
    this.#follow();
  }

  #follow() {
    this.#behind.scrollTop = this.#area.scrollTop;
    this.#behind.scrollLeft = this.#area.scrollLeft;
  }

  #paint() {
    const parts = [];
    let at = 0;
    for (const { start, end } of this.#places) {
      if (start < at) continue;
      parts.push(this.text.slice(at, start), element('mark', {}, this.text.slice(start, end)));
      at = end;
    }
    this.#behind.replaceChildren(...parts, this.text.slice(at), '\n');
    this.#follow();
  }
}
