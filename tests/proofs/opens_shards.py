"""Opens data files with the safetensors package alone: a process of ecosystem.py.

Standard input has a JSON object: file to name to [dtype, shape, SHA-256 of the bytes]. Standard
output gets the package's version, how many tensors agreed, and what did not.
"""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import version
from typing import Any

from safetensors import safe_open

#: that numpy has no type for
WITHOUT_NUMPY = ("BF16",)


def bytes_of(tensor: Any, framework: str) -> bytes:
    """A tensor's bytes."""
    if framework == "np":
        return bytes(tensor.tobytes())
    import torch

    flat = tensor.reshape(-1).contiguous()
    return bytes(flat.view(torch.uint8).numpy().tobytes()) if flat.numel() else b""


def compare(path: str, rows: dict[str, Any], framework: str, found: dict[str, Any]) -> None:
    """One file: its keys, and each tensor's shape and bytes."""
    with safe_open(path, framework=framework) as file:
        if sorted(file.keys()) != sorted(rows):
            found["lost"].append(f"{path}: keys {sorted(file.keys())}, expected {sorted(rows)}")
            return
        if file.metadata().get("format") != "graphio-shard":
            found["lost"].append(f"{path}: metadata {file.metadata()}")
        for name, (kind, shape, digest) in rows.items():
            if framework == "np" and kind in WITHOUT_NUMPY:
                found["no numpy type"] += 1
                continue
            tensor = file.get_tensor(name)
            same = list(tensor.shape) == shape and digest == (
                hashlib.sha256(bytes_of(tensor, framework)).hexdigest()
            )
            found["tensors"] += same
            if not same:
                found["lost"].append(f"{path}: {name}, {kind}{shape}")


def main() -> None:
    """Compares all files."""
    framework = sys.argv[1]
    found: dict[str, Any] = {"version": version("safetensors"), "lost": []}
    found["tensors"] = found["no numpy type"] = 0
    for path, rows in json.load(sys.stdin).items():
        try:
            compare(path, rows, framework, found)
        except Exception as error:
            found["lost"].append(f"{path}: {type(error).__name__}: {error}")
    print(json.dumps(found))


main()
