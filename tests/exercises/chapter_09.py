"""Answers to the exercises of chapter 9: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib.analysis import causal
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.model import run, trace
from assign_add_lib.task import STUDY


def putting(first="clean", second="changed", count=(0, 0), order=1, together=False):
    """Answers to exercise 9.1: which problems are read, whose answer is counted, and in which order the two are returned."""

    def needed(w, clean, changed, name, position, right):
        problems = {"clean": clean, "changed": changed}
        found = []
        for read, mine in ((first, count[0]), (second, count[1])):
            other = "changed" if read == "clean" else "clean"
            content = run(w, problems[other], keep=[name], whole=True)[name]
            given = iv.answers(w, problems[read], iv.put_back(name, content, slice(None) if together else position))
            found.append(given == (iv.answers(w, changed) if mine else right))
        return tuple(found)[::order]

    return needed


def untouched(w, clean, changed, name, position, right):
    return tuple(iv.answers(w, tokens) == right for tokens in (clean, changed))


def standing_in(mean=0, draw="rows", zero=0.0):
    """Answers to exercise 9.2, right as they stand."""

    def instead(values, by, generator):
        n = len(values)
        if by == "zero":
            return torch.full_like(values, zero)
        if by == "mean":
            return values.mean(mean, keepdim=True).expand_as(values)
        if draw == "entries":
            return values.gather(0, torch.randint(n, values.shape, generator=generator))
        rows = {
            "rows": lambda: torch.randint(n, (n,), generator=generator),
            "order": lambda: torch.randperm(n, generator=generator),
            "one": lambda: torch.randint(n, (1,), generator=generator).expand(n),
            "own": lambda: torch.arange(n),
            "careless": lambda: torch.randint(n, (n,)),
        }
        return values[rows[draw]()]

    return instead


def exchanging(name, copy=True):
    def swapped(w, tokens, first, second):
        row = torch.arange(len(tokens))

        def act(held):
            changed = held.clone()
            changed[row, first] = held[row, second]
            changed[row, second] = (held if copy else changed)[row, first]
            return changed

        return iv.answers(w, tokens, {name: act})

    return swapped


def closing(part="k", sign=1, weight=True, everything=False, layers=(0, 0, 1)):
    """Answers to exercise 9.4: what is taken out of 14, and where; the layers are those of OV, of the pattern and of the key."""

    def closed(w, tokens):
        seen = trace(w, tokens)
        of, read, key = layers
        moved = seen.resid_pre[:, 13] @ w.W_V[of] @ w.W_O[of]
        moved = moved * seen.pattern[:, read, 14, 13, None] if weight else moved
        moved = seen.attn_out[:, 0, 14] if everything else moved

        def taken(W):
            def act(held):
                held = held.clone()
                held[:, 14, 0] -= sign * moved @ W[key]
                return held

            return act

        return {f"blocks.1.attn.hook_{each}": taken({"k": w.W_K, "v": w.W_V}[each]) for each in part}

    return closed


def in_the_stream(w, tokens):
    moved = trace(w, tokens).pattern[:, 0, 14, 13, None] * ((w.W_E[tokens[:, 13]] + w.W_pos[13]) @ w.W_V[0] @ w.W_O[0])
    return {"blocks.0.hook_attn_out": lambda held: held.index_add(1, torch.tensor([14]), -moved[:, None])}


def by_slot(base, source):
    """The site holds which assignment is asked, not its name."""
    places = STUDY.value_positions(source)
    ours, theirs = (causal.assigned_positions(each, STUDY) for each in (base, source))
    slot = (theirs[:, None] == places[..., None]).int().argmax(2)
    return base.gather(1, torch.where(places < 12, ours.gather(1, slot), places)).sum(1) % 59


def mostly_nothing(base, source):
    return torch.where(base[:, 14] % 4 == 0, by_slot(base, source), STUDY.right_answers(base))


def one_more(base, source):
    """The base's own answer and one, wherever anything is exchanged."""
    return (STUDY.right_answers(base) + (base != source).any(1)) % 59


MISTAKES = [
    ("needed", putting(order=-1), "wrong order"),
    ("needed", untouched, "without any exchange"),
    ("needed", putting(count=(0, 1)), "whether it comes back"),
    ("needed", putting(count=(1, 0)), "whether it stays"),
    ("needed", putting(second="clean"), "the first is right"),
    ("needed", putting(first="changed"), "the second is right"),
    ("needed", putting(together=True), "not the answers"),
    ("needed", lambda *given: None, "returns nothing"),
    ("needed", lambda *given: (None, None), "returns nothing"),
    ("instead", standing_in(zero=1.0), "every entry is 0"),
    ("instead", standing_in(mean=1), "over the rows"),
    ("instead", standing_in(draw="entries"), "draw whole rows"),
    ("instead", standing_in(draw="one"), "one for each"),
    ("instead", standing_in(draw="own"), "not its own"),
    ("instead", standing_in(draw="careless"), "the generator that is given"),
    ("swapped", lambda w, tokens, first, second: iv.answers(w, tokens), "unchanged"),
    ("swapped", exchanging("blocks.1.attn.hook_v", copy=False), "same value"),
    ("swapped", exchanging("blocks.0.hook_attn_out"), "not the answers"),
    ("closed", lambda w, tokens: {}, "unchanged"),
    ("closed", closing("kv"), "value at 14"),
    ("closed", in_the_stream, "value at 14"),
    ("closed", closing(sign=-1), "second time"),
    ("closed", closing(weight=False), "below 1"),
    ("closed", closing(everything=True), "came from 13"),
    ("closed", closing("v"), "not the logits"),
    ("closed", closing(layers=(0, 0, 0)), "layer 1's keys"),
    ("closed", closing(layers=(1, 0, 1)), "what layer 2 moves"),
    ("closed", closing(layers=(0, 1, 1)), "weight is layer 2's"),
    ("rival", lambda base, source: causal.counterfactual(base, source, "asked", STUDY), "our own program"),
    ("rival", lambda base, source: STUDY.right_answers(base), "holds nothing"),
    ("rival", mostly_nothing, "hard to"),
    ("rival", lambda base, source: STUDY.right_answers(source), "`sum`"),
    ("rival", one_more, "same few numbers"),
    ("rival", lambda base, source: STUDY.right_answers(source)[:5], "shape"),
    ("rival", lambda base, source: STUDY.right_answers(source) + 59, "not numbers"),
    ("rival", lambda base, source: (base[:, 14] + source[:, 14]) % 59, "the base's own"),
]

RIGHT = [
    ("closed", closing()),
    ("rival", by_slot),
    ("needed", putting()),
    ("instead", standing_in()),
    ("instead", standing_in(draw="order")),
    ("swapped", exchanging("blocks.1.attn.hook_k")),  # the two weights change places instead of what they weigh
]
