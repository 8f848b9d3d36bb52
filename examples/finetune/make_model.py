"""Trains digits.onnx: a small network in torch that has seen the digits 0 to 4 only.

    python examples/finetune/make_model.py

finetune.py goes on from the file, which lies here already; this script needs torch.
"""

from __future__ import annotations

from pathlib import Path

import torch
from data import digits
from torch import nn

HERE = Path(__file__).resolve().parent


def network() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU()),
        *(nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False), nn.Conv2d(12, 24, 1)),
        *(nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(24 * 4 * 4, 10)),
    )


def main() -> None:
    torch.manual_seed(0)
    model, found = network(), digits()
    x, y = torch.from_numpy(found.train_x), torch.from_numpy(found.train_y)
    x, y = x[y < 5], y[y < 5]
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    for _ in range(5):
        for rows in torch.randperm(len(x)).split(64):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    torch.onnx.export(
        model.eval(),
        (x[:2],),
        str(HERE / "digits.onnx"),
        dynamo=False,
        input_names=["image"],
        output_names=["logits"],
        dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
    )


if __name__ == "__main__":
    main()
