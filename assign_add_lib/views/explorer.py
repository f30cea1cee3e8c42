"""The live network: trained networks that answer in the page, asked by the reader; no kernel stands behind it."""

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

import torch
from IPython.display import HTML
from safetensors.torch import save
from torch import Tensor

from .. import handmade
from ..engine.manifest import data_folder
from ..model import Weights, forward
from ..task import STUDY, Problem
from ..training import Run, load_run
from .attention import attention, attention_figure, attention_in_words
from .page import img_element, is_static, picture_of

BY_HAND = "hand-built"  # what the network of `handmade` is called among the runs
PARTS = ("run", "tokens", "changes", "flow", "attention", "rows", "score", "stream", "circle", "accuracy")
DRAWN = ("passes", "arrows", "attention", "behind")
# each after what it imports
MODULES = ("elements", "chance", "network", "words", "problem", "field", "interventions", *DRAWN, "shelf", "pane", "explorer")


class Asked(NamedTuple):
    """A network to ask: a run, weights, or the name of a shipped run or of the network written by hand.

    `changes` holds settings of the live network by name, such as `{"shift": 1}`: see `interventions.js`.  In a notebook a
    reader can move among `steps`; on the site, among all that are shipped.
    """

    source: Run | Weights | str
    step: int | None = None
    changes: Mapping[str, float] = {}
    steps: Sequence[int] = ()


def explorer(
    problem: Problem | str,
    *networks: Asked | Run | Weights | str,
    shows: Sequence[str] = PARTS,
    predict: bool = False,
    unassigned: bool = False,
    caption: str = "Type a problem, and the network answers here.",
) -> HTML:
    """Ask one network, or two beside each other, about a problem that the reader may change.

    `shows` names the parts that are drawn; with `predict`, the reader first says a number, and with
    `unassigned` may type problems that ask for a letter without a number.  Raises ValueError for a bad
    problem, step, part or number of networks, and for a network that is not of the study's task.
    """
    asked = [network if isinstance(network, Asked) else Asked(network) for network in networks]
    if len(asked) not in (1, 2):
        raise ValueError(f"one network is asked, or two beside each other, not {len(asked)}")
    if unknown := set(shows) - set(PARTS):
        raise ValueError(f"there is no part {min(unknown)}; there are {', '.join(PARTS)}")
    sources = [_network(each.source) for each in asked]
    refuse_others(*sources)
    problem = Problem.parse(problem) if isinstance(problem, str) else problem
    attributes, held = {"problem": str(problem), "shows": " ".join(shows)}, {}
    on_site = is_static() and all(map(_is_shipped, asked))
    for side, each, source in zip(("", "2"), asked, sources):
        name, weights = _handed(each, source, f"yours{side}")
        attributes |= {f"run{side}": name, f"step{side}": next(iter(weights))}
        attributes |= {f"{key}{side}": value for key, value in each.changes.items()}
        if not on_site:
            held.setdefault(name, {}).update({step: packed(of.tensors()) for step, of in weights.items()})
    patterns, names = attention(sources[0], problem, asked[0].step)
    picture = img_element(picture_of(attention_figure(patterns, names), attention_in_words(patterns, names)))
    data = "" if on_site else f'<script type="application/json">{json.dumps(held)}</script>'
    written = "".join(f' {key}="{html.escape(str(value))}"' for key, value in attributes.items())
    written += " predict" * predict + " unassigned" * unassigned
    figure = (
        f'<figure class="explorer-view"><assign-add{written}>{picture}{data}</assign-add>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )
    return HTML(figure if is_static() else figure + live(MODULES, "explorable"))


def refuse_others(*sources: Run | Weights) -> None:
    """Raise ValueError for a network that is not of the study's task, which is all that a page's problems are of."""
    if any(source.task != STUDY for source in sources):
        raise ValueError("the live network answers in the study's task only")


def sentence(problem: Problem, weights: Weights) -> str:
    """What the browser says of a network's answer, in HTML: `say` of pane.js, for a page that says it before any script."""
    return f"On {problem} {saying(forward(weights, problem.tokens()[None])[0, -1].softmax(0), problem.answer)}"


def saying(odds: Tensor, right: int) -> str:
    """What a network says, in HTML, from the probabilities (answer,) of all answers: `saying` of words.js."""
    answer = int(odds.argmax())
    so = ": right." if answer == right else f"; right is {right} (probability {_share(odds[right])})."
    return f"the network says <strong>{answer}</strong>, with probability {_share(odds[answer])}{so}"


def _share(value: float) -> str:
    return "above 0.99" if value >= 0.995 else "below 0.01" if value < 0.005 else f"{value:.2f}"


def _network(source: Run | Weights | str) -> Run | Weights:
    if isinstance(source, str):
        return handmade.weights() if source == BY_HAND else load_run(source)
    return source


def _is_shipped(asked: Asked) -> bool:
    """Whether the site has the weights."""
    source = asked.source
    return isinstance(source, str) or (isinstance(source, Run) and source.folder == data_folder() / "runs" / source.name)


def _handed(asked: Asked, source: Run | Weights, unnamed: str) -> tuple[str, dict[int, Weights]]:
    """What a network is called, and its weights by step, first those of the step that is asked."""
    if isinstance(source, Weights):
        return asked.source if isinstance(asked.source, str) else unnamed, {0: source.to(torch.float32)}
    step = source.steps[-1] if asked.step is None else asked.step
    return source.name, {each: source.weights(each).to(torch.half) for each in (step, *asked.steps)}


def packed(tensors: Mapping[str, Tensor]) -> str:
    """A safetensors file of tensors, by name, in base64."""
    return base64.b64encode(save({name: each.contiguous() for name, each in tensors.items()})).decode()


def live_script(modules: Sequence[str] = MODULES, base: str = "document.baseURI") -> str:
    """The browser code of the live network in one piece, with what its addresses start from: by default the page."""
    folder = files(__package__) / "live"
    joined = "\n".join((folder / f"{name}.js").read_text("utf-8") for name in modules)
    joined = re.sub(r"(?m)^import .*\n", "", joined).replace("import.meta.url", base)
    return f"(() => {{\n{re.sub(r'(?m)^export ', '', joined)}\n}})();".replace("</script", r"<\/script")


def live(modules: Sequence[str], *sheets: str) -> str:
    """All that an output needs in Jupyter or Colab, which sees neither the site nor other outputs: these modules and sheets."""
    style = "".join((files(__package__) / "live" / f"{name}.css").read_text("utf-8") for name in ("explorer", *sheets))
    return f"<style>{style}</style><script>{live_script(modules)}</script>"
