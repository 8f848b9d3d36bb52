"""The networks of the suite as torch modules, in evaluation mode and with seeded weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

SEED = 1


def perceptron(*sizes: int) -> nn.Module:
    """Dense layers with relu between them."""
    layers: list[nn.Module] = []
    for before, after in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def digits_cnn() -> nn.Module:
    """Two convolutions, pooling and two dense layers for images of 8 x 8."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
        nn.Softmax(-1),
    )


class Elementwise(nn.Module):
    """Three times tanh of a multiplication, then sigmoid of a sum."""

    def forward(self, x: Any, y: Any) -> Any:
        for _ in range(3):
            x = torch.sigmoid(torch.tanh(x * y) + y)
        return x


class Recurrent(nn.Module):
    """A recurrent layer of 128 units over steps of 64 numbers; the last state is classified."""

    def __init__(self, layer: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.layer = layer(64, 128)
        self.head = nn.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        states, _ = self.layer(x)
        return self.head(states[-1])


def _normalized(
    channels: int, out: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    conv = nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out))


class InvertedResidual(nn.Module):
    """MobileNetV2's block: widened, filtered by channel, narrowed."""

    def __init__(self, channels: int, out: int, stride: int, factor: int) -> None:
        super().__init__()
        wide = channels * factor
        widen = [_normalized(channels, wide, 1), nn.ReLU6()] if factor > 1 else []
        depthwise = [_normalized(wide, wide, 3, stride, wide), nn.ReLU6()]
        self.body = nn.Sequential(*widen, *depthwise, _normalized(wide, out, 1))
        self.adds = stride == 1 and channels == out

    def forward(self, x: Any) -> Any:
        return x + self.body(x) if self.adds else self.body(x)


def mobilenetv2() -> nn.Module:
    """MobileNetV2 1.0 for 224 x 224."""
    stages = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]
    layers: list[nn.Module] = [_normalized(3, 32, 3, 2), nn.ReLU6()]
    channels = 32
    for factor, out, count, stride in stages:
        for i in range(count):
            layers.append(InvertedResidual(channels, out, stride if i == 0 else 1, factor))
            channels = out
    layers += [_normalized(320, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(1280, 1000))


class Bottleneck(nn.Module):
    """ResNet's block of three convolutions."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.body = nn.Sequential(
            _normalized(channels, width, 1),
            nn.ReLU(),
            _normalized(width, width, 3, stride),
            nn.ReLU(),
            _normalized(width, out, 1),
        )
        same = stride == 1 and channels == out
        self.shortcut = nn.Identity() if same else _normalized(channels, out, 1, stride)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet50() -> nn.Module:
    """ResNet-50 for 224 x 224."""
    layers: list[nn.Module] = [_normalized(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, count, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for i in range(count):
            layers.append(Bottleneck(channels, width, stride if i == 0 else 1))
            channels = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)]
    return nn.Sequential(*layers)


def _heads(x: Any, heads: int) -> Any:
    """[batch, time, hidden] as [batch, heads, time, hidden / heads]."""
    batch, time, hidden = x.shape
    return x.reshape(batch, time, heads, hidden // heads).transpose(1, 2)


def _attend(q: Any, k: Any, v: Any) -> Any:
    """Attention without a mask, the heads side by side again."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    mixed = torch.softmax(scores, -1) @ v
    return mixed.transpose(1, 2).reshape(q.shape[0], q.shape[2], -1)


class EncoderLayer(nn.Module):
    """A layer of BERT: attention, then two dense layers, each normalized after its sum."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.mix = (nn.Linear(hidden, hidden) for _ in range(4))
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)

    def forward(self, x: Any) -> Any:
        q, k, v = (_heads(f(x), self.heads) for f in (self.query, self.key, self.value))
        x = self.norm1(x + self.mix(_attend(q, k, v)))
        return self.norm2(x + self.down(functional.gelu(self.up(x))))


class Encoder(nn.Module):
    """An encoder of the shape of MiniLM-L6."""

    def __init__(self, layers: int = 6, hidden: int = 384, heads: int = 12) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(30522, hidden), nn.Embedding(512, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.layers = nn.ModuleList(EncoderLayer(hidden, heads) for _ in range(layers))

    def forward(self, ids: Any) -> Any:
        x = self.norm(self.tokens(ids) + self.positions.weight[: ids.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return x


class DecoderLayer(nn.Module):
    """A layer of GPT-2 for one token, with the keys and values of those before it."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.project, self.mix = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x: Any, keys: Any, values: Any) -> Any:
        parts = self.project(self.norm1(x)).split(x.shape[-1], -1)
        q, k, v = (_heads(part, self.heads) for part in parts)
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        x = x + self.mix(_attend(q, k, v))
        wide = functional.gelu(self.up(self.norm2(x)), approximate="tanh")
        return x + self.down(wide), k, v


class DecoderStep(nn.Module):
    """One step of a decoder of the shape of GPT-2; caches go in and come out."""

    def __init__(self, layers: int = 4, hidden: int = 256, heads: int = 8) -> None:
        super().__init__()
        self.tokens = nn.Embedding(8000, hidden)
        self.layers = nn.ModuleList(DecoderLayer(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, 8000, bias=False)

    def forward(self, ids: Any, keys: Any, values: Any) -> Any:
        x = self.tokens(ids)
        caches = []
        for i, layer in enumerate(self.layers):
            x, k, v = layer(x, keys[i], values[i])
            caches.append((k, v))
        new_keys, new_values = (torch.stack(list(c)) for c in zip(*caches, strict=True))
        return self.head(self.norm(x)), new_keys, new_values


MAKERS: dict[str, Callable[[], nn.Module]] = {
    "tiny": lambda: perceptron(64, 32, 10),
    "mlp": lambda: perceptron(1000, 100, 10),
    "cnn": digits_cnn,
    "elementwise": Elementwise,
    "lstm": lambda: Recurrent(nn.LSTM),
    "gru": lambda: Recurrent(nn.GRU),
    "mobilenetv2": mobilenetv2,
    "resnet50": resnet50,
    "minilm": Encoder,
    "decoder": DecoderStep,
}


def make(family: str) -> nn.Module:
    """The module of a family of the suite, the same weights each time.

    Batch normalizations get the statistics of random images, without which deep networks would
    give zeros or infinities.
    """
    torch.manual_seed(SEED)
    module = MAKERS[family]()
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]
    if norms:
        for norm in norms:
            norm.momentum = 1.0
        with torch.no_grad():
            module.train()(torch.randn(4, 3, 224, 224))
    return module.eval()
