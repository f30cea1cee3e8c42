// One example as a card: it is shown or hidden, its x and y are chosen, its z is stepped up and down, and below stands how much it is read.
import { make } from "./elements.js";
import { answerOf } from "./rows.js";

/** A choice of a number below p, named `label` for those who do not see where it stands; `told` gets the number chosen. */
export function numberChoice(name, label, p, told) {
  const options = Array.from({ length: p }, (_, number) => make("option", { text: String(number) }));
  const select = make("select", { "aria-label": label }, ...options);
  select.addEventListener("change", () => told(Number(select.value)));
  return [make("label", { text: name }, select), select];
}

/** Weights as whole percents. */
export const percent = (weight) => `${Math.round(100 * weight)}`;

export class Card {
  /** `changed()` is called whenever the reader changes the example that the card holds. */
  constructor(place, p, changed) {
    const name = `example ${place + 1}`, part = (of, tag, attributes, ...children) => (this[of] = make(tag, attributes, ...children));
    const change = (alter) => {
      alter(this.example);
      changed();
    };
    const coordinate = (axis) => {
      const [label, select] = numberChoice(axis, `${axis} of ${name}`, p, (number) => change((example) => (example[axis] = number)));
      this[axis] = select;
      return label;
    };
    const step = (sign, words, by) => {
      const button = make("button", { type: "button", text: sign });
      button.addEventListener("click", () => change((example) => (example.by = (example.by + by) % p)));
      return (this[words] = button);
    };
    Object.assign(this, { name, p });
    part("root", "li", { class: "example" },
      make("label", { class: "shown" }, part("shown", "input", { type: "checkbox", "aria-label": `show ${name}` }), String(place + 1)),
      make("div", { class: "inputs" }, coordinate("x"), coordinate("y")),
      make("div", { class: "answer" }, make("span", { text: "z" }), step("−", "down", p - 1), part("z", "strong"), step("+", "up", 1)),
      part("wrong", "p", { class: "wrong" }),
      make("div", { class: "track" }, part("bar", "div", { class: "bar" })),
      part("whole", "p", { class: "read" }), part("parts", "p", { class: "parts" }));
    this.shown.addEventListener("change", () => change((example) => (example.shown = this.shown.checked)));
  }

  /** Show an example {x, y, by, shown}, whose z is wrong by `by`, as it is under a rule. */
  show(example, rule) {
    const right = answerOf(rule, example, this.p), z = (right + example.by) % this.p;
    this.example = example;
    [this.x.value, this.y.value, this.z.textContent, this.shown.checked] = [example.x, example.y, z, example.shown];
    this.wrong.textContent = example.by ? `✗ right is ${right}` : "";
    this.root.classList.toggle("left-out", !example.shown);
    for (const [button, way] of [[this.down, "down"], [this.up, "up"]]) button.ariaLabel = `z of ${this.name}, ${z}${example.by ? ", wrong" : ""}: one ${way}`;
  }

  /** Show how much the question reads of its x, y and z; nothing where that is not known. */
  showRead(weights) {
    const sum = weights?.reduce((total, weight) => total + weight, 0) ?? 0;
    this.bar.style.width = `${100 * sum}%`;
    this.whole.textContent = weights ? `read ${percent(sum)} %` : this.example.shown ? "" : "left out";
    this.parts.textContent = weights ? ["x", "y", "z"].map((axis, i) => `${axis} ${percent(weights[i])}`).join(" · ") : "";
  }
}
