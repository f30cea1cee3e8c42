// Elements of a page, and of a drawing in it.

/** An element with a text, attributes and children. */
export function make(tag, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...(text === undefined ? [] : [text]), ...children);
  return element;
}

/** The same for an element of a drawing. */
export function draw(tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

const idle = window.requestIdleCallback ?? setTimeout; // which Safari lacks

/** Do something once what stands on the page now has been painted, and no key waits; asked again before that, it is done once. */
export function afterPaint(todo) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => idle(() => {
      waits = false;
      todo();
    }, { timeout: 100 }));
  };
}

/** A table with words for its columns, and rows that each begin with words of their own. */
export function table(kind, caption, columns, rows) {
  const head = make("tr", {}, ...columns.map((text) => text ? make("th", { scope: "col", text }) : make("td")));
  const body = rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row", text: name }), ...cells.map((text) => make("td", { text }))));
  return make("table", { class: kind }, make("caption", { text: caption }), make("thead", {}, head), make("tbody", {}, ...body));
}
