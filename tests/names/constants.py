"""The public constants of TensorFlow by their paths.

python constants.py FILE    with TensorFlow 2.21 installed: writes constants.json; FILE is
                            graphio/python/names.json
"""

from __future__ import annotations

import functools
import json
import os
import sys
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_suffix(".json")
#: names that differ between versions of TensorFlow
_VERSIONS = ("VERSION", "GIT_VERSION", "COMPILER_VERSION", "GRAPH_DEF_VERSION")


def plain(value: Any) -> Any:
    """A constant as JSON; None for other objects."""
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, type):
        return None
    if hasattr(value, "as_datatype_enum"):
        return f"{value.name} {int(value.as_datatype_enum)}"
    if isinstance(value, frozenset):
        return sorted(map(plain, value))
    if isinstance(value, tuple):
        return [f"{one.__module__}.{one.__name__}" for one in value]
    if type(value).__name__ == "ReparameterizationType":
        return repr(value)
    return None


def main() -> None:
    """Records the constants in TensorFlow."""
    os.environ.update({"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""})
    import tensorflow.compat.v1 as tf

    found = {}
    for path in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        if path.rpartition(".")[2] in _VERSIONS or path.startswith(("keras.", "lite.")):
            continue
        value = plain(
            functools.reduce(lambda at, part: getattr(at, part, None), path.split("."), tf)
        )
        if value is not None:
            found[path] = value
    rows = [f"{json.dumps(path)}: {json.dumps(value)}" for path, value in found.items()]
    STORED.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(f"{STORED}: {len(rows)} constants")


if __name__ == "__main__":
    main()
