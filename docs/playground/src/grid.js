// grid.js: a plane of a tensor as a table: the last two dimensions are rows and columns, the others are chosen.
import { element } from './dom.js';

const shown = 24; // rows and columns; more is sampled
const cellHeight = 28; // px, as in style.css
const leastWidth = 46; // px
const font = '12px/1 ui-monospace, monospace';
let digitWidth = 0; // px

/** A cell's width that shows this text whole. */
function widthOf(text) {
  if (digitWidth === 0) {
    const context = document.createElement('canvas').getContext('2d');
    context.font = font;
    digitWidth = context.measureText('0').width;
  }
  return Math.max(leastWidth, Math.ceil(text.length * digitWidth) + 7); // padding, border, and a pixel
}

/**
 * options: title, sizes, names (of dimensions), text(coordinates), look(coordinates) -> {kind, note}, pick(coordinates),
 * from and to: the first and one past the last row and column, where padding is shown; arrows() -> [[r, c], [r, c]] pairs.
 */
export class Grid {
  #options;
  #rank;
  #lead;
  #origin;
  #width = 0; // of a cell; it only grows, so that nothing jumps
  #table = element('table', { role: 'grid', style: `font: ${font}` });
  #arrows = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  #body = element('div', { class: 'cells' });
  root = element('figure', { class: 'grid' });

  constructor(options) {
    this.#options = options;
    this.#rank = options.sizes.length;
    this.#lead = options.sizes.slice(0, Math.max(this.#rank - 2, 0)).map(() => 0);
    this.#origin = [this.#range(0)[0], this.#range(1)[0]];
    this.#arrows.setAttribute('class', 'arrows');
    this.#arrows.setAttribute('aria-hidden', 'true');
    this.#body.append(this.#table, this.#arrows);
    this.root.append(element('figcaption', {}, options.title), this.#choices(), this.#body);
    this.#table.addEventListener('keydown', (event) => this.#move(event));
    this.#build();
  }

  /** Rows (0) or columns (1): [first, past the last). */
  #range(axis) {
    const dimension = this.#rank - 2 + axis;
    const size = dimension < 0 ? 1 : this.#options.sizes[dimension];
    return [this.#options.from?.[axis] ?? 0, this.#options.to?.[axis] ?? size];
  }

  coordinates(row, column) {
    return this.#rank === 1 ? [column] : [...this.#lead, row, column];
  }

  get lead() {
    return this.#lead;
  }

  /** Shows the plane that holds this element. */
  show(coordinates) {
    coordinates.slice(0, this.#lead.length).forEach((at, d) => (this.#lead[d] = at));
    for (const input of this.root.querySelectorAll('input[data-lead]')) input.value = this.#lead[input.dataset.lead];
    this.update();
  }

  #number(label, value, least, most, change) {
    const input = element('input', { type: 'number', min: least, max: most, value, 'aria-label': label });
    input.addEventListener('input', () => {
      const wanted = Math.trunc(Number(input.value));
      if (wanted >= least && wanted <= most) change(wanted);
    });
    return [element('label', {}, `${label} `, input), input];
  }

  #choices() {
    const { sizes, names } = this.#options;
    const line = element('div', { class: 'choices' });
    this.#lead.forEach((at, d) => {
      if (sizes[d] === 1) return;
      const [label, input] = this.#number(names?.[d] ?? `dimension ${d}`, at, 0, sizes[d] - 1, (wanted) => {
        this.#lead[d] = wanted;
        this.update();
        this.#options.planeChanged?.(this.#lead);
      });
      input.dataset.lead = d;
      line.append(label);
    });
    ['row', 'column'].forEach((word, axis) => {
      const [first, end] = this.#range(axis);
      if (end - first <= shown) return;
      const [label] = this.#number(`first ${word}`, first, first, end - shown, (wanted) => {
        this.#origin[axis] = wanted;
        this.#build();
      });
      line.append(label, element('span', { class: 'note' }, `${shown} of ${end - first} ${word}s are shown`));
    });
    return line;
  }

  #build() {
    const indices = [0, 1].map((axis) => {
      const end = Math.min(this.#range(axis)[1], this.#origin[axis] + shown);
      return Array.from({ length: end - this.#origin[axis] }, (_, i) => this.#origin[axis] + i);
    });
    const [rows, columns] = indices;
    const head = element('tr', {}, element('th', {}));
    for (const column of columns) head.append(element('th', { scope: 'col' }, String(column)));
    this.#table.replaceChildren(head);
    for (const row of rows) {
      const line = element('tr', {}, element('th', { scope: 'row' }, this.#rank === 1 ? '' : String(row)));
      for (const column of columns) {
        const cell = element('td', { tabindex: '-1', 'data-row': row, 'data-column': column });
        cell.addEventListener('pointerenter', () => this.#options.point?.(this.coordinates(row, column)));
        cell.addEventListener('click', () => this.#choose(cell));
        cell.addEventListener('focus', () => this.#options.point?.(this.coordinates(row, column)));
        line.append(cell);
      }
      this.#table.append(line);
    }
    const first = this.#table.querySelector('td');
    if (first) first.tabIndex = 0;
    this.update();
  }

  #choose(cell) {
    for (const other of this.#table.querySelectorAll('td[tabindex="0"]')) other.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
    this.#options.pick?.(this.coordinates(Number(cell.dataset.row), Number(cell.dataset.column)));
  }

  #move(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const cell = event.target.closest('td');
    if (!cell) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.#choose(cell);
    }
    if (!step) return;
    event.preventDefault();
    const row = Number(cell.dataset.row) + step[0];
    const column = Number(cell.dataset.column) + step[1];
    const next = this.#table.querySelector(`td[data-row="${row}"][data-column="${column}"]`);
    if (!next) return;
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  update() {
    const cells = this.#table.querySelectorAll('td');
    for (const cell of cells) {
      const at = this.coordinates(Number(cell.dataset.row), Number(cell.dataset.column));
      const { kind = '', note = '', hue } = this.#options.look?.(at) ?? {};
      const text = this.#options.text(at);
      cell.textContent = text;
      cell.className = kind;
      cell.style.setProperty('--hue', hue ?? '');
      cell.setAttribute('aria-label', `[${at.join(', ')}] ${text} ${note}`.trim());
      cell.title = `[${at.join(', ')}] ${note}`.trim();
    }
    const texts = [...this.#table.querySelectorAll('th'), ...cells].map((cell) => cell.textContent);
    this.#width = Math.max(this.#width, ...texts.map(widthOf));
    this.#table.style.setProperty('--cell-width', `${this.#width}px`);
    this.#drawArrows();
  }

  #drawArrows() {
    const arrows = this.#options.arrows?.(this.#lead) ?? [];
    const [firstRow, firstColumn] = this.#origin;
    const inside = ([row, column]) =>
      row >= firstRow && row < firstRow + shown && column >= firstColumn && column < firstColumn + shown;
    // Below the numbers along a row, left of them along a column.
    const place = ([row, column], along) =>
      [(column - firstColumn + (along ? 1.5 : 1.12)) * this.#width, (row - firstRow + (along ? 1.85 : 1.5)) * cellHeight];
    const lines = arrows.filter((pair) => pair.every(inside)).map(([from, to]) => {
      const along = from[0] === to[0];
      const [x1, y1] = place(from, along);
      const [x2, y2] = place(to, along);
      const back = Math.sign(x2 - x1) * 7 || 0;
      const tip = x1 === x2 ? `M${x2 - 4},${y2 - Math.sign(y2 - y1) * 7} L${x2},${y2} L${x2 + 4},${y2 - Math.sign(y2 - y1) * 7}`
        : `M${x2 - back},${y2 - 4} L${x2},${y2} L${x2 - back},${y2 + 4}`;
      return `<path d="M${x1},${y1} L${x2},${y2} ${tip}"/>`;
    });
    this.#arrows.innerHTML = lines.join('');
  }
}
