"""Rules that were fixed before measuring: each has a name and a day, and says of the shipped tables what it is said to say."""

import math
from collections import Counter
from dataclasses import replace
from datetime import date
from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import fisher_exact, kendalltau, spearmanr

from assign_add_lib.analysis import delays, fourier
from assign_add_lib.analysis.phases import shortcut_level
from assign_add_lib.claims.beforehand import fixed_rules
from assign_add_lib.companions.hypernetwork import tables as hypernetwork
from assign_add_lib.companions.reasoning import analysis as reasoning
from assign_add_lib.companions.reasoning import mechanism
from assign_add_lib.companions.reasoning import seeds as reasoning_seeds
from assign_add_lib.companions.reasoning import tables as reasoning_tables
from assign_add_lib.companions.reasoning.training import TOKENS_PASS, answers
from assign_add_lib.companions.rules import data, seeds, solvers
from assign_add_lib.companions.rules import tables as rules
from assign_add_lib.companions.rules.analysis import END
from assign_add_lib.companions.rules.training import SHOTS
from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.laboratory import SEEDS, read_plan, shipped_plans
from assign_add_lib.laboratory.analysis import MEASURES, comes
from assign_add_lib.laboratory.training import StudyRun, load_world_run
from assign_add_lib.model import run
from assign_add_lib.sampling import EVALUATION_SETS, evaluation_sets
from assign_add_lib.systems import SYSTEMS
from assign_add_lib.task import KINDS, STUDY
from assign_add_lib.theory import load_table
from assign_add_lib.training import load_run, shipped_runs

RULES = fixed_rules()
WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
LEFT = (0.01, 0.03, 0.06, 0.3, 0.45, 0.6, 0.8, 0.99)  # values of r at which two seeds were not made yet


def share(found):
    return found.double().mean().item()


def sweep(name):
    return pd.read_csv(shipped_file(f"sweeps/{name}.csv")).set_index(["seed", "train_fraction", "r"])


def threshold():
    exact = sweep("train_fraction")["exact 0-var held-out"]
    low, high = exact.xs(0.22, level="train_fraction"), exact.xs(0.28, level="train_fraction")
    return "sharp" if len(low) == len(high) == 10 and low.max() < 0.5 < high.min() else "not sharp"


def near_tenth():
    misses = sweep("beside").loc[1]["1-var var-restricted"] < 0.5
    assert sorted(misses.index.get_level_values("r")) == [0.099, 0.101]
    return "no detail" if misses.all() else "a detail"


def more_often(some, others):
    """Whether more of these than of those, by Fisher's exact test."""
    counts = [[each.sum(), (~each).sum()] for each in (some, others)]
    return "more often" if fisher_exact(counts, alternative="greater").pvalue < 0.05 else "not shown"


def with_r(rows, sign, below, words):
    """Whether Kendall's tau with r is as far on this side as few shuffles of r bring it."""
    r, generator = rows.index.get_level_values("r"), np.random.default_rng(1)
    found = sign * kendalltau(r, rows).statistic
    shuffled = [sign * kendalltau(generator.permutation(r), rows).statistic for _ in range(500)]
    return words if found > 0 and sum(each >= found for each in shuffled) / 500 < below else "not shown"


def late():
    sides = [sweep(name).drop(42, level="seed").query("r in (0.1, 0.17, 1)") for name in ("r", "seed")]
    assert [len(side) for side in sides] == [18, 9]
    return more_often(*(side[["1-var train", "1-var var-restricted"]].min(axis=1) < 0.99 for side in sides))


def missing():
    """By seed and r, which runs of the r grid were not made yet and miss; and those at 1."""
    misses = [sweep(name)["1-var var-restricted"].droplevel("train_fraction") < 0.5 for name in ("r", "seed")]
    keys = [(1, r) for r in (*LEFT, 0.08, 0.13, 0.22, 0.37, 0.52, 0.7, 0.9)] + [(0, r) for r in (*LEFT, 0.9)]
    assert len(keys) == 24
    return misses[0].loc[keys], misses[1]


def late_variables():
    steps = delays.released(delays.load_branches(), delays.RELEASED).fillna(math.inf)
    usual = steps["unchanged"].min()
    came = [steps[name].max() < 0.1 * usual for name in ("itself", "read")]
    came += [steps[name].min() > 0.5 * usual for name in ("own", "aside")]
    came += [steps["asked twice as often"].max() < usual, steps["no weight decay"].min() > steps["unchanged"].max()]
    return f"{WORDS[sum(came)]} of {WORDS[len(came)]}"


def late_variables_elsewhere():
    came = []
    for (seed, name), part in delays.load_other_seeds().groupby(["seed", "branch"]):
        soon = part["step"][part[["k right", "l right"]].min(axis=1) >= delays.RELEASED].min() - delays.OTHER_STARTS[seed]
        came.append(soon <= 300 if name != "aside" else not soon <= 1500)
    assert len(came) == 12
    return "all" if all(came) else f"{sum(came)} of 12"


def self_reading_imposed():
    rows = delays.load_imposed()
    kept = {seed for seed, part in rows[rows["branch"] == "raised"].groupby("seed") if part.iloc[0, -2:].mean() >= 0.5}

    def came(seed, branch):
        part = rows[(rows["seed"] == seed) & (rows["branch"] == branch)].set_index("step")
        steps = [delays.arrival(part[place], delays.RELEASED) for place in ("k right", "l right")]
        return math.inf if None in steps else max(steps)

    said = []
    for branch, controls in (("raised", ("unchanged", "aside")), ("raised and kept", ("kept as it was",))):
        trained = [seed for seed in kept if ((rows["seed"] == seed) & (rows["branch"] == branch)).any()]
        late = sum(came(seed, branch) - max(came(seed, each) for each in controls) >= 500 for seed in trained)
        needed = min(4, len(kept) - 1)
        said.append("enough" if late >= needed else "open" if len(kept) - len(trained) + late >= needed else "not enough")
    return "; ".join(said)


def wider_vanilla():
    of, last = "out of distribution", SYSTEMS["hypernetwork"].run.open
    narrow, best = (last(f"{arm}-connected-0").metrics[of].iloc[-1] for arm in ("vanilla", "hypernetwork"))
    wide = pd.read_csv(shipped_file("companions/vanilla-wide-0.csv"))[of].iloc[-1]
    closed = (wide - narrow) / (best - narrow)
    return "width" if closed >= 2 / 3 else "not width" if closed < 1 / 3 else "open"


def errors_of_a_blend():
    cosine = hypernetwork.load_tables()["errors"].xs("cosine with the blend", level="measure")
    return "a blend" if (cosine.loc["vanilla"] - cosine.loc["hypernetwork"]).min() >= 0.1 else "no blend"


def mixtures():
    left = hypernetwork.load_tables()["mixtures"].mean(axis=1).unstack(["fitted", "tasks"])
    code, known = left["code", "held-out pairs"], left["code", "in distribution"]["vanilla"]
    if code["vanilla"] <= 2 * known:
        return "mixes"
    adds = code["vanilla"] >= 2 / 3 * code["blend"] and left["sum", "held-out pairs"]["vanilla"] < code["vanilla"]
    return "adds up" if adds else "neither"


def more_steps():
    solved = pd.read_csv(shipped_file("companions/continuous-long-0.csv"))["graphs"].iloc[-1]
    return "the steps" if solved >= 0.5 else "not the steps" if solved < 0.2 else "open"


def matched_waves():
    """In how many networks more sums are right with three waves than in 95 of 100 draws of as large a part."""
    ahead = 0
    for n, arm in product(reasoning_seeds.SEEDS, TOKENS_PASS):
        network, generator = reasoning_seeds.ReasoningSeed(n).network(arm), torch.Generator().manual_seed(n)
        seen = reasoning.along_the_sum(network)
        varies, out = reasoning.along_operands(seen["neurons"]), mechanism.smallest_waves(seen["neurons"], 3)
        draws = (reasoning.as_large(varies, out, generator) for _ in range(100))
        right, *drawn = (mechanism.sums_right(network, each, seen=seen) for each in (out, *draws))
        ahead += sum(each < right for each in drawn) > 95
    return f"{WORDS[ahead]} of six"


def same_grid():
    """How many of the ten pairs of arms, each with what the grid chose, can be told apart on held-out pairs in all seeds."""
    grid = pd.read_csv(shipped_file("companions/hypernetwork-grid.csv"))
    grid["arm"] += np.where(grid["given_code"], ", told", "")
    best = grid.loc[grid.groupby("arm")["choosing"].idxmax(), ["arm", "weight_decay", "steps"]]
    final = grid[grid["support"] == "connected"].merge(best).pivot(index="seed", columns="arm", values="out of distribution")
    if final.shape != (3, 5):
        return "open"
    leads = [final[one] - final[other] for one, other in combinations(final, 2)]
    return f"{WORDS[sum(each.min() >= 0.03 or each.max() <= -0.03 for each in leads)]} of ten"


def right_starts():
    """The arm of seed 0 on its 1000 graphs of 12 nodes."""
    seed = reasoning_seeds.ReasoningSeed(0)
    graphs = seed.graphs(1)
    solved = share((answers(seed.network("right-starts"), "right-starts", graphs) == graphs.solution).all(1))
    return "no tokens" if solved >= 0.9 else "tokens" if solved < 0.5 else "open"


def by_passing(arm):
    """What an arm solves of 12 nodes by vectors, and how much more of 24 by tokens, in each of three seeds."""
    counts = reasoning_tables.load_tables()["passing"].loc[arm].xs("all", level="depth")
    share = counts.xs("solved", level="measure") / counts.xs("graphs", level="measure")
    return share.loc[1, "vectors"].to_numpy(), (share.loc[2, "tokens"] - share.loc[2, "vectors"]).to_numpy()


def right_starts_again():
    solved, further = by_passing("right-starts")
    return f"{WORDS[((solved < 0.5) & (further >= 0.1))[1:].sum()]} of two"


def right_starts_four():
    solved, further = by_passing("right-starts-four")
    if solved.min() < 0.9:
        return "not the rounds" if solved.max() < 0.5 else "open"
    return "the rounds; " + ("tokens further" if further.min() >= 0.1 else "no further" if further.max() < 0.1 else "open")


def by_heart(others, level, some="without a 0"):
    """In how many of two seeds some questions of seen tasks are right more often than others, by a level."""
    shares = rules.load_table("lines")["right"][["seed-1", "seed-2"]].xs(("four layers", 2), level=("arm", "lines"))
    held = shares.loc["seen tasks", some] - shares.loc[others] >= level
    return f"{WORDS[held.sum()]} of two"


def ends(arm):
    """What an arm of seed 0 has right of unseen tasks at the last step."""
    return rules.load_table("course").loc[(arm, "unseen tasks"), ("last", "seed-0")]


def matters(*arms):
    return "matters" if min(map(ends, arms)) <= ends("four layers") - 0.1 else "not shown"


def way_of(run, tasks=None):
    """A run's share of unseen tasks right at the last step, and that of ratio matching, there or with another number of tasks."""
    of = run.split if tasks is None else replace(run.config, tasks=tasks).draw_split()
    asked = data.draw_set("unseen tasks", of, 2000, SHOTS, torch.Generator().manual_seed(1))
    matched = solvers.accuracy(solvers.ratio_matching(asked)[:, -1], asked.answers[:, -1]).mean().item()
    return run.metrics["unseen tasks"].iloc[-1], matched


def number_of_tasks():
    runs = [seeds.RuleSeed(0).run(arm) for arm in (*(f"{n} tasks" for n in seeds.FEWER), "four layers")]
    ways = [(share - 1 / 7) / (matched - 1 / 7) for share, matched in map(way_of, runs)]
    rises = min(later - sooner for sooner, later in zip(ways, ways[1:])) >= -0.05
    return "a transition" if ways[0] <= 0.2 and rises and ways[-1] - ways[0] >= 0.4 else "none"


def branches(kinds, worlds, but=()):
    """In how many branches of these kinds and worlds the look-up came."""
    rows = pd.read_csv(shipped_file("laboratory-branches.csv")).set_index("step")
    rows = rows[rows["branch"].isin(kinds) & rows["run"].str.startswith(worlds) & ~rows["run"].isin(but)]
    curves = rows.groupby(["run", "branch"])["1-var train"]
    found = [comes(load_world_run(name), "1-var train", curve) < math.inf for (name, _), curve in curves]
    return f"{WORDS[sum(found)]} of {WORDS[len(found)]}"


def let_go():
    """In how many of four networks the look-up is there 600 steps after names were let go, and fewer were right at once."""
    rows, found = pd.read_csv(shipped_file("laboratory-let-go.csv")).query("held and run != 'modulus-60-0'"), []
    for name, curve in rows.groupby("run"):
        bare = curve.set_index("step")["bare"]
        found.append(bare[1000] < bare[0] and comes(load_world_run(name), "1-var train", bare) < math.inf)
    return f"{WORDS[sum(found)]} of {WORDS[len(found)]}"


def split_doubles():
    """Ten networks, whole but for the split of layer 2's attention between the two numbers, which is that of tidying."""
    operands, held = torch.zeros(16), 0
    operands[[13, 14]] = 1
    for name in shipped_runs():
        study = load_run(name)
        w, (tokens, right) = study.weights(), evaluation_sets(study.split, size=1000)["1-var train"]
        at = study.task.value_positions(tokens)
        looked_up = tokens.gather(1, at)[at < 12]

        def tidied(pattern):
            row = pattern[:, :, -1:] * operands
            return torch.cat([pattern[:, :, :-1], row / row.sum(-1, keepdim=True)], 2)

        whole, tidy = run(w, tokens), run(w, tokens, {"blocks.0.attn.hook_pattern": tidied})
        row, split = whole.attention(2)[:, -1].clone(), tidy.attention(2)[:, -1].gather(1, at)
        row.scatter_(1, at, split * (row.gather(1, at).sum(1) / split.sum(1))[:, None])
        moved = run(w, tokens, {"blocks.1.attn.hook_pattern": lambda pattern, row=row: row[:, None, None]}).answers
        new = (whole.answers == right) & (moved != right)
        lost = share((tidy.answers == right).double() - (moved == right).double())
        held += lost < 0.05 and share(moved[new] == 2 * looked_up[new] % 59) > 0.5
    return f"{WORDS[held]} of ten" if held >= 9 else "not shown"


@cache
def doubled():
    """Doubled waves in ten runs: how far taking parts away leads to the single waves, and what each key frequency shows."""
    ways, faces, x = {}, [], torch.arange(59.0, dtype=torch.float64)

    def twice(k):
        return min(2 * k, 59 - 2 * k)

    def alone(mean, out, k, times):
        sent = fourier.keep(mean, [min(times * k % 59, -times * k % 59)]) @ fourier.keep(out.T, [k]).T
        return sent[:, None] + sent

    def far(logits, k):
        return fourier.answer_part(logits, k)[(math.pi * k * (x[:, None] - x) / 59).cos().abs() < 0.1].mean().item()

    for name in shipped_runs():
        w = load_run(name).weights()
        h, out, keys = fourier.number_table(w) @ w.W_in, w.W_out @ w.W_U, fourier.key_frequencies(fourier.number_table(w))
        (A, alpha), (B, gamma) = fourier.amplitudes_and_phases(h), fourier.amplitudes_and_phases(out.T)
        act, best = (h[:, None] + h).relu(), A[1:].argmax(0) + 1
        logits, single = (
            act @ out,
            fourier.distance_spread(fourier.pair_logits(*[(s := fourier.single_waves(h, out))[0]] * 2, s[1])),
        )
        without = {j: fourier.pair_logits(*[fourier.remove(h, [j])] * 2, out) for j in range(1, 30)}
        parts = dict.fromkeys(("linear", "tripled", "waves", "rest"), 0)
        for k in keys:
            others = out * (best != k)[:, None]
            written = act @ fourier.keep(others.T, [k]).T
            linear, tripled = (alone(h / 2, out, k, times) for times in (2, 3))
            parts["linear"] += linear
            parts["tripled"] += tripled * linear.norm() / tripled.norm()
            if twice(k) in keys:
                waves = alone(act.mean(1), others, k, 2)
                parts["waves"] += waves
                parts["rest"] += written - waves
            phase = torch.polar(A[twice(k)] * B[k], (alpha if 2 * k < 30 else -alpha)[twice(k)] - gamma[k]).sum().angle().abs()
            lost = min((j for j in without if j != k), key=lambda j: far(without[j], k))
            own = 1 - far(written, k) / far(logits, k)
            faces.append((name, twice(k) in keys, phase.item() > 0.75 * math.pi, lost == twice(k), own))
        start = fourier.distance_spread(logits)[0]
        ways[name] = {
            each: (fourier.distance_spread(logits - part)[0] - start) / (single[0] - start) for each, part in parts.items()
        }
        fell = [fourier.distance_irrelevance(logits - part) for part in (0, parts["linear"], parts["tripled"])]
        ways[name]["irrelevance"] = fell[0] - fell[1] >= 5 * (fell[0] - fell[2])
    return pd.DataFrame(ways).T, pd.DataFrame(faces, columns=["run", "double", "sign", "lost", "own"])


def doubled_clusters():
    own = doubled()[1].groupby(["run", "double"]).own.median().unstack().drop("seed-42")
    return f"{WORDS[(own[False] > own[True]).sum()]} of nine"


def at_starts(holds):
    """What nine of ten runs decide at the end of phase 1, and where addition is learned."""
    table, words = load_table("starts").set_index("start"), []
    for start in ("end of phase 1", "addition learned"):
        found = holds(table.loc[start])
        assert len(found) == 10
        words.append("yes" if found.sum() >= 9 else "no" if found.sum() <= 1 else "open")
    return words


def theorem_start():
    def resembles(of):
        two = of[["layer 2: number operand", "layer 2: variable operand"]]
        return (two.sum(axis=1) > 0.5) & (two.min(axis=1) >= two.sum(axis=1) / 3)

    return at_starts(resembles)[0]


def theorem_step(way):
    return ", ".join(at_starts(lambda of: of[f"{way}: ranked"] - of[f"{way}: before"] >= 0.1))


def notes_handed_over():
    """Whether the match waits for the notes, and for which; then right answers."""
    table, words = pd.read_csv(shipped_file("history/handed.csv")), []
    for column, level in (("match", 0.5), ("right", (1 + shortcut_level(STUDY)) / 2)):
        there = (table.set_index("step")[column] >= level).groupby([table["notes"].values, table["seed"].values])
        runs = {which: 0 for which in ("both", "=", "numbers", "unchanged")}
        for (which, _), each in there:
            assert list(each.index) == list(range(1000, 1601, 100))
            runs[which] += each.loc[1600]  # the last step of those from which it stays
        assert table["seed"].nunique() == 10
        if runs["both"] >= 9 and runs["unchanged"] <= 1:
            one = [which for which, other in (("=", "numbers"), ("numbers", "=")) if runs[which] >= 9 and runs[other] <= 1]
            words.append(f"for those of {one[0]}" if one else "not said for which")
        else:
            words.append("no" if runs["both"] - runs["unchanged"] <= 3 else "open")
    return ", ".join(words)


def theorem_small_outputs():
    """At the end of phase 1, then where addition is learned; both again with names delivered."""
    table, words = load_table("beside").query("run != 'published'").set_index("start"), []
    for names in ("", "delivered, "):
        small, as_it_is = table[f"{names}own start, small: ranked"], table[f"{names}own start: ranked"]
        met = (small >= table["chance"] + 0.1) & (small >= as_it_is + 0.1)
        for start in ("end of phase 1", "addition learned"):
            assert len(met[start]) == 10 and (small[start] >= 0.9).sum() < 9
            words.append("yes" if met[start].sum() >= 9 else "no" if met[start].sum() <= 1 else "open")
    return "{}, {}; {}, {}".format(*words)


def theorem_descent():
    def carries(of):
        gain = {which: of[f"25 on {which}: accuracy"] - of["before: accuracy"] for which in ("QK2", "all")}
        return (gain["QK2"] >= 0.02) & (gain["QK2"] >= gain["all"] / 2)

    return ", ".join(at_starts(carries))


def paper_decay():
    """What the one run with the paper's decay and schedule says: nothing, if it does not learn its own rules."""
    return "says nothing" if falling_rows().loc[2, 11_000]["seen tasks"] < 0.9 else "open"


def plain_rows():
    return pd.read_csv(shipped_file("companions/plain-rows.csv"))


def falling_rows():
    """The runs with the paper's schedule, by weight decay and steps."""
    return plain_rows().query("plan == 'plain-cosine'").set_index(["weight_decay", "steps"])


def plain_decays():
    rows, (plain, matched) = falling_rows(), way_of(seeds.RuleSeed(0).run("plain"))
    counted = rows.loc[rows["seen tasks"] >= 0.9, "unseen tasks"]
    if ((counted - 1 / 7) / (matched - 1 / 7)).max() >= 0.6:
        return "rules"
    return "not at this size" if len(counted) >= 2 and counted.max() <= plain + 0.1 else "open"


def fewer_examples():
    table = pd.read_csv(shipped_file("companions/few-examples.csv")).set_index("examples")
    needed = []
    for tasks in (24, 32, 40):
        right = table.loc[table.tasks == tasks, "right"]
        needed.append(int(right[right >= (1 / 7 + right[15]) / 2].index[0]))
    steps = [later - sooner for sooner, later in zip(needed, needed[1:])]
    if max(steps) <= 0 and min(steps) <= -1:
        return "fewer"
    return "not fewer" if min(steps) >= 0 else "open"


def plain_tasks():
    rows, plain, ways = plain_rows().query("plan == 'plain'").set_index("tasks"), seeds.RuleSeed(0).run("plain"), []
    for tasks in (*seeds.FEWER, 40):
        share, matched = way_of(plain, tasks)
        ways.append(((share if tasks == 40 else rows.loc[tasks, "unseen tasks"]) - 1 / 7) / (matched - 1 / 7))
    rises = min(later - sooner for sooner, later in zip(ways, ways[1:])) >= -0.05
    return "a transition" if rises and ways[-1] - ways[0] >= 0.4 else "none"


def one_rule(contexts=40):
    """Whether plain networks answer a context of an unseen rule, asked all inputs of training, as one rule of training would."""
    said = []
    for seed in map(seeds.RuleSeed, seeds.SEEDS):
        split, inputs = seed.split, data.all_pairs(7)[seed.split.shown]
        inputs = inputs[(inputs != 0).any(1)]
        given = seed.rows().at(slice(100, 100 + contexts))
        rows = torch.cat([given.tokens[:, None, :24].expand(-1, len(inputs), -1), inputs.expand(contexts, -1, -1)], 2)
        network = seed.run("plain").network().requires_grad_(False)
        answers = network(rows.flatten(0, 1), END)[:, -1].argmax(1).view(contexts, 1, -1)
        best = (answers == split.seen @ inputs.T % 7).double().mean(2).amax(1)
        said.append("one rule" if best.median() >= 0.9 else "not one rule" if share(best >= 0.9) < 0.05 else "open")
    return said[0] if len(set(said)) == 1 else "by seed"


def skill_three():
    """Whether the share of u + v in the stream passes one half at the MLP of layer 4, and whether this is needed."""
    found = set()
    for seed, arm in ((seeds.RuleSeed(2), "four layers"), (seeds.RuleSeed(0, 11), seeds.ELEVEN)):
        p, split, network, around = seed.p, seed.split, seed.run(arm).network().requires_grad_(False), []
        rows = data.draw_rows(10_000, 9, p, split.unseen, split.shown, torch.Generator().manual_seed(8))
        one, other = data.line_of(rows.inputs[:, -3:-1], p).T
        rows = rows.at(data.unmatched(rows) & (one != other) & (rows.inputs[:, -3:-1] != 0).flatten(1).all(1)).at(slice(1500))
        (x1, y1), (x2, y2), (x, y) = rows.inputs[:, -3:].permute(1, 2, 0)
        inverse, z = data.inverses(p)[(x1 * y2 - y1 * x2) % p], rows.answers
        u, v = ((x * y2 - y * x2) * inverse * z[:, -3] % p, (x1 * y - y1 * x) * inverse * z[:, -2] % p)
        for layer in network.layers:
            layer.norm_mlp.register_forward_pre_hook(lambda module, given, of=around: of.append(given[0][:, -1]))
            layer.down.register_forward_hook(lambda module, given, written, of=around: of.append(of[-1] + written[:, -1]))
        whole = share(network(rows.asking, END)[:, -1].argmax(1) == z[:, -1])
        there, which = (u * p + v).unique(return_inverse=True)
        of_sum = (there // p + there) % p
        shares = []
        for stream in around:  # of means by (u, v), whose squares are products of two halves, or chance would count
            one, other = (torch.stack([half[cell == n].mean(0) for n in range(len(there))])
                          for half, cell in ((stream[::2], which[::2]), (stream[1::2], which[1::2])))  # fmt: skip
            one, other = one - one.mean(0), other - other.mean(0)
            parts = [one[of_sum == s].mean(0) @ other[of_sum == s].mean(0) * (of_sum == s).sum() for s in range(p)]
            shares.append((sum(parts) / (one * other).sum()).item())
        first = next(place for place, each in enumerate(shares) if each >= 0.5)
        network.layers[first // 2].down.register_forward_hook(lambda module, given, written: written.mean(0).expand_as(written))
        left = share(network(rows.asking, END)[:, -1].argmax(1) == z[:, -1])
        read = first % 2 and shares[first - 1] < 0.25 and left <= whole / 2
        found.add("the last MLP" if read and first == len(shares) - 1 else "elsewhere")
    return found.pop() if len(found) == 1 else "by network"


@cache
def of_the_study(measure, of):
    """What a measure finds in the study's own runs."""
    return [MEASURES[measure](StudyRun(f"seed-{seed}"), of) for seed in SEEDS]


def passed_unchanged(prediction):
    """Whether the study's own runs bear a prediction out; no if they have no such problems."""
    try:
        values = of_the_study(prediction.measure, prediction.of)
    except (KeyError, ValueError):
        return False
    return sum(map(prediction.holds, values)) >= prediction.seeds


def nothing_changes():
    decided = pd.read_csv(shipped_file("laboratory.csv"), index_col=["world", "prediction"])
    kinds = {"held": [], "not held": [], "undecided": []}
    for plan in map(read_plan, sorted(set(shipped_plans()) - {"study"})):
        verdicts = plan.verdicts(decided.loc[plan.name, [f"seed-{n}" for n in SEEDS]].set_axis(SEEDS, axis=1))
        for each in plan.predictions:
            kinds[verdicts[each.name].split(",")[0]].append(each)
    held, fell = (sum(map(passed_unchanged, kinds[which])) / len(kinds[which]) for which in ("held", "not held"))
    return "less than the fallen" if fell < held and held >= 0.5 else "little, as the fallen" if held >= 0.5 else "not little"


def attacked(kind=None):
    """The table of what was found in ten runs, of one kind or of all, by run."""
    table = pd.read_csv(shipped_file("proof/attacked.csv")).query("run != 'by hand'")
    assert len(table) == 40
    return table if kind is None else table.query("kind == @kind").set_index("run")


def of_broken(column):
    """The mean of a column over the broken questions of each run."""
    table = attacked().query("broken > 0").dropna(subset=[column])
    total = (table[column] * table["broken"]).groupby(table["run"]).sum() / table["broken"].groupby(table["run"]).sum()
    assert len(total) == 10
    return total


def beats_blind():
    table = attacked()
    many = (table["one start"] >= table["blind"] - 1e-9).sum()
    return "held" if many >= 38 and table["one start"].sum() >= 1.2 * table["blind"].sum() else "not held"


def in_runs(holds, needed=8):
    return "held" if holds.sum() >= needed else "not held"


def rare_contexts():
    none = (attacked().query("broken > 0").groupby("run")["as bad"].sum() == 0).all()
    return in_runs(of_broken("none of 500 wrong") >= 0.5) if none else "not held"


def share_of_context():
    plain = attacked("0-var")
    return "held" if spearmanr(plain["context"], plain["found"]).statistic >= 0.6 else "not held"


def repaired(repair):
    """How many of the questions of each kind are broken, and the accuracies, before and with a repair, by run."""
    table = pd.read_csv(shipped_file("proof/repaired.csv")).set_index("run")
    after = table.query("repair == @repair")
    before = table.query("repair == 'as trained'").loc[after.index]
    return [(each.filter(like="broken "), each[list(EVALUATION_SETS)]) for each in (before, after)]


def repairs_held(repair, *predicted):
    (broken, right), (left, now) = repaired(repair)
    held = [bool(each(broken, left, (right - now).max(axis=1))) for each in predicted]
    return f"{WORDS[sum(held)]} of {WORDS[len(held)]}"


def between(low, high):
    return lambda broken, left, cost: low <= left.to_numpy().sum() / broken.to_numpy().sum() <= high


def costs_and_changes_little(repair):
    return repairs_held(repair, lambda broken, left, cost: (cost <= 0.01 + 1e-9).sum() >= 9, between(0.8, 1.1))


def sharper_helps():
    one, two = [f"broken {kind}" for kind in KINDS[:3]], f"broken {KINDS[3]}"
    return repairs_held(
        "sharper",
        lambda broken, left, cost: (left.sum(axis=1) < broken.sum(axis=1)).all() and len(left) == 10,
        lambda broken, left, cost: left[one].to_numpy().sum() <= broken[one].to_numpy().sum() / 2 + 1e-3,  # rounded
        lambda broken, left, cost: left[two].sum() > broken[two].sum() / 2,
    )


def trained_on():
    (broken, right), (left, now) = repaired("trained on found contexts")
    control = repaired("trained on")[1][0]
    assert len(left) == len(control) == 3
    held = [
        (left.sum(axis=1) <= broken.sum(axis=1) / 4).all(),
        (left[f"broken {KINDS[3]}"] > 0).all(),
        ((right - now).max(axis=1) <= 0.01 + 1e-9).all(),
        (control.sum(axis=1) >= 0.8 * broken.sum(axis=1)).all(),
    ]
    return f"{WORDS[sum(held)]} of four"


def hardened_are_proved():
    after = pd.read_csv(shipped_file("proof/hardened.csv")).set_index(["repair", "run"])["at most 2"]
    found, plain = after["trained on found contexts"], after["trained on"]
    before = pd.read_csv(shipped_file("proof/certified.csv")).query("most >= 2").groupby("run").size()
    held = [(found > before.reindex(found.index, fill_value=0)).all(), (found > plain).all()]
    assert len(found) == 3
    return f"{WORDS[sum(held)]} of two"


MODULO, LINKS, SUBTRACTION = ("modulus-60", "modulus-29"), ("chain-two-layers",), ("subtraction",)


def beside_low_letters():
    """How many of the 20 questions with one variable are proved beside another in either half of the letters."""
    looked_up = pd.read_csv(shipped_file("proof/lookups.csv")).query("kind != '2-var'")
    assert len(looked_up) == 20
    upper, lower = (looked_up[f"lead {half}"].gt(0).sum() for half in ("upper", "lower"))
    return f"{WORDS[sum([lower >= 8, lower > upper])]} of two"


DECIDE = {
    "threshold": threshold,
    "late": late,
    "order": lambda: with_r(pd.concat([sweep("r"), sweep("seed")])["exact 2-var held-out"], 1, 0.01, "grows"),
    "missing-more": lambda: more_often(*missing()),
    "missing-trend": lambda: with_r(missing()[0], -1, 0.05, "more often"),
    "near-tenth": near_tenth,
    "late-variables": late_variables,
    "late-variables-elsewhere": late_variables_elsewhere,
    "self-reading-imposed": self_reading_imposed,
    "split-doubles": split_doubles,
    "doubled-waves": lambda: f"{WORDS[((ways := doubled()[0]).linear.gt(0.5) & ways.irrelevance).sum()]} of ten",
    "doubled-sign": lambda: "shown" if doubled()[1].sign.mean() >= 3 / 4 else "not shown",
    "doubled-read": lambda: "shown" if doubled()[1].lost.mean() >= 2 / 3 else "not shown",
    "doubled-clusters": doubled_clusters,
    "doubled-others": lambda: (
        f"{WORDS[((ways := doubled()[0]).waves.ge(0.5) & (ways.rest.abs() < ways.waves / 2)).sum()]} of ten"
    ),
    "theorem-start": theorem_start,
    "theorem-attention": lambda: at_starts(lambda of: of["attention alone: ranked"] >= 0.9)[0],
    "theorem-step": lambda: theorem_step("step"),
    "theorem-descent": theorem_descent,
    "theorem-delivery": lambda: theorem_step("delivered, step"),
    "notes-handed-over": notes_handed_over,
    "theorem-own-start": lambda: theorem_step("own start"),
    "theorem-small-outputs": theorem_small_outputs,
    "attack-blind": beats_blind,
    "attack-repeats": lambda: in_runs(of_broken("repeated in half") >= 0.9, 10),
    "attack-copies": lambda: in_runs(of_broken("broken with one copy") <= 0.3),
    "attack-number": lambda: in_runs(of_broken("broken with another number") <= 0.5),
    "attack-names": lambda: in_runs((of_broken("broken with other names") <= 0.6) & (of_broken("rank of names") < 0)),
    "attack-waves": lambda: in_runs(of_broken("numbers less alike").between(0.4, 0.6, inclusive="neither")),
    "attack-taken": lambda: in_runs(of_broken("answer takes it") > 0.7),
    "attack-place": lambda: in_runs(of_broken("place of asked").between(2.5, 4.5)),
    "attack-rare": rare_contexts,
    "attack-share": share_of_context,
    "repair-sharper": sharper_helps,
    "repair-numbers": lambda: costs_and_changes_little("numbers alike"),
    "repair-names": lambda: repairs_held(
        "names alike", lambda broken, left, cost: (cost <= 0.03 + 1e-9).sum() >= 9, between(0.9, 1.2)
    ),
    "repair-matches": lambda: in_runs((sides := repaired("matches alike"))[1][0].sum(axis=1) > sides[0][0].sum(axis=1)),
    "repair-balance": lambda: costs_and_changes_little("balanced"),
    "repair-copies": lambda: costs_and_changes_little("copies alike"),
    "repair-trained": trained_on,
    "certify-hardened": hardened_are_proved,
    "lookups-letters": beside_low_letters,
    "more-steps": more_steps,
    "right-starts": right_starts,
    "right-starts-again": right_starts_again,
    "right-starts-four": right_starts_four,
    "matched-waves": matched_waves,
    "wider-vanilla": wider_vanilla,
    "errors-of-a-blend": errors_of_a_blend,
    "mixtures": mixtures,
    "same-grid": same_grid,
    "rules-with-0": lambda: by_heart(("seen tasks", "without a 0"), 0.3, some="with a 0"),
    "rules-of-training": lambda: by_heart(("unseen tasks", "without a 0"), 0.05),
    "order-of-lessons": lambda: matters("reversed", "one-line"),
    "number-of-tasks": number_of_tasks,
    "fewer-examples": fewer_examples,
    "rectangles": lambda: matters("random tasks"),
    "paper-decay": paper_decay,
    "plain-tasks": plain_tasks,
    "plain-decays": plain_decays,
    "one-rule": one_rule,
    "skill-three": skill_three,
    "helped": lambda: branches(["helped"], MODULO),
    "nothing-helped": lambda: branches(["numbers", "unchanged"], MODULO),
    "fixed": lambda: branches(["fixed"], MODULO + LINKS),
    "fixed-subtraction": lambda: branches(["fixed"], SUBTRACTION),
    "names": lambda: branches(["names"], MODULO + SUBTRACTION),
    "names-links": lambda: branches(["names"], LINKS),
    "unchanged": lambda: branches(["unchanged"], SUBTRACTION + LINKS),
    "sign": lambda: branches(["sign"], MODULO + LINKS + SUBTRACTION, but=["subtraction-2"]),
    "nothing-changes": nothing_changes,
    "let-go": let_go,
}


def test_rules_have_one_name_each_a_day_and_all_that_a_reader_asks():
    assert max(Counter(rule.id for rule in RULES).values()) == 1
    for rule in RULES:
        assert date(2026, 11, 20) <= rule.fixed <= date.today() and rule.system in SYSTEMS, rule.id
        assert all(text.endswith(".") for text in (rule.rule, rule.seen, rule.outcome)) and rule.verdict, rule.id


def test_every_rule_is_decided_again():
    assert [*DECIDE] == [rule.id for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_verdict_is_what_the_rule_says_of_the_shipped_tables(rule):
    assert DECIDE[rule.id]() == rule.verdict
