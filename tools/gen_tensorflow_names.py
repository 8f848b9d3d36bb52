"""Writes graphio/python/names.json and modules.json: the names of TensorFlow 1.15.

    python tools/gen_tensorflow_names.py FOLDER   FOLDER/tensorflow_core: the unpacked wheel

Run by hand: the wheel (tensorflow-1.15.5-cp37-cp37m-manylinux2010_x86_64.whl) is read and never
imported. names.json has every public name of tf.compat.v1 and tf.contrib with the arguments of
functions, or the arguments of the constructor and the methods of classes. modules.json has, by
module of tensorflow.python and tensorflow.contrib, its names and the public names of the same
objects; v2: of tf.compat.v2.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tensorflow_sources import Origin, Sources

FOLDER = Path(__file__).resolve().parent.parent / "graphio/python"
V1 = "tensorflow._api.v1.compat.v1"
V2 = "tensorflow._api.v1.compat.v2"
#: parts of tensorflow.python that programs do not import from, or that stay outside of graphio
SKIPPED = (
    "autograph", "compiler", "distribute", "eager", "estimator", "feature_column", "keras", "tpu",
    "_pywrap", "tools.api", "tf2", "tf_program",
)  # fmt: skip
#: names of contrib's package that are not parts of TensorFlow
FOREIGN = {"contrib.LazyLoader", "contrib.os", "contrib.platform"}


def public_names(sources: Sources, root: str) -> dict[str, Origin | None]:
    """By public path of an API package: where its object is defined."""
    found: dict[str, Origin | None] = {}
    pending = [(root, "")]
    while pending:
        module, prefix = pending.pop()
        for name, binding in sources.module(module).names.items():
            if name.startswith("_"):
                continue
            if binding[0] == "module" and binding[1].startswith(root):
                pending.append((binding[1], f"{prefix}{name}."))
            elif binding[0] == "from":
                found[prefix + name] = sources.origin(binding[1], binding[2])
    return found


def contrib_names(sources: Sources) -> dict[str, Origin | None]:
    """By public path of tf.contrib: where its object is defined."""
    found: dict[str, Origin | None] = {}
    pending = [("tensorflow.contrib", "contrib.")]
    seen = set()
    while pending:
        module, prefix = pending.pop()
        for name in sources.public(module):
            below = sources.submodule(module, name)
            path = prefix + name
            if below is None:
                found[path] = sources.origin(module, name)
            elif _is_part(below, path) and path not in seen:
                seen.add(path)
                pending.append((below, f"{path}."))
    return {path: origin for path, origin in found.items() if path not in FOREIGN}


def _is_part(module: str, path: str) -> bool:
    """Whether a module that contrib's package imports is a part of it, such as layers.summaries."""
    parts = path.split(".")
    own = module.startswith("tensorflow.contrib." + parts[1])
    package = module.startswith("tensorflow.contrib.") and module.count(".") == 2
    return len(parts) == 2 or (own and len(parts) < 5) or (package and len(parts) == 3)


def modules(sources: Sources, by_origin: dict[Origin, list[str]]) -> dict[str, dict[str, str]]:
    """By module path without "tensorflow.": its names, and the public paths of each."""
    found = {}
    for folder in ("python", "contrib"):
        for path in sorted((sources.folder / folder).rglob("*.py")):
            parts = path.relative_to(sources.folder).with_suffix("").parts
            short = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if any(f".{part}" in f".{short}" for part in SKIPPED) or "_test" in short:
                continue
            module = f"tensorflow.{short}"
            names = {}
            for name in sources.bindings(module):
                origin = sources.origin(module, name)
                if origin in by_origin:
                    names[name] = " ".join(by_origin[origin])
            if names:
                found[short] = dict(sorted(names.items()))
    return found


def _preference(item: tuple[str, Origin | None]) -> tuple[bool, int, str]:
    """The order of the public names of an object: short ones before long ones and contrib's."""
    path = item[0]
    return path.startswith("contrib."), path.count("."), path


def _begins(later: list[str] | None, first: list[str] | None) -> bool:
    """Whether calls with the arguments of tf.compat.v2 mean the same to tf.compat.v1's function."""
    return bool(later and first) and first[: len(later)] == later  # type: ignore[index,arg-type]


def tables(folder: Path) -> dict[str, dict[str, object]]:
    """The content of the files, by their names."""
    sources = Sources(folder / "tensorflow_core")
    public = {**public_names(sources, V1), **contrib_names(sources)}
    by_origin: dict[Origin, list[str]] = defaultdict(list)
    for path, origin in sorted(public.items(), key=_preference):
        if origin is not None and not path.startswith("raw_ops."):
            by_origin[origin].append(path)
    for path, origin in sorted(public_names(sources, V2).items(), key=_preference):
        if origin is not None and origin not in by_origin and not path.startswith("raw_ops."):
            same = _begins(sources.parts(origin), sources.parts(public.get(path)))
            by_origin[origin] = [path if same else f"v2:{path}"]
    return {
        "names.json": {p: sources.parts(o) for p, o in sorted(public.items())},
        "modules.json": dict(modules(sources, by_origin)),
    }


def main() -> int:
    for name, content in tables(Path(sys.argv[1])).items():
        rows = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in content.items())
        (FOLDER / name).write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
