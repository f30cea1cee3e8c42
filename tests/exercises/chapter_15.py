"""Answers to the exercises of chapter 15: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib.companions.hypernetwork.seeds import ArmSeed


def both_answered(relu):
    """An answer to exercise 15.1 that subtracts whole answers, with some way to cut them at 0."""

    def gap(modules, readout, z, x):
        def answered(code):
            return relu(torch.einsum("m,mui->ui", code, modules) @ x.T / 2**0.5).T @ readout.T

        return answered(z) - sum(z[m] * answered(torch.eye(8)[m]) for m in range(8))

    return gap


@torch.no_grad()
def trained(x, y):
    """The code of a network that was trained on the tasks of another teacher."""
    return ArmSeed(0).run("hypernetwork").network().code((x, y))


LINKED_ONLY = (
    *(
        "torch.combinations(torch.arange(8))",
        "torch.tensor([(a, b) for a in range(8) for b in range(a) if min(a - b, 8 - a + b) < 3])",
    ),
    *("28", "16"),
)
ISLANDS_ONLY = (
    *("torch.combinations(torch.arange(8))", "torch.tensor([(a, b) for a in range(8) for b in range(a) if a // 4 == b // 4])"),
    *("28", "12"),
)

ALL_EIGHT = (
    *("nn.functional.one_hot(pairs, 8).float()", "torch.eye(8)[None]"),
    *("torch.full((28, 2)", "torch.full((1, 8)", "expand(28", "expand(1"),
)

MISTAKES = [
    ("features", trained, "no more than the products"),
    ("few_examples", lambda executor, x, y: torch.full((8,), 0.75 / 4), "use that a task has one or two"),
    ("gap", both_answered(lambda each: each * (each > 0)), "leave out the half"),
    ("gap", both_answered(lambda each: (each + each.abs()) / 2), "leave out the half"),
    ("features", lambda x, y: (y.mT @ x).flatten(1) / 16, "no more than the products"),
    ("features", ("products, torch", "torch"), "add what slopes cannot hold"),
    ("features", lambda x, y: torch.cat([x, y], 2).flatten(1), "the examples are a set"),
    ("features", ("flatten(1)", "flatten(1).repeat(1, 40)"), "at most 512"),
    ("features", ("flatten(1)", "flatten(1)[:100]"), "should be a tensor"),
    ("other_modules", ("torch.linalg.inv(R)", "R"), "its inverse is needed"),
    ("other_modules", ("inv(R)", "inv(R).T"), "the transpose's inverse"),
    ("other_modules", ("torch.linalg.inv(R)", "R.T"), "R's transpose"),
    ("other_modules", lambda modules, R: modules, "write the mixture of z R as a sum"),
    ("few_examples", ALL_EIGHT, "use that a task has one or two"),
    ("few_examples", LINKED_ONLY, "that training never mixed"),
    ("few_examples", ISLANDS_ONLY, "under 0.3% can be reached"),
    ("few_examples", ("torch.arange(8))", "torch.arange(8))[:4]", "28", "4"), "is every pair tried"),
    ("few_examples", ("torch.full((28, 2)", "torch.full((28, 1)"), "two strengths of its own"),
    ("few_examples", lambda executor, x, y: torch.zeros(4), "the code has shape (4,)"),
    ("gap", ("(mixed - apart)", "(apart - mixed)"), "the sign is turned"),
    ("gap", ("readout.T / 2", "readout.T"), "the half is missing"),
    ("gap", (" / 2**0.5", ""), "divided by the root of 2"),
    ("gap", both_answered(torch.relu), "leave out the half"),
    ("gap", both_answered(lambda each: each.clamp(min=0)), "leave out the half"),
    ("gap", lambda modules, readout, z, x: torch.zeros(len(x), 2), "differs from the true one"),
]


def by_maximum(modules, readout, z, x):
    """Another right answer to exercise 15.1: the absolute value as the larger of two."""
    u = torch.einsum("mui,ni->mnu", modules, x) / 2**0.5
    size = [torch.maximum(each, -each) for each in (torch.einsum("m,mnu->nu", z, u), u)]
    return (size[0] - torch.einsum("m,mnu->nu", z, size[1])) @ readout.T / 2


RIGHT = [
    ("gap", by_maximum),
    ("gap", ("units.abs()", "(units.relu() + (-units).relu())", "units).abs()", "units).pow(2).sqrt()")),
    ("other_modules", lambda modules, R: torch.linalg.solve(R, modules.flatten(1)).view_as(modules)),
]
