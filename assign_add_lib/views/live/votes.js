// Votes for the answers, drawn: each group's as a wave over them, and beneath the waves their sum, the logits.
import { draw } from "./elements.js";
import { largest } from "./network.js";

const ROW = 27, BARS = 110, LEFT = 45; // of a drawing in which an answer is 10 wide

/** An empty drawing for the votes of these groups. */
export const votesDrawing = (groups, N) => draw("svg", { class: "bars votes", viewBox: `0 0 ${LEFT + 10 * N} ${ROW * groups + BARS + 40}`, role: "img" });

/** Draw the votes of groups, {k, on, votes (N,)}, each as far from its mean, and the logits (N,) that they add up to. */
export function drawVotes(drawing, groups, logits) {
  const answer = largest(logits), bottom = ROW * groups.length + BARS + 12, at = (q) => LEFT + 10 * q;
  const waves = groups.map(({ votes }) => votes.map((vote) => vote - votes.reduce((sum, each) => sum + each, 0) / votes.length));
  const strongest = Math.max(...waves.flatMap((wave) => Array.from(wave, Math.abs)), 1e-9);
  const least = Math.min(...logits), most = Math.max(...logits, least + 1e-9);
  drawing.setAttribute("aria-label", `Votes of ${groups.length} groups for ${logits.length} answers, and their sum, which is largest for ${answer}`);
  drawing.replaceChildren(
    draw("line", { x1: at(answer), x2: at(answer), y1: 0, y2: bottom }),
    ...groups.flatMap(({ k, on }, row) => {
      const middle = ROW * (row + 0.5), points = Array.from(waves[row], (vote, q) => `${at(q)},${(middle - (0.7 * ROW * vote) / strongest).toFixed(1)}`);
      return [draw("text", { class: "name", x: LEFT - 13, y: middle + 6 }, String(k)), draw("polyline", { class: on ? "" : "off", points: points.join(" ") })];
    }),
    ...Array.from(logits, (logit, q) => {
      const height = 3 + ((BARS - 3) * (logit - least)) / (most - least);
      return draw("rect", { class: q === answer ? "said" : "", x: at(q) - 3.5, width: 7, y: bottom - height, height });
    }),
    draw("text", { x: at(answer), y: bottom + 20 }, String(answer)),
  );
}
