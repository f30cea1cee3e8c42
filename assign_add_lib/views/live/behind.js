// Tables and drawings of what lies behind an answer: where = attends, what is read off its stream, and all logits round a circle.
import { shade } from "./attention.js";
import { draw, make, table } from "./elements.js";
import { largest, softmax } from "./network.js";

const STAGES = ["token and position", "after layer 1", "after layer 2's attention", "after the MLP"];
const RANGE = [-45, 65]; // of the circle: what the logits of the shipped runs stay within

/** Where = attends in each layer, from its rows of weights, with all PADs in one column: on a projector, what comes first. */
export function rowsOfEqual({ names, pad }, ids, patterns) {
  const places = [...ids.keys()], tokens = places.filter((place) => ids[place] !== pad), pads = places.filter((place) => ids[place] === pad);
  const columns = [...tokens.map((place) => names[ids[place]]), ...(pads.length ? [`${pads.length} PAD`] : [])];
  const rows = patterns.map((row) => [...tokens.map((place) => row[place]), ...(pads.length ? [pads.reduce((sum, place) => sum + row[place], 0)] : [])]);
  const drawn = table("of-equal", "Where = attends, in percent", ["", ...columns], rows.map((row, layer) => [`layer ${layer + 1}`, ...row.map((weight) => String(Math.round(100 * weight)))]));
  rows.forEach((row, layer) => row.forEach((weight, column) => shade(drawn.tBodies[0].rows[layer].cells[column + 1], weight)));
  if (pads.length) drawn.tHead.rows[0].lastChild.classList.add("pad");
  return drawn;
}

/** The likeliest answer, and the odds of the right one, if there is one, by stage of the stream at =, from the logits there. */
export function readOff({ numbers }, stages, right) {
  const rows = stages.map((logits, stage) => {
    const odds = softmax(logits, numbers), best = largest(odds);
    return [STAGES[stage], String(best), odds[best].toFixed(2), right === null ? "" : odds[right].toFixed(2)];
  });
  const caption = `The stream at = read through the unembedding; chance is ${(1 / numbers).toFixed(2)}`;
  return table("lens", caption, ["read at =", "likeliest", "its probability", "the answer's"], rows);
}

/** The logits of all numbers round a circle, and a caption. */
export function circleOf({ numbers: N }, logits, answer, right) {
  const most = Math.max(...logits), least = Math.min(...logits);
  const said = `Logits of the ${N} numbers on a circle. Longest: ${answer}.${right === null ? "" : ` The answer: ${right}.`}`;
  const drawing = draw("svg", { viewBox: "-130 -130 260 260", role: "img", "aria-label": said });
  const at = (number, radius) => [radius * Math.sin((2 * Math.PI * number) / N), -radius * Math.cos((2 * Math.PI * number) / N)];
  const radius = (logit) => 36 + (68 * (Math.min(Math.max(logit, RANGE[0]), RANGE[1]) - RANGE[0])) / (RANGE[1] - RANGE[0]);
  drawing.append(draw("circle", { r: radius(0) }));
  for (let number = 0; number < N; number++) {
    const [[x1, y1], [x2, y2]] = [at(number, 34), at(number, radius(logits[number]))], kind = number === answer ? "said" : "other";
    drawing.append(draw("line", { x1, y1, x2, y2, class: kind }));
    const named = [answer, right].includes(number), near = [answer, right].some((each) => each !== null && Math.abs(each - number) < 3);
    if (named || (number % 5 === 0 && !near)) {
      const [x, y] = at(number, 116);
      drawing.append(draw("text", { x, y: y + 4, class: kind }, number === right ? `(${number})` : String(number)));
    }
  }
  drawing.append(draw("text", { x: 0, y: 8, class: "middle" }, String(answer)));
  return [drawing, make("p", { class: "caption", text: `The ${N} logits around a circle, from ${least.toFixed(1)} to ${most.toFixed(1)}; the dotted ring is 0, in brackets stands the right answer` })];
}
