"""The live network on the built page: it reads problems, weights and what is wrong with them as the package does."""

import json
import random
from pathlib import Path

import pytest
import torch
from browsing import show

from assign_add_lib import Problem, handmade, load_run
from assign_add_lib.model import forward, trace
from assign_add_lib.sampling import evaluation_sets
from assign_add_lib.task import KINDS

CASES = json.loads((Path(__file__).parents[1] / "problems.json").read_text("utf-8"))
RUNS = [("seed-42", 0), ("seed-42", 3000), ("seed-42", 30000), ("seed-0", 2000), ("seed-8", 30000), ("hand-built", 0)]


@pytest.fixture(scope="module")
def page(site, browser):
    """A page of the book from which modules can be imported."""
    show(browser, f"{site}/intro.html")
    return site


@pytest.fixture(scope="module")
def tokens():
    """1000 problems (problem, position) of all kinds, with trained and held-out pairs, variables and restricted ones."""
    drawn = torch.cat([batch.tokens for batch in evaluation_sets(load_run("seed-42").split, size=125).values()])[:1000]
    assert len(drawn) == 1000 and set(load_run("seed-42").task.kind_of(drawn).tolist()) == set(range(4))
    return drawn


def run(browser, body, *given):
    """What an asynchronous piece of JavaScript returns, with the modules of the live network at hand."""
    script = f"""
    const resolve = arguments[arguments.length - 1], given = [...arguments];
    (async () => {{
      const base = document.querySelector("script[src*='book.js']").src;
      const [network, problems] = await Promise.all(["network.js", "problem.js"].map((name) => import(new URL(name, base))));
      const file = async (run, step) => (await fetch(new URL(
        `runs/${{run}}/checkpoints/step-${{String(step).padStart(6, "0")}}.safetensors`, base))).arrayBuffer();
      const load = async (...of) => network.readWeights(await file(...of));
      {body}
    }})().then((value) => resolve({{ value }}), (error) => resolve({{ error: error.message }}));
    """
    answer = browser.execute_async_script(script, *given)
    assert "value" in answer, answer["error"]
    return answer["value"]


PARSED = """return given[0].map((text) => {
  try { const it = problems.Problem.parse(text); return [String(it), it.answer, it.kind, it.tokens()]; }
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
    written = [text for text, *_ in CASES["accepted"]]
    assert [found[:2] for found in run(browser, PARSED, written)] == [rest for _, *rest in CASES["accepted"]]
    refused, said = zip(*CASES["refused"])
    assert run(browser, PARSED, list(refused)) == list(said)


def test_page_reads_garbled_problems_as_the_package_does(page, browser):
    """Texts near the grammar, some of them problems."""
    rng, texts = random.Random(0), []
    for _ in range(3000):
        text = list(rng.choice(CASES["accepted"])[0])
        for _ in range(rng.randrange(4)):
            place = rng.randrange(len(text) + 1)
            text[place : place + rng.randrange(2)] = rng.choice(" ,;=+?\n\tabklmz0159'\"\\-\x1cé")
        texts.append("".join(text))
    ours = [parsed(text) for text in texts]
    assert 500 < sum(isinstance(each, list) for each in ours) < 2500
    assert run(browser, PARSED, texts) == ours


def weights(name, step):
    return handmade.weights() if name == "hand-built" else load_run(name).weights(step)


@pytest.mark.parametrize("name, step", RUNS)
def test_logits_are_those_of_the_package(page, browser, tokens, name, step):
    found = run(browser, """const w = await load(given[0], given[1]);
      return given[2].map((tokens) => [...network.trace(w, tokens).logits]);""", name, step, tokens.tolist())  # fmt: skip
    ours = forward(weights(name, step), tokens)[:, -1]
    assert (torch.tensor(found) - ours).abs().max() < 1e-3
    assert torch.tensor(found).argmax(1).equal(ours.argmax(1))


def test_every_intermediate_result_is_that_of_the_package(page, browser, tokens):
    found = run(browser, """const w = await load("seed-42", 3000), acts = network.trace(w, given[0]), result = {};
      for (const [name, each] of Object.entries(acts)) {
        result[name] = (Array.isArray(each) ? each : [each]).map((values) => Array.from(values, (x) => isFinite(x) ? x : "-inf"));
      }
      return result;""", tokens[-1].tolist())  # fmt: skip
    ours = trace(weights("seed-42", 3000), tokens[-1:])
    assert set(found) == set(ours._fields)
    last = {name: getattr(ours, name)[:, -1] for name in ("mlp_in", "pre", "mlp_out", "logits")}
    wanted = ours._asdict() | last | {"attn_out": torch.cat([ours.attn_out[0, 0], ours.attn_out[0, 1, -1:]])}
    for name, each in found.items():
        flat = torch.tensor([float(x) for layer in each for x in layer])
        assert torch.allclose(flat, wanted[name].flatten(), atol=1e-3, rtol=1e-4), name


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
    answer = run(browser, f"""
      const edited = (bytes, old, fresh) => {{
        const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""), at = text.indexOf(old);
        [...fresh].forEach((letter, i) => (bytes[at + i] = letter.charCodeAt(0)));
        return bytes;
      }};
      const damage = (bytes) => {{ {damage}; }};
      try {{ network.readWeights(damage(new Uint8Array(await file("seed-42", 3000))).buffer); }}
      catch (error) {{ return error.message; }}""")
    assert said in answer and "\n" not in answer
