"""The stored files and values."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

PATH = Path(__file__).parent / "golden.json"


def load() -> dict[str, Any]:
    """files: name -> base64; values: scene -> list of packed arrays, or the class of an error."""
    found: dict[str, Any] = json.loads(PATH.read_text())
    return found


def save(content: dict[str, Any]) -> None:
    """Writes the content, a row a line."""
    parts = [
        f"{json.dumps(part)}: {{\n"
        + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items())
        + "\n}"
        for part, rows in content.items()
    ]
    PATH.write_text("{" + ",\n".join(parts) + "}\n")


def files() -> dict[str, bytes]:
    """The files by name."""
    return {name: base64.b64decode(data) for name, data in load()["files"].items()}


def packed(value: Any) -> list[Any]:
    """An array as dtype, shape and base64 of its bytes, compressed; a string as it is."""
    if isinstance(value, bytes):
        return ["string", [], base64.b64encode(value).decode()]
    array = np.asarray(value)
    data = zlib.compress(np.ascontiguousarray(array).tobytes(), 9)
    return [array.dtype.name, list(array.shape), base64.b64encode(data).decode()]


def unpacked(row: list[Any]) -> Any:
    """The array of a row; of a string, its bytes."""
    dtype, shape, text = row
    data = base64.b64decode(text)
    if dtype == "string":
        return data
    return np.frombuffer(zlib.decompress(data), dtype).reshape(shape)
