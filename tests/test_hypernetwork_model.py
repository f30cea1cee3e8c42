"""Composing in context: the arms against what can be worked out without them."""

import math

import pytest
import torch
from arms import EVERY, rng
from torch.nn.functional import gelu, layer_norm

from assign_add_lib.companions.hypernetwork.analysis import streams
from assign_add_lib.companions.hypernetwork.data import SUPPORTS, Tasks, Teacher
from assign_add_lib.companions.hypernetwork.model import ARMS, Bottleneck, build
from assign_add_lib.companions.hypernetwork.training import answers


@pytest.fixture(scope="module")
def teacher():
    return Teacher.draw(5)


@pytest.fixture(params=ARMS)
def network(request):
    """A small network of an arm in double precision, with weights large enough that attention is far from even."""
    network = build(request.param, 3, d_model=16, layers=2, heads=4).double().requires_grad_(False)
    generator = rng(6)
    for weights in network.transformer.parameters():
        weights += 0.4 * torch.randn(weights.shape, generator=generator, dtype=torch.float64)
    return network


@pytest.fixture(scope="module")
def tasks(teacher):
    return Tasks(*(each.double() for each in teacher.sample(SUPPORTS["connected"], 6, rng(7), queries=5)))


def slow_tokens(network, x, y, asked):
    """What the tokens after the context hold in the end, for one task: each pair of tokens is scored, and most are masked."""
    w = dict(network.transformer.named_parameters())
    rows = [[*a, *b, 0.0] for a, b in zip(x.tolist(), y.tolist())] + [[*a, 0.0, 0.0, 1.0] for a in asked.tolist()]
    if "summary" in w:
        rows = rows[:16]
    resid = torch.tensor(rows, dtype=torch.float64) @ w["embed.weight"].T + w["embed.bias"]
    if "summary" in w:
        resid = torch.cat([resid, w["summary"][None]])
    seen = torch.zeros(len(resid), len(resid))
    seen[:, 16:] = -math.inf
    for layer in range(2):
        of = {name.removeprefix(f"blocks.{layer}."): each for name, each in w.items() if f"blocks.{layer}." in name}
        normal = layer_norm(resid, (16,), of["norm_attention.weight"], of["norm_attention.bias"])
        q = normal @ of["q.weight"].T + of["q.bias"]
        k, v = (normal @ of["kv.weight"].T + of["kv.bias"]).split(16, 1)
        heads = []
        for head in range(4):
            own = slice(4 * head, 4 * head + 4)
            scores = q[:, own] @ k[:, own].T / 4**0.5 + seen
            heads.append(scores.softmax(1) @ v[:, own])
        resid = resid + torch.cat(heads, 1) @ of["out.weight"].T + of["out.bias"]
        normal = layer_norm(resid, (16,), of["norm_mlp.weight"], of["norm_mlp.bias"])
        hidden = gelu(normal @ of["mlp.0.weight"].T + of["mlp.0.bias"])
        resid = resid + hidden @ of["mlp.2.weight"].T + of["mlp.2.bias"]
    return layer_norm(resid[16:], (16,), w["norm.weight"], w["norm.bias"])


def test_tokens_see_the_context_alone(network, tasks):
    """Against attention over all tokens with the mask written out, task by task: context (x, y, 0), question (x, 0, 1)."""
    asked = tasks.queries[0]
    bottle = isinstance(network, Bottleneck)
    fast = network.transformer(tasks.context, asked[:, :0] if bottle else asked)
    assert bottle or torch.equal(network(tasks.context, asked), network.head(fast))
    for task, each in enumerate(fast):
        slow = slow_tokens(network, *(part[task] for part in tasks.context), asked[task])
        torch.testing.assert_close(each, slow, atol=1e-6, rtol=0)


def test_what_a_network_answers_does_not_depend_on_the_true_answers_or_the_code(network, tasks):
    told = Tasks(tasks.z + 1, tasks.x, torch.cat([tasks.context[1], tasks.queries[1] + 1], 1))
    assert torch.equal(answers(network, told), answers(network, tasks))


@pytest.mark.parametrize("arm", ["hypernetwork", "mlp"])
def test_answers_depend_on_the_context_through_the_code_alone(monkeypatch, teacher, arm):
    network = build(arm, 1, 16, 1, 2)
    one, other = teacher.sample(EVERY, 7, rng(9)), teacher.sample(EVERY, 7, rng(10))
    code, asked = network.code(one.context), one.queries[0]
    answered = network(one.context, asked)
    assert code.shape == (7, 8) and torch.equal(network.executor(code, asked), answered)
    assert not torch.allclose(network(other.context, asked), answered, atol=1e-3)
    monkeypatch.setattr(network, "code", lambda context: code)
    assert torch.equal(network(other.context, asked), answered)


OWN = {
    "vanilla": 64 * 2 + 2,
    "hypernetwork": 64 + (64 * 8 + 8) + 8 * 32 * 8 + 2 * 32,
    "mlp": 64 + (64 * 8 + 8) + (16 * 128 + 128) + (128 * 128 + 128) + (128 * 2 + 2),
}


@pytest.mark.parametrize("arm, own", OWN.items())
def test_an_arm_has_this_many_parameters(arm, own):
    layer = 2 * 2 * 64 + 4 * (64 * 64 + 64) + (64 * 256 + 256) + (256 * 64 + 64)
    shared = (11 * 64 + 64) + 3 * layer + 2 * 64
    assert sum(weights.numel() for weights in build(arm, 0).parameters()) == shared + own


def test_streams_lead_from_the_examples_to_the_answer(network, tasks):
    """At the start the mean example, embedded; in the end what the code or the first answer is read from."""
    found = streams(network, tasks)
    assert {name: [each.shape for each in depths] for name, depths in found.items()} == {
        "reading token": [(6, 16)] * 3,
        "context mean": [(6, 16)] * 2,
    }
    x, y = tasks.context
    mean = torch.cat([x.mean(1), y.mean(1), torch.zeros(6, 1)], 1)
    torch.testing.assert_close(found["context mean"][0], network.transformer.embed(mean))
    last, bottle = found["reading token"][-1], isinstance(network, Bottleneck)
    answered = network.code(tasks.context) if bottle else network(tasks.context, tasks.queries[0])[:, 0]
    torch.testing.assert_close((network.to_code if bottle else network.head)(last), answered)
