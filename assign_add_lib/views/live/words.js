// What is said of an answer, by a page and, before its script has run, by `explorer.says`.
import { make } from "./elements.js";
import { largest } from "./network.js";

const share = (value) => (value >= 0.995 ? "above 0.99" : value < 0.005 ? "below 0.01" : value.toFixed(2));

/** What a network says, from the probabilities of all answers; `right` is the answer, if there is one. */
export function saying(odds, right) {
  const answer = largest(odds);
  const so = right === null ? "." : answer === right ? ": right." : `; right is ${right} (probability ${share(odds[right])}).`;
  return ["the network says ", make("strong", { text: String(answer) }), `, with probability ${share(odds[answer])}${so}`];
}
