"""What pages say of the live network's answers holds: each example, as the package answers it."""

import pytest
import torch
from test_live_network import altered_as, weights

from assign_add_lib import Problem, handmade, load_run
from assign_add_lib.circuits import OV
from assign_add_lib.model import forward, read_out, run, trace


def said_of(step, text, put=(), **changed):
    """What the package says of a problem, tokens put in by position, after a change: probabilities, attention of both layers."""
    w, tokens = weights("seed-42", step).to(torch.double), Problem.parse(text).tokens()
    for place, name in dict(put).items():
        tokens[place] = w.task.names(torch.arange(w.task.d_vocab)).index(name)
    odds = run(w, tokens[None], altered_as(changed, w, tokens[None])).logits[0].softmax(0)
    return odds, trace(w, tokens[None]).pattern[0]


def near(found, *quoted):
    return found.tolist() == pytest.approx(quoted, abs=0.005)


def test_what_the_page_says_of_its_examples_holds():
    answers = {step: int(said_of(step, "c=1, b=17, a=42, b+19=?")[0].argmax()) for step in (1900, 30000)}
    assert answers == {1900: (19 + 42) % 59, 30000: 36}
    seen = {1900: (46, 0.26, 0.36), 2100: (24, 0.42, 0.26), 2500: (24, 0.53, 0.07), 30000: (24, 0.34, 0.03)}
    for step, (answer, *weights_read) in seen.items():
        odds, read = said_of(step, "f=49, c=12, f+34=?")
        assert odds.argmax() == answer and near(read[1, 15, [1, 3]], *weights_read)
    metrics = load_run("seed-42").metrics.loc[1900]
    assert metrics["0-var train"] == 1 and metrics["1-var train"] == pytest.approx(0.56, abs=0.005)


def test_what_chapter_1_says_of_its_example_holds():
    text = "c=1, b=17, a=42, b+{}=?"
    for variable in "defghijkl":
        assert said_of(30000, text.format(19), {13: variable})[0].argmax() == 38
        assert variable in "hfk" or said_of(30000, text.format(5), {13: variable})[0].argmax() != 10
    assert said_of(30000, text.format(19), {13: "d"})[0][38] > 0.99 and said_of(30000, text.format(5), {13: "d"})[0].argmax() == 6
    assert [int(said_of(30000, f"c=7, b={b}, a=50, b+19=?")[0].argmax()) for b in (17, 27)] == [36, 46]


def test_what_chapter_3_says_of_its_example_holds():
    odds, read = said_of(1500, "d=30, g=12, g+7=?")
    assert near(odds[[37, 42, 19]], 0.51, 0.40, 0.01) and near(read[0, 15, 14:15], 0.93) and read[0, 15, 13] < 0.01
    assert (said_of(1500, "d=30, g=12, d+7=?")[0][[37, 42]] - odds[[37, 42]]).abs().max() < 0.001
    odds, read = said_of(1900, "d=30, g=12, g+7=?")
    assert odds.argmax() == 19 and near(read[0, 15, 13:14], 0.44) and said_of(1900, "d=30, g=12, d+7=?")[0].argmax() == 42


def test_what_chapter_5_says_of_its_example_holds():
    for text, places in (
        ("c=1, b=17, a=42, b+19", {3, 14}),
        ("c=1, b=17, a=42, a+19", {5, 14}),
        ("b=17, c=1, a=42, b+19", {1, 14}),
    ):
        _, read = said_of(30000, text)
        assert set(read[1, 15].topk(2).indices.tolist()) == places and set(read[0, 15].topk(2).indices.tolist()) == {13, 14}
        assert read[0, [1, 3, 5]].argmax(1).tolist() == [0, 2, 4]


def test_what_chapter_9_says_of_its_example_holds():
    assert said_of(30000, "e=8, f=31, e+20=?")[0].argmax() == 28
    for text, answer, odds in (("f=31, e+20", 51, 1), ("d=11, e+20", 28, 0.73)):
        found = said_of(30000, f"e=8, {text}=?", shift=1)[0]
        assert found.argmax() == answer and near(found.max()[None], odds)


def test_what_chapter_10_says_of_its_example_holds():
    by_hand, tokens = handmade.weights(), Problem.parse("c=1, b=17, a=42, b+19=?").tokens().repeat(59, 1)
    tokens[:, 13], tokens[:, 14] = by_hand.task.token("d"), torch.arange(59)
    assert forward(by_hand, tokens)[:, -1].argmax(1).equal(2 * torch.arange(59) % 59)
    assert forward(weights("seed-42", 30000), tokens[19:20])[:, -1].argmax() == 38


def test_what_chapter_11_says_of_its_example_holds():
    odds, read = said_of(8900, "k=5, c=20, 30+k=?")
    assert odds.argmax() == 50 and near(odds[50:51], 0.56) and near(read[1, 15, 14:15], 0.99) and read[1, 15, 3] < 0.01
    assert ((read[0, 14, [3, 13, 1]] - 0.2).abs() < 0.03).all()
    follows = [said_of(8900, f"k=5, c={c}, 30+k=?")[0].argmax() == (30 + c) % 59 for c in (0, 1, 7, 13, 20, 33, 41, 58)]
    assert sum(follows) >= 6
    own, other, typed = torch.randint(0, 59, (3, 400), generator=torch.Generator().manual_seed(0))
    w, each = weights("seed-42", 8900), zip(own.tolist(), other.tolist(), typed.tolist())
    tokens = torch.stack([Problem.parse(f"k={a}, c={b}, {c}+k=?").tokens() for a, b, c in each])
    acts = trace(w, tokens)
    for unread, right, wrong in (([], 0.445, 0.448), ([3], 0.948, 0.010), ([1], 0.010, 0.935)):
        pattern = acts.pattern[:, 0].clone()
        pattern[:, 14, unread] = 0
        stream = acts.resid_pre + pattern @ acts.resid_pre @ OV(w, 1)
        read = acts.pattern[:, 1, 15:] @ stream @ OV(w, 2)
        answers = read_out(w, stream[:, 15] + read[:, 0]).argmax(1)
        shares = torch.stack([(operand + typed) % 59 == answers for operand in (own, other)]).double().mean(1)
        assert near(shares, right, wrong)
    assert said_of(9100, "k=5, c=20, 30+k=?")[0].argmax() == 35
    beside = [said_of(step, "k=5, l=20, 30+k=?")[0] for step in (9100, 9300, 9900)]
    assert [int(each.argmax()) for each in beside] == [35, 50, 35] and near(beside[0].max()[None], 0.31)
