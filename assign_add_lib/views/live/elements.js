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

/** Do something once the reader comes near an element. */
export function onceNear(element, todo) {
  const near = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    near.disconnect();
    todo();
  }, { rootMargin: "300px" });
  near.observe(element);
}

/** A slider with its name before it and its value behind it; `told` is called with the value when the reader moves it. */
export function slider(name, { least, most, step = 1, value, says = String }, told) {
  const input = make("input", { type: "range", min: least, max: most, step }), output = make("output", { "aria-live": "off" });
  const tell = () => {
    output.textContent = says(input.valueAsNumber);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  const root = make("label", { class: "slider" }, make("span", { text: name }), input, output);
  input.addEventListener("input", () => {
    tell();
    told(input.valueAsNumber);
  });
  const set = (to) => {
    input.value = to;
    tell();
  };
  set(value);
  return { root, set };
}
