"""The GPT of rules from examples: rotary positions by complex numbers, causality, and a plain forward pass head by head."""

import pytest
import torch

from assign_add_lib.companions.rules.model import ASKED, Network, record, rotary


def network(depth=3, seed=0):
    torch.manual_seed(seed)
    return Network(7, depth, 16, 2, std=0.3).double().requires_grad_(False)


def some_tokens(rows=5, shots=4, seed=1):
    return torch.randint(7, (rows, 3 * shots), generator=torch.Generator().manual_seed(seed))


def test_rotary_positions_turn_complex_numbers():
    d, places = 12, torch.arange(9)
    x = torch.randn(2, 9, d, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    turned = rotary(x, places)
    for position in places.tolist():
        for i in range(d // 2):
            z = torch.complex(x[:, position, i], x[:, position, i + d // 2])
            z = z * torch.polar(torch.tensor(1.0).double(), torch.tensor(position * 10_000 ** (-2 * i / d)).double())
            found = torch.complex(turned[:, position, i], turned[:, position, i + d // 2])
            torch.testing.assert_close(found, z, atol=1e-6, rtol=0)


def test_logits_are_those_of_a_plain_forward_pass():
    """Token by token, head by head, at all positions; of which those of every y count."""
    net, tokens = network(), some_tokens()
    for row, logits in zip(tokens, net(tokens)):
        stream = net.embed.weight[row]
        for layer in net.layers:
            normed = layer.norm_attention(stream)
            heads = []
            for head in range(2):
                of = slice(8 * head, 8 * head + 8)
                q, k, v = ((normed @ each.weight.T)[:, of] for each in (layer.q, layer.k, layer.v))
                q, k = (rotary(each, torch.arange(len(row))) for each in (q, k))
                read = []
                for i in range(len(row)):
                    weights = torch.stack([q[i] @ k[j] / 8**0.5 for j in range(i + 1)]).softmax(0)
                    read.append(sum(weight * v[j] for j, weight in enumerate(weights)))
                heads.append(torch.stack(read))
            stream = stream + torch.cat(heads, 1) @ layer.out.weight.T
            stream = stream + (layer.norm_mlp(stream) @ layer.up.weight.T).relu() @ layer.down.weight.T
        expected = net.norm(stream) @ net.embed.weight.T
        torch.testing.assert_close(logits, expected[1::3], atol=1e-9, rtol=0)


def test_what_is_altered_at_a_site_is_read_from_there_on():
    """Attention to the first position alone, as a pattern and as what it reads, and the stream of another row."""
    net, tokens, other = network(depth=2), some_tokens(), some_tokens(seed=2)
    plain = net(tokens)
    torch.testing.assert_close(net(tokens, alter={"blocks.1.attn.hook_pattern": lambda pattern: pattern}), plain)
    torch.testing.assert_close(net(tokens, asked=slice(None))[:, 1::3], plain)
    first = torch.eye(12).double()[0].expand(5, 2, 12, -1)
    value = net.layers[0].queries_keys_values(net.embed(tokens))[2][:, None, :, 0]  # (row, 1, head, d_head)
    by_pattern = net(tokens, alter={"blocks.0.attn.hook_pattern": lambda pattern: first})
    torch.testing.assert_close(by_pattern, net(tokens, alter={"blocks.0.attn.hook_z": lambda z: value.expand_as(z)}))
    assert (by_pattern - plain).abs().max() > 1e-3
    for site, stream in zip(net.streams, record(net, other, net.streams, ASKED)):
        torch.testing.assert_close(net(tokens, alter={site: lambda _, stream=stream: stream}), net(other))


def test_what_writes_into_the_stream_starts_smaller():
    torch.manual_seed(0)
    net = Network(11, 4, 96, 4)
    assert net.layers[0].q.weight.std().item() == pytest.approx(0.05, rel=0.05)
    for layer in net.layers:
        assert layer.out.weight.std().item() == pytest.approx(0.05 / 8**0.5, rel=0.05)
        assert layer.down.weight.std().item() == pytest.approx(0.05 / 8**0.5, rel=0.05)
    assert net.embed.weight.std().item() == pytest.approx(0.05, rel=0.1)
