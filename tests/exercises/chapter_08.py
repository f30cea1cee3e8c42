"""Answers to the exercises of chapter 8: mistakes, with words of what their check must say, and other right ones."""

import itertools

import torch


def by_attention(mask=True, rows=True, tolerance=1e-6):
    """An answer to exercise 8.1 by the attention itself, with parts left out."""

    def same_head(one, other):
        seen = torch.ones_like(one).tril().bool() if mask else torch.ones_like(one).bool()
        tables = [table.masked_fill(~seen, -torch.inf) for table in (one, other)]
        tables = [table.softmax(1) if rows else table for table in tables]
        return torch.allclose(*tables, atol=tolerance, rtol=0)

    return same_head


def apart(itself=True, variable=max, best=True):
    """An answer to exercise 8.2 with mistakes: without the number itself, with the first variable, with any list."""

    def separating(worth, position):
        lead, found = 0.0, []
        for kinds in itertools.product(worth, repeat=len(position) - 1):
            if "variable" not in kinds:
                continue
            keys = [*kinds, "number"] if itself else kinds
            sums = [worth[kind] + float(at) for kind, at in zip(keys, position, strict=False)]
            first, second = sorted(sums)[:-3:-1]
            named = {len(kinds) - 1, variable(i for i, kind in enumerate(kinds) if kind == "variable"), sums.index(first)}
            if len(named) == 3 and (first - second > lead or not best):
                lead, found = first - second, list(kinds)
        return found

    return separating


def forgets_itself(worth, position):
    """A right answer where the number itself wins; elsewhere the best list if it is left out of the second place."""
    right, without = apart()(worth, position), apart(itself=False)(worth, position)
    keys = [*without, "number"]
    sums = [worth[kind] + float(at) for kind, at in zip(keys, position, strict=False)]
    return without if without and sums.index(max(sums)) != len(position) - 1 else right


def by_tensor(worth, position):
    """Another right answer to exercise 8.2, all lists at once."""
    names, n = list(worth), len(position) - 1
    codes = torch.cartesian_prod(*[torch.arange(3)] * n).view(-1, n)
    values = torch.tensor([worth[name] for name in names], dtype=position.dtype)
    sums = torch.cat([values[codes], values[names.index("number")].expand(len(codes), 1)], 1) + position
    top, is_variable = sums.topk(2, 1), codes == names.index("variable")
    latest = (is_variable * torch.arange(1, n + 1)).amax(1) - 1
    good = (latest >= 0) & (latest != n - 1) & (top.indices[:, 0] != n - 1) & (top.indices[:, 0] != latest)
    lead = (top.values[:, 0] - top.values[:, 1]).masked_fill(~good, -1)
    return [names[code] for code in codes[lead.argmax()]] if good.any() else []


def restore(everywhere=False, flat=True, constant="odds", change=True, sign=1):
    """An answer to exercise 8.3 with parts left out or wrong."""

    def flat_restored(scores, term, keys):
        mean = (term * keys).sum(1, keepdim=True) / keys.sum(1, keepdim=True)
        if everywhere:
            mean = term.mean(1, keepdim=True)
        made = (mean - term if flat else 0 * term) * (1 if everywhere else keys)
        was, now = ((each.softmax(1) * keys).sum(1, keepdim=True) for each in (scores, scores + made))
        shift = {"odds": was.logit() - now.logit(), "shares": (was / now).log(), "none": 0 * was}[constant]
        made = made + sign * shift * keys
        if change == "value":
            return made + term * keys
        return made if change else scores + made

    return flat_restored


def only_a_constant(scores, term, keys):
    return keys.to(term.dtype)


def by_problem(scores, term, keys):
    """Another right answer to exercise 8.3, a problem at a time, by what attention must be."""
    change = torch.zeros_like(scores)
    for new, old, part, here in zip(change, scores, term, keys, strict=True):
        wanted = old - part
        wanted = wanted[here].softmax(0) * old.softmax(0)[here].sum()  # the attention at the keys
        scale = old.softmax(0)[~here].sum().log() - old[~here].logsumexp(0)
        new[here] = wanted.log() - scale - old[here]
    return change


def rank(extra=0, turned=False, largest=True):
    """An answer to exercise 8.4 with mistakes."""

    def with_directions(block, r):
        U, s, V = torch.linalg.svd(block)
        kept = slice(0, r + extra) if largest else slice(len(s) - r, None)
        right = V.T[kept] if turned else V[kept]
        return (U[:, kept] * s[kept]) @ right

    return with_directions


def projected(block, r):
    """Another right answer to exercise 8.4."""
    V = torch.linalg.svd(block).Vh[:r]
    return block @ V.T @ V


MISTAKES = [
    ("same_head", by_attention(mask=False), "another future"),
    ("same_head", by_attention(rows=False), "the softmax forgets"),
    ("same_head", by_attention(tolerance=0.5), "it should say False"),
    ("same_head", lambda one, other: None, "nothing yet"),
    ("separating", apart(itself=False), "which is a key as well"),
    ("separating", apart(variable=min), "latest variable"),
    ("separating", apart(best=False), "one leads by"),
    ("separating", forgets_itself, "if one forgets the number itself"),
    ("separating", lambda worth, position: [], "it finds no list"),
    ("separating", lambda worth, position: ["PAD"] * (len(position) - 1), "with a variable"),
    ("separating", lambda worth, position: None, "nothing yet"),
    ("flat_restored", restore(constant="none"), "the constant is missing"),
    ("flat_restored", restore(constant="shares"), "multiplies the odds"),
    ("flat_restored", restore(sign=-1), "the wrong sign"),
    ("flat_restored", restore(change=False), "return the change"),
    ("flat_restored", restore(change="value"), "must be added to the old term"),
    ("flat_restored", restore(everywhere=True), "outside the mask nothing changes"),
    ("flat_restored", only_a_constant, "you give the same to all"),
    ("flat_restored", lambda scores, term, keys: None, "nothing yet"),
    ("with_directions", rank(extra=-1), "are allowed"),
    ("with_directions", rank(extra=1), "the nearest is at"),
    ("with_directions", rank(turned=True), "on their sides"),
]

RIGHT = [
    ("same_head", by_attention()),
    ("separating", by_tensor),
    ("flat_restored", by_problem),
    ("with_directions", projected),
]
