"""Answers to the exercises of chapter 2: mistakes, with words of what their check must say, and other right ones."""

from assign_add_lib import run


def plainly(C, QK1, tokens):
    """Another right answer to exercise 2.1: each vector is normalised first."""
    x = C[tokens] + C[-len(tokens) :]
    x = x / x.square().mean(1, keepdim=True).sqrt()
    return x @ QK1 @ x.T


SIZE, ONES = "four(G).diagonal().sqrt()", "torch.ones(len(t))"
ROWS = "S, G =", "C = C / C.square().mean(1, keepdim=True).sqrt()\n    S, G =", SIZE, ONES

MISTAKES = [
    ("turned", lambda weights, layer, M: weights.replace(W_Q=weights.W_Q @ M), "it changes layer"),
    ("normalised_scores", (SIZE, ONES), "without normalisation"),
    ("normalised_scores", (" / C.shape[1]", ""), "root mean square is smaller"),
    ("normalised_scores", ("four(S)", "four(S).T"), "the query is the row"),
    ("normalised_scores", (SIZE, "four(G).diagonal()"), "are off by up to"),
    ("normalised_scores", ("four(G)", "(G[t][:, t] + G[p][:, p])"), "counts too"),
    ("normalised_scores", ROWS, "you normalise each row of C"),
    ("normalised_scores", ("four(S)", "four(S)[None]"), "shape"),
    ("typical_score", ("math.sqrt(d_head * query * query) / math.sqrt(d_head)", "query * query"), "that is the variance"),
    ("typical_score", (" / math.sqrt(d_head)", ""), "divided by the square root"),
    ("typical_score", ("2 * s**2", "s**2"), "plus a position's"),
    ("typical_score", ("2 * s**2", "4 * s**2"), "3000 draws give"),
    ("turned", lambda weights, layer, M: weights, "should become W_Q M"),
    ("turned", ("weights.replace(W_Q=W_Q, W_K=W_K)", "W_Q, W_K"), "should return Weights"),
    ("turned", ("inv(M).T", "inv(M)"), "changes the logits"),
    ("turned", ("[layer - 1]", "[2 - layer]"), "changes layer"),
    ("turned", ("[layer - 1]", "[layer]"), "layer 1 is at index 0"),
    ("turned", (".clone()", ""), "clone()"),
    ("put_back", lambda trained, start, name, tokens: run(trained, tokens).answers, "nothing was put back"),
    ("put_back", lambda trained, start, name, tokens: run(start, tokens).answers, "all was put back"),
    ("put_back", ("trained.replace(**{name: start.t", "start.replace(**{name: trained.t"), "keep the other eight"),
    ("put_back", (".answers", ".logits"), "shape"),
]

RIGHT = [
    ("normalised_scores", plainly),
]
