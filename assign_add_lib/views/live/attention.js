// Attention patterns as tables: point at a cell, tap it, or walk with the arrow keys, and a line says who reads whom.
import { make } from "./elements.js";
import { largest } from "./network.js";

const FULL = [8, 81, 156]; // the colour of a weight of 1; that of 0 is white
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -99], End: [0, 99] };

/** Give a cell the colour of a weight of attention, with letters that stand out from it. */
export function shade(cell, weight) {
  const [red, green, blue] = FULL.map((channel) => Math.round(255 + weight * (channel - 255)));
  cell.style.backgroundColor = `rgb(${red}, ${green}, ${blue})`;
  cell.style.color = weight > 0.77 ? "white" : "black"; // there white letters stand out as well as black ones
}

/** The patterns of some layers, each (query, key) row after row, over one sequence of tokens. */
export class AttentionMaps {
  #cells; // [layer][query][key], an element each
  #stops; // of each layer, the query and the key that the Tab key reaches
  #shades; // [layer][query and key], how dark each cell is, from 0 to 255
  #names = [];
  #patterns = [];

  /** `chosen(layer, query, key)` is told whenever the reader picks a cell. */
  constructor(layers, length, chosen) {
    Object.assign(this, { length, chosen, at: { layer: layers - 1, query: length - 1, key: 0 } });
    this.#stops = Array.from({ length: layers }, () => [length - 1, 0]);
    this.root = make("div", { class: "layers" });
    this.#shades = Array.from({ length: layers }, () => new Int16Array(length * length).fill(-1));
    const all = Array.from({ length }), cell = (later) => (later ? "<td></td>" : '<td role="gridcell" tabindex="-1"></td>');
    const row = (_, query) => `<tr role="row"><th scope="row" role="rowheader"></th>${all.map((_, key) => cell(key > query)).join("")}</tr>`;
    const blank = `<thead><tr role="row"><td></td>${'<th scope="col" role="columnheader"></th>'.repeat(length)}</tr></thead><tbody>${all.map(row).join("")}</tbody>`;
    this.#cells = Array.from({ length: layers }, (_, layer) => {
      const table = make("table", { class: "attention", role: "grid" });
      table.innerHTML = `<caption>Layer ${layer + 1}: how much each row reads of each column, in percent (from 10 on)</caption>${blank}`;
      const pick = ({ target }) => {
        const cell = target.closest("td[tabindex]");
        if (cell) this.chosen(layer, cell.parentElement.rowIndex - 1, cell.cellIndex - 1);
      };
      for (const event of ["pointerover", "click", "focusin"]) table.addEventListener(event, pick);
      table.addEventListener("keydown", (event) => this.#walk(event, layer));
      this.root.append(make("div", {}, table));
      return Array.from(table.tBodies[0].rows, (each) => Array.from(each.cells).slice(1));
    });
    for (const rows of this.#cells) rows.at(-1)[0].tabIndex = 0;
  }

  /** Show these patterns, on tokens of these names. */
  show(patterns, names) {
    this.#patterns = patterns;
    if (String(names) !== String(this.#names)) {
      for (const table of this.root.querySelectorAll("table")) {
        names.forEach((name, place) => {
          const [column, row] = [table.tHead.rows[0].cells[place + 1], table.tBodies[0].rows[place].cells[0]];
          column.replaceChildren(make("span", { text: name }));
          row.textContent = name;
          for (const head of [column, row]) head.classList.toggle("pad", name === "PAD");
        });
      }
      this.#names = names;
    }
    this.#cells.forEach((rows, layer) => rows.forEach((row, query) => {
      for (let key = 0; key <= query; key++) {
        const spot = query * this.length + key, weight = patterns[layer][spot], cell = row[key], dark = Math.round(255 * weight);
        const text = weight >= 0.1 ? String(Math.round(100 * weight)) : "";
        if (cell.textContent !== text) cell.textContent = text;
        if (this.#shades[layer][spot] === dark) continue; // what is touched is laid out and painted anew
        this.#shades[layer][spot] = dark;
        shade(cell, weight);
      }
    }));
    this.#stops.forEach(([query, key], layer) => this.#label(layer, query, key));
  }

  /** Who reads whom at a cell, in words. */
  words(layer, query, key) {
    const token = (place) => `${this.#names[place]} (position ${place})`;
    return `Layer ${layer + 1}: ${token(query)} reads ${token(key)} with weight ${this.#patterns[layer][query * this.length + key].toFixed(2)}`;
  }

  #label(layer, query, key) {
    this.#cells[layer][query][key].setAttribute("aria-label", this.words(layer, query, key));
  }

  /** Let a cell stand out, and be the one of its layer that the Tab key reaches. */
  mark(layer, query, key) {
    this.#cells[this.at.layer][this.at.query][this.at.key].classList.remove("chosen");
    this.#cells[this.at.layer][this.at.query][0].parentElement.classList.remove("chosen");
    const [row, column] = this.#stops[layer], old = this.#cells[layer][row][column], cell = this.#cells[layer][query][key];
    old.tabIndex = -1;
    old.removeAttribute("aria-label");
    cell.tabIndex = 0;
    cell.parentElement.classList.add("chosen");
    cell.classList.add("chosen");
    this.#label(layer, query, key);
    this.#stops[layer] = [query, key];
    this.at = { layer, query, key };
  }

  #walk(event, layer) {
    const move = MOVES[event.key], [query, key] = this.#stops[layer], last = this.length - 1;
    if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const to = Math.min(Math.max(query + move[0], 0), last);
    this.chosen(layer, to, Math.min(Math.max(key + move[1], 0), to));
    this.#cells[layer][to][this.#stops[layer][1]].focus();
  }
}

/** Put live maps in the place of a figure's picture, from the names and the patterns [layer][query][key] that it holds as data. */
export function drawAttentionView(figure) {
  const { attention, tokens, steps } = JSON.parse(figure.querySelector("script").textContent);
  const frames = steps ? attention : [attention], last = tokens.length - 1;
  const choose = (layer, query, key) => {
    maps.mark(layer, query, key);
    reading.textContent = `${maps.words(layer, query, key)}.`;
  };
  const maps = new AttentionMaps(frames[0].length, tokens.length, choose), reading = make("p", { class: "reading" });
  const show = (frame) => maps.show(frame.map((pattern) => pattern.flat()), tokens);
  const view = figure.querySelector(".view");
  view.classList.add("live-view");
  view.replaceChildren(maps.root, reading);
  show(frames.at(-1));
  choose(frames[0].length - 1, last, largest(frames.at(-1).at(-1)[last]));
  if (steps) {
    const input = figure.querySelector("input");
    figure.querySelector(".control").hidden = false;
    input.addEventListener("input", () => {
      show(frames[input.valueAsNumber]);
      choose(maps.at.layer, maps.at.query, maps.at.key);
    });
  }
  figure.dataset.drawn = "";
}
