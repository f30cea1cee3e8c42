// The field in which a reader types a problem: what reads as one is taken at each key, and what does not is said once the reader pauses or is done.
import { make } from "./elements.js";
import { Problem, STUDY } from "./problem.js";

const LONGEST = 300; // letters
const PAUSE = 400; // milliseconds

/**
 * `told(problem)` gets each problem, and throws an Error where it does not take it.  `marked(wrong)` hears at once whether what stands there is none;
 * `said(line)` hears why, by default in `fault`.  With `loose`, a problem may ask for letters that it does not assign.  Of what comes back, `put(text)` writes without asking, and `ask(text)` asks without waiting.
 */
export function problemField(told, { marked = () => {}, said = null, loose = false } = {}) {
  const text = make("input", { type: "text", maxlength: LONGEST, spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  const root = make("label", { class: "problem" }, make("span", { text: "Problem" }), text), fault = make("p", { class: "error", role: "status" });
  const say = said ?? ((line) => (fault.textContent = line));
  let late = 0;
  const judge = (line, pause = 0) => {
    clearTimeout(late);
    text.ariaInvalid = String(Boolean(line));
    marked(Boolean(line));
    if (pause) late = setTimeout(() => say(line), pause);
    else say(line);
  };
  const take = (pause) => {
    try {
      told(Problem.parse(text.value, STUDY, loose));
      judge("");
    } catch (error) {
      judge(error.message, pause);
    }
  };
  text.addEventListener("input", () => take(PAUSE));
  text.addEventListener("change", () => take()); // the reader is done
  const put = (words) => {
    text.value = words;
    judge("");
  };
  const ask = (words) => {
    text.value = words.slice(0, LONGEST);
    take();
  };
  return { root, text, fault, put, ask };
}
