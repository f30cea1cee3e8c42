"""The plain forward against TransformerLens, at every site."""

import itertools
import math

import pytest
import torch
from small import SIZES, problems, random_weights

from assign_add_lib import Task, Weights, forward
from assign_add_lib.model import run, site_names, trace, weight_shapes


def test_initial_weights_have_the_spread_of_the_study():
    """Standard deviation 0.8 / sqrt(128) in every matrix; 281 216 numbers in all."""
    tensors = Weights.init(seed=5).tensors()
    assert sum(tensor.numel() for tensor in tensors.values()) == 74 * 128 + 16 * 128 + 8 * 128**2 + 2 * 128 * 512 + 128 * 59
    for name, tensor in tensors.items():
        error = 1 / math.sqrt(2 * tensor.numel())
        assert abs(tensor.std() / (0.8 / math.sqrt(128)) - 1) < 5 * error, name
        assert abs(tensor.mean()) < 5 * tensor.std() / math.sqrt(tensor.numel()), name
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in Weights.init(seed=5).tensors().items())
    assert not any(torch.equal(tensor, tensors[name]) for name, tensor in Weights.init(seed=6).tensors().items())


SHAPES = {"W_pos": (16, 127), "W_Q": (128, 128), "W_K": (2, 128, 64), "W_V": (2, 64, 128), "W_O": (128, 128)}
SHAPES |= {"W_in": (127, 512), "W_out": (511, 128), "W_U": (64, 59)}


@pytest.mark.parametrize("name, shape", SHAPES.items())
def test_weights_that_do_not_fit_are_refused(name, shape):
    with pytest.raises(ValueError, match=f"{name} has shape"):
        Weights.init().replace(**{name: torch.zeros(shape)})


def test_trainable_weights_are_copies_that_collect_gradients():
    weights = random_weights(*SIZES[3])
    copy = weights.trainable()
    forward(copy, problems(SIZES[3][0], 4).tokens).sum().backward()
    for name, tensor in copy.tensors().items():
        assert tensor.grad is not None and getattr(weights, name).grad is None, name
        assert tensor.data_ptr() != getattr(weights, name).data_ptr(), name


@pytest.fixture(scope="module", params=[(2, None), (3, 2)], ids=["the study's form", "three layers of two heads"])
def altered(request):
    """Weights of some layers and heads, tokens, and the twin in TransformerLens."""
    layers, heads = request.param
    weights = Weights.drawn(weight_shapes(18, 9, 11, 12, 5, 20, layers, heads), seed=3).to(torch.float64)
    tokens = torch.randint(18, (20, 9), generator=torch.Generator().manual_seed(1))
    return weights, tokens, weights.to_transformer_lens()


def changed(value):
    """Another value of the same shape, which depends on what was there."""
    return value * torch.linspace(0.5, 1.5, value.shape[-1], dtype=value.dtype)


def test_an_altered_site_does_what_the_hook_of_its_name_does(altered):
    """Every site by itself, on more problems than tokens and on few, against `run_with_hooks`.

    The bridge's names differ where its hooks do less than their names say.
    """
    weights, tokens, bridge = altered
    last, plain = weights.n_layers - 1, run(weights, tokens).logits
    for site in site_names(weights.n_layers):
        hook, act, alter = site, changed, {site: changed}
        if site.endswith("hook_attn_scores"):  # whose edits the bridge discards: the same on the pattern
            hook, alter = site.replace("attn_scores", "pattern"), {site: lambda held: changed(held.log_softmax(-1))}
            act = lambda held: changed(held.log()).nan_to_num(0, neginf=-math.inf).softmax(-1)  # noqa: E731
        elif site.endswith("hook_resid_mid"):  # which in the bridge reaches the MLP alone: the same change before it
            hook, act = f"blocks.{last}.hook_attn_out", lambda held: held + 0.5
            alter = {site: act}
        with torch.no_grad():
            theirs = bridge.run_with_hooks(tokens, fwd_hooks=[(hook, lambda held, hook, act=act: act(held))])[:, -1]
        for whole, rows in itertools.product((False, True), (20, 5)):
            ours = run(weights, tokens[:rows], alter, whole=whole).logits
            torch.testing.assert_close(ours, theirs[:rows], rtol=0, atol=1e-8, msg=lambda text, site=site: f"{site}: {text}")
        assert (ours - plain[:5]).abs().max() > 1e-4, f"{site}: altered without effect"


def same(ours, theirs, name):
    torch.testing.assert_close(ours, theirs.detach(), rtol=0, atol=1e-8, msg=lambda text: f"{name}: {text}")


def test_sites_hold_what_arises_there(altered):
    """All sites, at all positions and at the last alone, against what TransformerLens keeps under their names."""
    weights, tokens, bridge = altered
    logits, cache = bridge.run_with_cache(tokens)
    names, future = site_names(weights.n_layers), torch.ones(9, 9, dtype=torch.bool).triu(1)
    for whole in (False, True):
        seen = run(weights, tokens, keep=names, whole=whole)
        assert tuple(seen.sites) == names
        same(seen.logits, logits[:, -1], "logits")
        for name in names:
            theirs = cache[name]
            if name.endswith("scores"):  # the bridge's hook for them holds the pattern
                q, k = (cache[name.replace("attn_scores", part)] for part in "qk")
                theirs = torch.einsum("bqhd, bkhd -> bhqk", q, k) / math.sqrt(q.shape[-1])
                theirs = theirs.masked_fill(future, -torch.inf)
            if seen[name].shape != theirs.shape:
                assert not whole
                theirs = theirs[:, :, -1:] if name.endswith(("pattern", "scores")) else theirs[:, -1:]
            same(seen[name], theirs, name)
    if weights.W_Q.dim() == 3:  # of one head, which a trace is for
        ours = trace(weights, tokens)
        sites = {"resid_pre": "blocks.0.hook_resid_pre", "mlp_in": "blocks.1.hook_resid_mid", "pre": "blocks.1.mlp.hook_pre"}
        for name, site in (sites | {"mlp_out": "blocks.1.hook_mlp_out"}).items():
            same(getattr(ours, name), cache[site], name)
        for name, site in {
            "pattern": "attn.hook_pattern",
            "scores": "attn.hook_attn_scores",
            "attn_out": "hook_attn_out",
        }.items():
            for layer in (0, 1):
                same(getattr(ours, name)[:, layer], seen[f"blocks.{layer}.{site}"].view_as(getattr(ours, name)[:, layer]), name)
        same(forward(weights, tokens), logits, "logits")
        same(forward(weights, tokens[:, :5]), logits[:, :5], "a shorter sequence is the start of a long one")


def test_a_name_that_is_no_site_is_told():
    weights = Weights.init(Task(5, 3, 8), d_model=8, d_mlp=8)
    for wrong in ({"alter": {"blocks.2.hook_attn_out": changed}}, {"keep": ["hook_pattern"]}):
        with pytest.raises(ValueError, match="no site is called .*the sites are hook_embed"):
            run(weights, problems(weights.task, 2).tokens, **wrong)


def test_an_alteration_that_returns_nothing_is_told():
    weights = Weights.init(Task(5, 3, 8), d_model=8, d_mlp=8)
    with pytest.raises(ValueError, match="what alters blocks.0.hook_attn_out must return"):
        run(weights, problems(weights.task, 2).tokens, {"blocks.0.hook_attn_out": lambda held: None})


def test_a_site_is_kept_by_its_name_alone_and_one_that_was_not_is_told():
    weights = Weights.init(Task(5, 3, 8), d_model=8, d_mlp=8)
    held = run(weights, problems(weights.task, 2).tokens, keep="blocks.0.attn.hook_q")
    assert held["blocks.0.attn.hook_q"].shape == (2, 8, 1, 8)
    with pytest.raises(KeyError, match="holds no blocks.0.attn.hook_v, .*`keep` must name"):
        held["blocks.0.attn.hook_v"]


def test_weights_trained_in_transformer_lens_come_back(altered):
    weights, tokens, bridge = altered
    back = Weights.from_transformer_lens(bridge)
    assert all(torch.equal(getattr(back, name), tensor) for name, tensor in weights.tensors().items())
    bridge = weights.to_transformer_lens()
    optimizer = torch.optim.Adam(bridge.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        bridge(tokens)[:, -1].square().sum().backward()
        optimizer.step()
    back = Weights.from_transformer_lens(bridge)
    assert all((getattr(back, name) - tensor).abs().max() > 0.1 for name, tensor in weights.tensors().items())
    same(forward(back, tokens), bridge(tokens), "logits")


OTHERS = {"act_fn 'gelu'": {"act_fn": "gelu"}, "normalization_type 'LNPre'": {"normalization_type": "LNPre"}}
OTHERS |= {"attention_dir 'bidirectional'": {"attention_dir": "bidirectional"}, "attn_only True": {"attn_only": True}}
OTHERS |= {"output_logits_soft_cap 2.0": {"output_logits_soft_cap": 2.0}, "gated_mlp True": {"gated_mlp": True}}
OTHERS |= {"positional_embedding_type 'rotary'": {"positional_embedding_type": "rotary"}, "other logits": {"attn_scale": 3.0}}


@pytest.mark.parametrize("differs, settings", [*OTHERS.items(), ("b_Q must be zero", {}), ("W_in before the last layer", {})])
def test_another_network_of_transformer_lens_is_refused(differs, settings):
    from transformer_lens import TransformerBridge
    from transformer_lens.config import TransformerBridgeConfig

    config = TransformerBridgeConfig(d_model=8, d_head=4, d_mlp=16, n_layers=2, n_heads=2, n_ctx=6, d_vocab=9, act_fn="relu")
    for name, value in ({"normalization_type": None} | settings).items():
        setattr(config, name, value)
    bridge = TransformerBridge.boot_native(config)
    state = {name: each if "bias" in differs or "weight" in name else 0 * each for name, each in bridge.state_dict().items()}
    state |= {name: 0 * each for name, each in state.items() if name.startswith("blocks.0.mlp") and "W_in" not in differs}
    state |= {name: each + 0.1 for name, each in state.items() if name == "blocks.1.attn.q.bias" and "b_Q" in differs}
    bridge.load_state_dict(state)
    with pytest.raises(ValueError, match=f"^this is another network than ours.*{differs}"):
        Weights.from_transformer_lens(bridge)


def hooked(weights):
    """The state dict that a HookedTransformer of TransformerLens 2 with these weights has."""
    heads = {name: weights.by_head(name) for name in ("W_Q", "W_K", "W_V", "W_O")}
    layers, n_heads, d_model, d_head = heads["W_Q"].shape
    state = {"embed.W_E": weights.W_E, "pos_embed.W_pos": weights.W_pos}
    for layer in range(layers):
        block, last = f"blocks.{layer}", layer == layers - 1
        state |= {f"{block}.attn.{name}": each[layer] for name, each in heads.items()}
        state |= {f"{block}.attn.b_{each}": torch.zeros(n_heads, d_head) for each in "QKV"}
        state |= {f"{block}.attn.b_O": torch.zeros(d_model), f"{block}.attn.IGNORE": torch.tensor(-torch.inf)}
        state |= {f"{block}.attn.mask": torch.ones(9, 9).tril().bool()}
        state |= {f"{block}.mlp.W_in": last * weights.W_in, f"{block}.mlp.b_in": torch.zeros(len(weights.W_in.T))}
        state |= {f"{block}.mlp.W_out": last * weights.W_out, f"{block}.mlp.b_out": torch.zeros(d_model)}
    return state | {"unembed.W_U": weights.W_U, "unembed.b_U": torch.zeros(len(weights.W_U.T))}


def test_a_hooked_transformer_is_read_from_its_state(altered):
    weights = altered[0]
    back = Weights.from_hooked_transformer(hooked(weights))
    assert all(torch.equal(getattr(back, name), tensor) for name, tensor in weights.tensors().items())


@pytest.mark.parametrize(
    "name, told", [("unembed.b_U", "b_U must be zero"), ("ln_final.w", "it has ln_final.w"), ("", "lacks W_E")]
)
def test_another_hooked_transformer_is_refused(altered, name, told):
    state = hooked(altered[0]) | {name: torch.ones(11)} if name else {}
    with pytest.raises(ValueError, match=told):
        Weights.from_hooked_transformer(state)
