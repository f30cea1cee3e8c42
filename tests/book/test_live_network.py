"""The live network's modules: they read problems and weights, run, alter and draw as the package does."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from browsing import ROOT, opened, run_script
from scipy.stats import chi2_contingency

from assign_add_lib import Problem, handmade, load_run
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.circuits import variable_identity
from assign_add_lib.engine.files import save_tensors
from assign_add_lib.engine.folder import checkpoint_path
from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.model import forward, run, site_names, trace
from assign_add_lib.sampling import evaluation_sets, training_population
from assign_add_lib.task import KINDS, STUDY, Split

CASES = json.loads((ROOT / "tests/problems.json").read_text("utf-8"))
RUNS = [("seed-42", 0), ("seed-42", 3000), ("seed-42", 30000), ("seed-0", 2000), ("seed-8", 30000), ("hand-built", 0)]


def weights(name, step):
    return handmade.weights() if name == "hand-built" else load_run(name).weights(step)


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """The address of a page from which the modules can be imported, with the checkpoints beside it."""
    folder = tmp_path_factory.mktemp("modules")
    for name, step in RUNS:
        if name == "hand-built":
            save_tensors(folder / f"{name}-{step}.safetensors", handmade.weights().tensors())
        else:
            shutil.copy(shipped_file(str(checkpoint_path(Path("runs", name), step))), folder / f"{name}-{step}.safetensors")
    with opened(browser, folder) as address:
        yield address


@pytest.fixture(scope="module")
def tokens():
    """240 problems (problem, position) of all kinds, with trained and held-out pairs, variables and restricted ones."""
    drawn = torch.cat([batch.tokens for batch in evaluation_sets(load_run("seed-42").split, size=30).values()])[:240]
    assert len(drawn) == 240 and set(load_run("seed-42").task.kind_of(drawn).tolist()) == set(range(4))
    return drawn


def script(browser, body, *given):
    """What an asynchronous piece of JavaScript returns, with the modules of the live network at hand."""
    return run_script(browser, ["network", "problem", "interventions", "chance"], body, *given)


PARSED = """return given[0].map((text) => {
  try { const it = problem.Problem.parse(text); return [String(it), it.answer, it.kind, it.tokens()]; }
  catch (error) { return error.message; }
});"""


def parsed(text):
    """What the package makes of a text."""
    try:
        problem = Problem.parse(text)
    except ValueError as error:
        return str(error)
    return [str(problem), problem.answer, KINDS.index(problem.kind), problem.tokens().tolist()]


def test_page_reads_problems_as_the_package_does(page, browser):
    """Those that the package's own tests name, and texts near the grammar, some of them problems."""
    rng, texts = random.Random(0), [text for text, *_ in CASES["accepted"] + CASES["refused"]]
    for _ in range(3000):
        text = list(rng.choice(CASES["accepted"])[0])
        for _ in range(rng.randrange(4)):
            place = rng.randrange(len(text) + 1)
            text[place : place + rng.randrange(2)] = rng.choice(" ,;=+?\n\tabklmz0159'\"\\-\x1cé")
        texts.append("".join(text))
    ours = [parsed(text) for text in texts]
    assert 500 < sum(isinstance(each, list) for each in ours) < 2500
    assert script(browser, PARSED, texts) == ours


INSIDE = tuple(site for site in site_names() if site[-2:] in ("_q", "_k", "_v", "_z"))  # of a head


def sites_of(browser, name, step, tokens, keep=(), read="network.run(w, tokens, {}, given[2])"):
    """What the page's network holds of each problem by the names of sites, with the logits, (batch, anything)."""
    found = script(browser, f"""const w = network.readWeights(await file(given[0]));
      return given[1].map((tokens) => {{
        const {{ sites, logits }} = {read};
        return Object.entries({{ ...sites, logits }}).map(([name, each]) => [name, Array.from(each, String)]);
      }});""", f"{name}-{step}", tokens.tolist(), keep)  # fmt: skip
    numbers = lambda values: [float(x.replace("Infinity", "inf")) for x in values]  # noqa: E731
    return {name: torch.tensor([numbers(dict(each)[name]) for each in found]) for name, _ in found[0]}


def same(found, ours):
    """Whether both hold the same at every site, in the same order."""
    assert list(found) == [*ours.sites, "logits"]
    for name, each in (ours.sites | {"logits": ours.logits}).items():
        torch.testing.assert_close(found[name], each.expand(len(ours.logits), *each.shape[1:]).flatten(1), atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("name, step", RUNS)
def test_the_network_is_that_of_the_package(page, browser, tokens, name, step):
    w, kinds = weights(name, step), STUDY.kind_of(tokens)
    few = torch.stack([tokens[kinds == kind][-1] for kind in range(4)])
    found = script(browser, """const w = network.readWeights(await file(given[0]));
      return given[1].map((tokens) => [...network.run(w, tokens).logits]);""", f"{name}-{step}", tokens.tolist())  # fmt: skip
    ours = forward(w, tokens)[:, -1]
    assert (torch.tensor(found) - ours).abs().max() < 1e-3 and torch.tensor(found).argmax(1).equal(ours.argmax(1))
    same(sites_of(browser, name, step, few), run(w, few))
    same(sites_of(browser, name, step, few, INSIDE), run(w, few, keep=INSIDE))
    whole = sites_of(browser, name, step, few, read="network.complete(w, network.run(w, tokens))")
    ours = run(w, few, whole=True)
    for site in (iv.scores_of(2), iv.pattern_of(2)):  # of all queries
        torch.testing.assert_close(whole[site], ours[site].flatten(1), atol=1e-3, rtol=1e-4)


def test_the_stream_is_read_as_numbers_at_four_stages(page, browser, tokens):
    """Before layer 1, after it, after layer 2's attention, and after the MLP."""
    w, few = weights("seed-42", 30000), tokens[::24]
    found = script(browser, """const w = network.readWeights(await file("seed-42-30000"));
      return given[0].map((tokens) => network.logitsAt(w, network.run(w, tokens)).map((each) => [...each]));""",
      few.tolist())  # fmt: skip
    acts = trace(w, few)
    added = [acts.resid_pre[:, -1], acts.attn_out[:, 0, -1], acts.attn_out[:, 1, -1], acts.mlp_out[:, -1]]
    torch.testing.assert_close(torch.tensor(found), torch.stack(added, 1).cumsum(1) @ w.W_U, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("name, step", RUNS[1:3])
def test_every_site_can_be_altered_as_in_the_package(page, browser, tokens, name, step):
    """Each in turn is halved, and then a number is added to each of its entries."""
    few = tokens[::24]
    found = script(browser, """const w = network.readWeights(await file(given[0]));
      const act = (held) => held.map((value, at) => value / 2 + (at % 7) / 50);
      return given[2].map((site) => given[1].map((tokens) => [...network.run(w, tokens, { [site]: act }).logits]));""",
      f"{name}-{step}", few.tolist(), site_names())  # fmt: skip
    w = weights(name, step)
    plain = run(w, few).logits
    for site, logits in zip(site_names(), torch.tensor(found), strict=True):
        act = lambda held: held / 2 + (torch.arange(held[0].numel()) % 7).view(held.shape[1:]) / 50  # noqa: E731
        ours = run(w, few, {site: act}).logits
        assert (ours - plain).abs().max() > 0.1, site
        torch.testing.assert_close(logits, ours, atol=2e-3, rtol=1e-4, msg=site)


def test_a_name_that_is_no_site_is_refused_in_one_line(page, browser):
    tokens = Problem.parse("a=1, a+a").tokens()
    for alter, keep in ({"blocks.2.hook_attn_out": 1, "hook_zero": 1}, ()), ({}, ("toString",)):
        answer = script(browser, """const w = network.readWeights(await file("seed-42-3000"));
          try { network.run(w, ...given); } catch (error) { return error.message; }""", tokens.tolist(), alter, keep)  # fmt: skip
        with pytest.raises(ValueError) as refused:
            run(weights("seed-42", 3000), tokens[None], alter, keep)
        assert answer == str(refused.value)


def test_an_alteration_leaves_the_next_pass_as_it_was(page, browser, tokens):
    assert script(browser, """const w = network.readWeights(await file("seed-42-3000"));
      const logits = (alter) => String(network.run(w, given[0], alter).logits);
      const before = logits(), altered = given[1].map((site) => logits({ [site]: (held) => held.map((value) => 2 * value - 1) }));
      return !altered.includes(before) && before === logits();""",
      tokens[0].tolist(), site_names())  # fmt: skip


def drawn(browser, each):
    """Problems that the page draws, as many of each kind: token ids (kind, problem, position)."""
    return torch.tensor(script(browser, """const below = chance.chance(1);
      const { KINDS, Problem, STUDY } = problem, draw = (kind) => Problem.draw(kind, STUDY, below).tokens(below);
      return KINDS.map((_, kind) => Array.from({ length: given[0] }, () => draw(kind)));""", each))  # fmt: skip


def features(tokens):
    """What a law of problems is about, each as a number of each problem."""
    numbers, sides, places = STUDY.assigned_numbers(tokens), tokens[:, [STUDY.left, STUDY.right]], STUDY.value_positions(tokens)
    first, slots = numbers.int().argmax(1, keepdim=True), numbers.cumsum(1).gather(1, places) * (places < STUDY.room)
    return {
        "operands": (sides * (sides >= STUDY.first_variable)) @ torch.tensor([100, 1]),
        "assignments": numbers.sum(1),
        "PADs": (tokens[:, : STUDY.room] == STUDY.pad).long() @ 2 ** torch.arange(STUDY.room),
        "where the operands are assigned": slots @ torch.tensor([10, 1]),
        "the first variable": tokens.gather(1, first - 1)[:, 0],
        "the first number": tokens.gather(1, first)[:, 0],
        "the left number": tokens.gather(1, places)[:, 0],
        "the answer": STUDY.right_answers(tokens),
    }


def chances(found, wanted):
    """The chance that two batches of one law differ so much, by feature."""

    def chance(one, other):
        which = torch.cat([one, other]).unique(return_inverse=True)[1]
        table = torch.stack([each.bincount(minlength=which.max() + 1) for each in (which[: len(one)], which[len(one) :])])
        common = table.sum(0) * len(one) >= 5 * len(which)  # what is rarer counts together
        table = torch.cat([table[:, common], table[:, ~common].sum(1, keepdim=True)], 1)
        return chi2_contingency(table[:, table.sum(0) > 0])[1]

    found, wanted = features(found), features(wanted)
    return {name: chance(found[name], wanted[name]) for name in found}


def test_the_page_draws_problems_by_the_law_of_training(page, browser):
    """But for the pairs of numbers, which are all."""
    law, found = training_population(Split.draw(train_fraction=1)), drawn(browser, 4000)
    variable = torch.arange(STUDY.n_variables + 1) < STUDY.n_variables
    kinds, rng = variable[:, None] + 2 * variable.long(), torch.Generator().manual_seed(0)
    forms = [law.forms * (kinds == kind) for kind in range(4)]
    wanted = [replace(law, forms=each).sample(40_000, rng).tokens for each in forms]
    for kind, (ours, theirs) in enumerate(zip(found, wanted)):
        problems = [Problem.from_tokens(each) for each in ours]  # which holds no variable twice
        assert {KINDS.index(problem.kind) for problem in problems} == {kind}
        names = [*STUDY.variable_names, None]
        allowed = {(names[left], names[right]) for left, right in forms[kind].nonzero().tolist()}
        sides = lambda each: tuple(side if isinstance(side, str) else None for side in (each.left, each.right))  # noqa: E731
        assert {sides(each) for each in problems} == allowed
        assert {len(each.assignments) for each in problems} == set(range(1 + (kind == 3), 7))
        assert min(chances(ours, theirs).values()) > 1e-3


DAMAGES = {
    "cut at the end": ("return bytes.slice(0, -100)", "the checkpoint is damaged: it is cut short"),
    "cut in the header": ("return bytes.slice(0, 100)", "the checkpoint is damaged: it is cut short"),
    "empty": ("return bytes.slice(0, 0)", "the checkpoint is damaged: it is cut short"),
    "longer": ("return new Uint8Array([...bytes, 0])", "the checkpoint is damaged: it is longer than its header says"),
    "a page in its place": ("return new TextEncoder().encode('<!doctype html>' + ' '.repeat(999))", "it is cut short"),
    "a header that is no JSON": ("bytes[8] = 0; return bytes", "the checkpoint is damaged: its header is no JSON"),
    "a shape that its bytes do not fit": (
        "return edited(bytes, '\"shape\":[74,', '\"shape\":[75,')", "W_E has no shape that fits its bytes"),
    "a name that is not ours": ("return edited(bytes, '\"W_pos\"', '\"W_top\"')", "does not fit this network: W_pos is missing"),
    "an infinite value": ("bytes.fill(0x7c, -2); return bytes", "holds a value that is no number"),
}  # fmt: skip


@pytest.mark.parametrize("damage, said", DAMAGES.values(), ids=DAMAGES)
def test_damaged_checkpoints_are_refused_in_one_line(page, browser, damage, said):
    answer = script(browser, f"""
      const edited = (bytes, old, fresh) => {{
        const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""), at = text.indexOf(old);
        [...fresh].forEach((letter, i) => (bytes[at + i] = letter.charCodeAt(0)));
        return bytes;
      }};
      const damage = (bytes) => {{ {damage}; }};
      try {{ network.readWeights(damage(new Uint8Array(await file("seed-42-3000"))).buffer); }}
      catch (error) {{ return error.message; }}""")  # fmt: skip
    assert said in answer and "\n" not in answer


def altered_as(settings, w, tokens):
    """The same changes in the package."""
    task, none, nothing = w.task, {}, torch.zeros(1, 1, w.d_model)
    layer_1 = iv.together(
        iv.add_to_scores(1, (settings.get("places", 1) - 1) * iv.position_term(w)),
        iv.make_uniform(1, task.assigned_numbers(tokens)) if settings.get("numbers") else none,
        iv.make_uniform(1, iv.at(tokens, task.last)) if settings.get("equal") else none,
    )
    read, block = iv.variables_read(run(w, tokens, layer_1).attention(1), tokens, task), variable_identity(w)
    change = settings.get("names", 1) * block.roll(settings.get("shift", 0), 1) - block
    return iv.together(
        layer_1,
        iv.add_to_scores_of_equal(torch.einsum("bv,vw,bkw->bk", read[:, task.last], change, read)),
        iv.read_values(tokens, task) if settings.get("ideal") else none,
        iv.put("blocks.1.hook_mlp_out", iv.at(tokens, task.last), nothing) if settings.get("mlp") else none,
    )


CHANGES = [{"numbers": 1}, {"equal": 1}, {"ideal": 1}, {"mlp": 1}, {"places": 0.5}, {"names": 0}, {"names": 2}, {"shift": 1},
           {"names": 1.5, "shift": 5}, {"places": 0.25, "ideal": 1, "mlp": 1},
           {"numbers": 1, "equal": 1, "shift": 2}, {}]  # fmt: skip


@pytest.mark.parametrize("settings", CHANGES, ids=str)
def test_changes_are_those_of_the_package(page, browser, tokens, settings):
    some = tokens[::2]
    found, sites = script(browser, """const w = network.readWeights(await file("seed-42-30000"));
      const settings = { ...interventions.untouched(), ...given[1] };
      const alter = (ids) => interventions.alteration(w, problem.STUDY, ids, settings);
      return [given[0].map((ids) => [...network.run(w, ids, alter(ids)).logits]), Object.keys(alter(given[0][0]))];""",
      some.tolist(), settings)  # fmt: skip
    w = weights("seed-42", 30000)
    ours = run(w, some, altered_as(settings, w, some)).logits
    assert (torch.tensor(found) - ours).abs().max() < 2e-3
    assert bool(sites) == bool(settings) == bool((ours - forward(w, some)[:, -1]).abs().max() > 0.1)
