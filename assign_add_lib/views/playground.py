"""Rules from examples, live: networks of chapter 16 in the page, whose examples the reader hides, corrupts and changes."""

import html
from collections.abc import Mapping, Sequence

import pandas as pd
import torch
from IPython.display import HTML

from ..companions.rules.data import Rows, index_of
from ..companions.rules.model import Network
from ..companions.rules.training import RuleLearner, RuleRun
from ..engine.folder import checkpoint_path
from .explorer import live, packed, saying
from .page import data_element, is_static

# each after what it imports
MODULES = ("elements", "chance", "network", "words", "shelf", "gpt", "rows", "solvers", "card", "playground")
MOST = 8  # examples of a row


def playground(
    rule: Sequence[int],
    inputs: Sequence[Sequence[int]],
    networks: Mapping[str, RuleRun | RuleLearner],
    reads: Mapping[str, tuple[int, int]] = {},
    caption: str = "Hide an example, make it wrong or change the question, and the network answers here.",
) -> HTML:
    """Ask networks about a row of examples that the reader may hide, corrupt and change.

    The row is that of a rule (a, b) on inputs (x, y), of which the last is the question.  The first of the networks, which go
    by their names, is asked at first; the weights of a run are those of its last step.  `reads` says by name of which layer
    and head, both counted from 1, the reading is shown at first; by default it is the first head of the last layer.  Raises
    ValueError for what is no such row, for networks that count modulo different numbers, and for a head that is not there.
    """
    worlds = {source.config.p for source in networks.values()}
    if len(worlds) != 1:
        raise ValueError(f"the networks must count modulo one number, not {', '.join(map(str, sorted(worlds))) or 'none'}")
    if unknown := reads.keys() - networks.keys():
        raise ValueError(f"there is no network {min(unknown)}; there are {', '.join(networks)}")
    rows = _row(rule, inputs, *worlds)
    asked = [{"name": name, "reads": _head(source, reads.get(name)), **_handed(source)} for name, source in networks.items()]
    data = {"p": rows.p, "rule": list(map(int, rule)), "inputs": rows.inputs[0].tolist(), "networks": asked}
    still = _still(rows, {name: _network(source) for name, source in networks.items()})
    figure = (
        f'<figure class="explorer-view"><rules-from-examples>{still}{data_element(data)}'
        f"</rules-from-examples><figcaption>{html.escape(caption)}</figcaption></figure>"
    )
    return HTML(figure if is_static() else figure + live(MODULES, "playground"))


def _row(rule: Sequence[int], inputs: Sequence[Sequence[int]], p: int) -> Rows:
    """The row of a rule on inputs, once they are found to make one."""
    rule, inputs = torch.as_tensor(rule), torch.as_tensor(inputs)
    if rule.shape != (2,) or inputs.ndim != 2 or inputs.shape[1] != 2 or not 2 <= len(inputs) <= MOST + 1:
        raise ValueError(f"a row has a rule (a, b), and 1 to {MOST} examples and a question, each (x, y)")
    if not all(0 <= number < p for number in (*rule.tolist(), *inputs.flatten().tolist())):
        raise ValueError(f"numbers go from 0 to {p - 1}")
    return Rows.solve(p, rule[None], inputs[None])


def _head(source: RuleRun | RuleLearner, asked: tuple[int, int] | None) -> list[int]:
    """The layer and head that are asked, once they are found to be there; by default the first of the last layer."""
    layers, heads = source.config.depth, source.config.heads
    layer, head = asked or (layers, 1)
    if not (1 <= layer <= layers and 1 <= head <= heads):
        raise ValueError(f"there is no head {head} in layer {layer}; there are {layers} layers of {heads} heads")
    return [layer, head]


def _network(source: RuleRun | RuleLearner) -> Network:
    return source.network() if isinstance(source, RuleRun) else source.network


def _handed(source: RuleRun | RuleLearner) -> dict:
    """What a page must know of a network: its sizes, what its training showed, and its weights, or where the site has them."""
    config, split = source.config, source.split
    seen, shown = index_of(split.seen, split.p).tolist(), split.shown.nonzero().flatten().tolist()
    known = {"depth": config.depth, "heads": config.heads, "seen": seen, "shown": shown}
    sums = source.sums if isinstance(source, RuleRun) else None  # of a shipped run alone
    tensors = {name: each.detach() for name, each in _network(source).state_dict().items()}
    if not sums:
        return known | {"file": packed(tensors)}
    if not is_static():
        return known | {"file": packed({name: each.half() for name, each in tensors.items()})}
    step = source.steps[-1]
    path = checkpoint_path(source.folder, step).relative_to(source.folder).as_posix()
    return known | {"run": source.name, "step": step, "sum": sums[path]}


def _still(rows: Rows, networks: Mapping[str, Network]) -> str:
    """The row and what the networks say of its question, the first in a sentence: for print, and before a script has run."""
    with torch.no_grad():
        tokens = ((network, rows.tokens.to(network.embed.weight.device)) for network in networks.values())
        odds = torch.stack([network(each)[0, -1].softmax(0).cpu() for network, each in tokens])
    *examples, (x, y) = rows.inputs[0].tolist()
    many = "1 example" if len(examples) == 1 else f"{len(examples)} examples"
    sentence = f"On ({x},\u00a0{y}), after {many}, {saying(odds[0], int(rows.answers[0, -1]))}"
    columns = [*map(str, range(1, len(examples) + 1)), "question"]
    row = pd.DataFrame([*rows.inputs[0].T.tolist(), [*rows.answers[0, :-1].tolist(), "?"]], ["x", "y", "z"], columns)
    answers = pd.DataFrame(odds, networks.keys(), pd.Index(range(rows.p), name="probability of"))
    said = answers.to_html(border=0, float_format="{:.2f}".format)
    return f'{row.to_html(border=0)}<p class="said">{sentence}</p>{said}'
