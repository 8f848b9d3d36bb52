"""Small torch networks of the common kinds, and their ONNX exports."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

Array = np.ndarray[Any, Any]


class MLP(nn.Sequential):
    """Dense layers with four activations."""

    def __init__(self) -> None:
        super().__init__(
            *(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh()),
            *(nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 8), nn.Sigmoid(), nn.Linear(8, 4)),
        )


class Residual(nn.Module):
    """The block of ResNet-18: two convolutions and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """ResNet-18 with small widths."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 7, 2, 3, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        widths = [8, 8, 16, 32, 64]
        stages = [
            nn.Sequential(Residual(a, b, 1 + (a != b)), Residual(b, b, 1))
            for a, b in zip(widths[:-1], widths[1:], strict=True)
        ]
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.adaptive_avg_pool2d(self.stages(self.stem(x)), 1)
        return self.head(torch.flatten(x, 1))


class Inverted(nn.Module):
    """The block of MobileNetV2: wide, depthwise, narrow."""

    def __init__(self, inputs: int, outputs: int, stride: int, factor: int = 4) -> None:
        super().__init__()
        wide = inputs * factor
        self.residual = stride == 1 and inputs == outputs
        self.layers = nn.Sequential(
            *(nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()),
            *(nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide)),
            *(nn.ReLU6(), nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs)),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(x) if self.residual else self.layers(x)


class MobileNet(nn.Module):
    """MobileNetV2 with few and narrow blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6()
        )
        self.blocks = nn.Sequential(
            Inverted(8, 8, 1), Inverted(8, 12, 2), Inverted(12, 12, 1), Inverted(12, 16, 2)
        )
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean([2, 3]))


class UNet(nn.Module):
    """Down and up again, past the layers in between; normalised by groups and by images."""

    def __init__(self) -> None:
        super().__init__()
        self.top = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.GroupNorm(2, 8), nn.SiLU())
        self.middle = nn.Sequential(
            nn.Conv2d(8, 16, 3, 2, 1), nn.InstanceNorm2d(16, affine=True), nn.LeakyReLU(0.1)
        )
        self.bottom = nn.Sequential(nn.Conv2d(16, 16, 3, 2, 1), nn.GELU(), nn.Dropout(0.1))
        self.up = nn.ConvTranspose2d(16, 16, 2, 2)
        self.narrow = nn.Sequential(nn.Conv2d(32, 8, 3, 1, 1), nn.PReLU(8))
        self.larger = nn.Upsample(scale_factor=2, mode="bilinear")
        self.head = nn.Conv2d(16, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        top = self.top(x)
        middle = self.middle(top)
        y = self.narrow(torch.cat([self.up(self.bottom(middle)), middle], 1))
        return torch.sigmoid(self.head(torch.cat([self.larger(y), top], 1)))


class Tagger(nn.Module):
    """A label for each word of a sentence."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(40, 12)
        self.lstm = nn.LSTM(12, 10, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(20, 5)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.words(ids))[0])


def heads(x: torch.Tensor, number: int) -> torch.Tensor:
    """(batch, time, width) to (batch, heads, time, width / heads)."""
    return x.unflatten(-1, (number, -1)).transpose(1, 2)


class EncoderLayer(nn.Module):
    """Attention to all words that the mask keeps, then a dense part; normalised after each."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = (heads(layer(x), 4) for layer in (self.query, self.key, self.value))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + mask
        found = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
        x = self.norm1(x + self.out(found))
        return self.norm2(x + self.narrow(functional.gelu(self.wide(x))))


class Bert(nn.Module):
    """BERT's encoder and pooler with two narrow layers."""

    def __init__(self) -> None:
        super().__init__()
        width = 24
        self.words, self.kinds = nn.Embedding(50, width), nn.Embedding(2, width)
        self.positions = nn.Embedding(16, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(EncoderLayer(width) for _ in range(2))
        self.pooler = nn.Linear(width, width)

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        at = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.kinds(kinds) + self.positions(at))
        large = (1.0 - mask[:, None, None, :].to(x.dtype)) * -1e4
        for layer in self.layers:
            x = layer(x, large)
        return x, torch.tanh(self.pooler(x[:, 0]))


class DecoderLayer(nn.Module):
    """Attention to the words so far, whose keys and values are kept; normalised before."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        q, k, v = (heads(part, 4) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        found = functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        hidden = functional.gelu(self.wide(self.norm2(x)), approximate="tanh")
        return x + self.narrow(hidden), keys, values


class Gpt(nn.Module):
    """GPT-2's decoder with two narrow layers: the cache (layer, batch, head, time, width) goes in
    and comes out longer."""

    def __init__(self) -> None:
        super().__init__()
        width = 24
        self.words, self.positions = nn.Embedding(50, width), nn.Embedding(32, width)
        self.layers = nn.ModuleList(DecoderLayer(width) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 50, bias=False)

    def forward(
        self, ids: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        past = keys.shape[3]
        to = torch.arange(past + ids.shape[1], device=ids.device)
        at = to[past:]
        x = self.words(ids) + self.positions(at)
        mask = to[None, :] <= at[:, None]
        new_keys, new_values = [], []
        for i, layer in enumerate(self.layers):
            x, k, v = layer(x, mask, keys[i], values[i])
            new_keys.append(k)
            new_values.append(v)
        return self.head(self.norm(x)), torch.stack(new_keys), torch.stack(new_values)


@dataclass
class Case:
    """A network and how it is called.

    Attributes:
        make: the network's class.
        feed: values of the inputs by name for a size of the batch.
        axes: of each input that may have any size, with the size's name.
        outputs: names of the outputs.
        output_axes: as axes, of the outputs.
    """

    make: Callable[[], nn.Module]
    feed: Callable[[int], dict[str, Array]]
    axes: dict[str, dict[int, str]]
    outputs: list[str]
    output_axes: dict[str, dict[int, str]]


def values(*shape: int, seed: int = 0) -> Array:
    return np.random.RandomState(seed + sum(shape)).randn(*shape).astype(np.float32)


def words(*shape: int) -> Array:
    return np.random.RandomState(sum(shape)).randint(0, 40, shape).astype(np.int64)


def _bert(n: int) -> dict[str, Array]:
    lengths = 9 - np.arange(n) % 5
    mask = (np.arange(9) < lengths[:, None]).astype(np.int64)
    return {"ids": words(n, 9), "mask": mask, "kinds": words(n, 9) % 2}


def _gpt(n: int) -> dict[str, Array]:
    return {"ids": words(n, 4), "keys": values(2, n, 4, 3, 6), "values": values(2, n, 4, 3, 6)}


_BATCH = {0: "n"}
_WORDS = {0: "n", 1: "time"}
_IMAGES = {"feed": lambda n: {"x": values(n, 3, 32, 32)}, "axes": {"x": _BATCH}}
_ONE = {"outputs": ["y"], "output_axes": {"y": _BATCH}}
_CACHE = {1: "n", 3: "past"}
_LONGER = {1: "n", 3: "total"}

CASES = {
    "mlp": Case(MLP, lambda n: {"x": values(n, 10)}, {"x": _BATCH}, **_ONE),
    "resnet": Case(ResNet, **_IMAGES, **_ONE),
    "mobilenet": Case(MobileNet, **_IMAGES, **_ONE),
    "unet": Case(UNet, **_IMAGES, **_ONE),
    "tagger": Case(
        Tagger, lambda n: {"ids": words(n, 7)}, {"ids": _WORDS}, ["y"], {"y": _WORDS}
    ),
    "bert": Case(
        Bert,
        _bert,
        {"ids": _WORDS, "mask": _WORDS, "kinds": _WORDS},
        ["hidden", "pooled"],
        {"hidden": _WORDS, "pooled": _BATCH},
    ),
    "gpt": Case(
        Gpt,
        _gpt,
        {"ids": _WORDS, "keys": _CACHE, "values": _CACHE},
        ["logits", "new_keys", "new_values"],
        {"logits": _WORDS, "new_keys": _LONGER, "new_values": _LONGER},
    ),
}  # fmt: skip


@cache
def network(name: str) -> nn.Module:
    """The network in evaluation mode; statistics of normalisations are those of random images, and
    no two parameters are equal: torch would write one for both."""
    torch.manual_seed(1)
    made = CASES[name].make()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    if any(isinstance(m, nn.BatchNorm2d) for m in made.modules()):
        made.train()
        with torch.no_grad():
            for i in range(10):
                made(torch.from_numpy(values(16, 3, 32, 32, seed=i)))
    return made.eval()


@cache
def exported(name: str, dynamo: bool, named: bool = False) -> bytes:
    """The network as ONNX.

    Args:
        name: of the case.
        dynamo: which of torch's two exporters.
        named: every parameter stays an initializer with its name; False: as by default, when
            normalisations are folded into convolutions and weights transposed.
    """
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _by_dynamo(name)[not named] if dynamo else _by_script(name, named)


def _arguments(name: str) -> dict[str, Any]:
    feeds = CASES[name].feed(2)
    return {
        "args": tuple(torch.from_numpy(x) for x in feeds.values()),
        "input_names": list(feeds),
        "output_names": CASES[name].outputs,
    }


def _by_script(name: str, named: bool) -> bytes:
    case, written = CASES[name], io.BytesIO()
    kept = {"do_constant_folding": False, "training": torch.onnx.TrainingMode.PRESERVE}
    torch.onnx.export(
        network(name),
        f=written,
        dynamo=False,
        dynamic_axes={**case.axes, **case.output_axes},
        **_arguments(name),
        **(kept if named else {}),
    )
    return written.getvalue()


@cache
def _by_dynamo(name: str) -> tuple[bytes, bytes]:
    """As it is traced, and as torch simplifies it."""
    case = CASES[name]
    axes = (case.axes[key] for key in case.feed(2))
    made = torch.onnx.export(
        network(name),
        dynamo=True,
        dynamic_shapes=tuple(dict.fromkeys(a, torch.export.Dim.DYNAMIC) for a in axes),
        optimize=False,
        verbose=False,
        **_arguments(name),
    )
    traced = made.model_proto.SerializeToString()
    made.optimize()
    return traced, made.model_proto.SerializeToString()


def outputs(name: str, feeds: dict[str, Array]) -> dict[str, torch.Tensor]:
    """The results of torch."""
    found = network(name)(*(torch.from_numpy(x) for x in feeds.values()))
    found = (found,) if isinstance(found, torch.Tensor) else found
    return dict(zip(CASES[name].outputs, found, strict=True))
