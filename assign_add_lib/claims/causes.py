"""Causes: measures of one `Subject` for which a step of the network is broken, bent or exchanged, and its answers counted.

An *act* is a function from the subject and token ids (batch, pos) to an alteration of the network.  Problems are those of
the nine evaluation sets, `SIZE` of each; interchanges draw their own pairs of problems.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from ..analysis import causal
from ..analysis import interventions as iv
from ..circuits import OV, QK, variable_identity
from ..model import Activations, Alter, Weights, trace
from ..sampling import evaluation_sets, training_population
from .subjects import Subject

SIZE = 500
Act = Callable[[Subject, Tensor], Alter]


def numbers_made_even(run: Subject, tokens: Tensor) -> Alter:
    """In layer 1 each assigned number reads all positions that it may see, equally."""
    return iv.make_uniform(1, run.task.assigned_numbers(tokens))


def operands_unread(run: Subject, tokens: Tensor) -> Alter:
    """In layer 1 `=` reads all positions equally but the two operands', which it does not read at all."""
    task = run.task
    return iv.make_uniform(1, iv.at(tokens, task.last), without=(task.left, task.right))


def block_removed(run: Subject, tokens: Tensor) -> Alter:
    """What passes through the 12 x 12 identity block is taken out of layer 2's scores of `=`."""
    return iv.add_to_scores_of_equal(-iv.identity_term(run.weights, tokens))


def no_position_table(run: Subject, tokens: Tensor) -> Alter:
    """P QK1 P^T is taken out of layer 1's scores at the positions of the assignments."""
    term = iv.position_term(run.weights)
    return iv.add_to_scores(1, -torch.where(torch.arange(len(term))[:, None] < run.task.room, term, 0))


def mean_mlp(run: Subject, tokens: Tensor) -> Alter:
    """The MLP adds at `=` what it adds on average over 2000 training problems."""
    reference = training_population(run.split).sample(2000, torch.Generator().manual_seed(7)).tokens
    mean = trace(run.weights, reference).mlp_out[:, run.task.last].mean(0)
    return iv.put("blocks.1.hook_mlp_out", iv.at(tokens, run.task.last), mean[None, None])


def _named(w: Weights, tokens: Tensor, acts: Activations, typed: bool) -> Tensor:
    """Of layer 2's scores (batch, key) of `=`, what the named terms give: the names that layer 1 reads, through the identity
    block, and what `=` as token and position gives to the token at each key.  `typed`: the number at the right operand reads
    the left one, too."""
    task, A = w.task, acts.pattern[:, 0]
    kinds = one_hot(tokens, task.d_vocab)[..., task.first_variable :].to(A)
    readers = task.assigned_numbers(tokens) | (torch.arange(tokens.shape[1]) == task.right) & typed
    read = pad(A.diagonal(-1, 1, 2)[..., None] * kinds[:, :-1], (0, 0, 1, 0)) * readers[..., None]
    operands = slice(task.left, task.right + 1)
    read[:, task.last] = torch.einsum("bo,bov->bv", A[:, task.last, operands], kinds[:, operands])
    own = (w.W_E[task.equal] + w.W_pos[task.last]) @ QK(w, 2) @ w.W_E.T
    return torch.einsum("bv,vw,bkw->bk", read[:, task.last], variable_identity(w), read) + own[tokens]


def named_terms(run: Subject, tokens: Tensor, typed: bool = False) -> Alter:
    """Three named terms stay, the two of `_named` and the OV2 images of the numbers that `=` then reads; all else of layer 2
    has its mean over 2000 training problems."""
    w, last = run.weights, run.task.last
    reference = training_population(run.split).sample(2000, torch.Generator().manual_seed(7)).tokens
    images = torch.zeros(len(w.W_E), w.d_model)
    images[: run.task.n_numbers] = w.W_E[: run.task.n_numbers] @ OV(w, 2)
    there, here = trace(w, reference), trace(w, tokens)
    rest = (there.scores[:, 1, last] - _named(w, reference, there, typed)).mean(0)
    other = (there.mlp_in[:, last] - torch.einsum("bk,bkd->bd", there.pattern[:, 1, last], images[reference])).mean(0)
    row = (_named(w, tokens, here, typed) + rest).softmax(-1)
    stream = torch.einsum("bk,bkd->bd", row, images[tokens]) + other - (here.resid_pre + here.attn_out[:, 0])[:, last]
    return iv.put(iv.output_of(2), iv.at(tokens, last), stream[:, None])


def problems(run: Subject, name: str) -> tuple[Tensor, Tensor]:
    """`SIZE` problems of an evaluation set and their answers."""
    return evaluation_sets(run.split, size=SIZE)[name]


def accuracy(name: str, act: Act):
    """Accuracy on an evaluation set under an act."""

    def measure(run: Subject) -> float:
        tokens, right = problems(run, name)
        return (iv.answers(run.weights, tokens, act(run, tokens)) == right).double().mean().item()

    return measure


def lost(name: str, act: Act):
    """By how much an act lowers the accuracy on an evaluation set."""
    return lambda run: accuracy(name, lambda *_: {})(run) - accuracy(name, act)(run)


def looked_up_next(run: Subject) -> tuple[Tensor, Tensor]:
    """With the block's columns moved by one: 1-var problems, and whether each is answered with the number of the next variable.

    They are those of `1-var train` in which the variable after the asked one is assigned too.
    """
    task, (tokens, _) = run.task, problems(run, "1-var train")
    V, first, operands = task.n_variables, task.first_variable, slice(task.left, task.right + 1)
    asked = tokens.clone()
    is_variable = tokens[:, operands] >= first
    asked[:, operands] = torch.where(is_variable, (tokens[:, operands] - first + 1) % V + first, tokens[:, operands])
    there = (asked[:, operands, None] == asked[:, None, : task.room]).any(2)
    fits = (there | ~is_variable).all(1)
    block = variable_identity(run.weights)
    term = iv.identity_term(run.weights, tokens, block.roll(1, dims=1) - block)
    given = iv.answers(run.weights, tokens, iv.add_to_scores_of_equal(term))
    return tokens[fits], (given == task.right_answers(asked))[fits].double()


def looks_up_next(run: Subject) -> float:
    """The share of those problems that are answered so."""
    return looked_up_next(run)[1].mean().item()


def names_exchanged(run: Subject) -> float:
    """With layer 1's output exchanged between the asked number and another, the share answered with the other's number.

    Of those problems of `1-var train` that assign a second variable; the other number is the first one not asked for.
    """
    task, (tokens, _) = run.task, problems(run, "1-var train")
    assigned = task.assigned_numbers(tokens)
    used = torch.zeros_like(assigned).scatter(1, task.value_positions(tokens), True) & assigned
    free = assigned & ~used
    first, second, row = used.int().argmax(1), free.int().argmax(1), torch.arange(len(tokens))
    swapped = tokens.clone()
    swapped[row, first], swapped[row, second] = tokens[row, second], tokens[row, first]

    def exchange(held: Tensor) -> Tensor:
        held = held.clone()
        held[row, first], held[row, second] = held[row, second], held[row, first]
        return held

    given = iv.answers(run.weights, tokens, {iv.output_of(1): exchange})
    return (given == task.right_answers(swapped))[free.any(1)].double().mean().item()


def scrubbed(run: Subject) -> float:
    """Accuracy on `1-var train` when all that the causal model calls irrelevant comes from random other training problems."""
    tokens, right = problems(run, "1-var train")
    generator = torch.Generator().manual_seed(7)
    pool = training_population(run.split).sample(4000, generator).tokens
    return (causal.scrubbed(run.weights, tokens, pool, generator) == right).double().mean().item()


def interchange(site: str):
    """The interchange-intervention accuracy of a site for the variable of the causal model that it should hold."""
    return lambda run: run.interchanges.loc[site, causal.SITES[site][0]]


def undisturbed(run: Subject) -> float:
    """The lowest share of own right answers when a site that should hold nothing is interchanged."""
    return run.interchanges.loc[[site for site, (held, _) in causal.SITES.items() if held == "nothing"], "nothing"].min()
