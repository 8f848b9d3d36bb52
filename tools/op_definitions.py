"""Writes graphio/tensorflow_files/op_definitions.json: inputs, attributes and outputs of the
operations of TensorFlow that graphio builds, for tf.raw_ops.

python tools/op_definitions.py FOLDER    with TensorFlow 2.21 installed; FOLDER has the files of the
                                         wheel of TensorFlow 1.15.5, whose arguments count
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "graphio/tensorflow_files/op_definitions.json"
_EXPORT = re.compile(r'^tf_export\("raw_ops\.(\w+)"\)\((\w+)\)', re.M)


def arguments(folder: Path) -> dict[str, list[str]]:
    """By type of operation: the names of the function's arguments in TensorFlow 1.15."""
    found = {}
    for file in sorted((folder / "python").rglob("gen_*_ops.py")):
        text = file.read_text(encoding="utf-8")
        functions = {
            node.name: [argument.arg for argument in node.args.args]
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef)
        }
        found.update({op: functions[name] for op, name in _EXPORT.findall(text)})
    return found


def row(definition: Any, given: list[str]) -> dict[str, Any]:
    """An operation's row: [name, type] of each input and output, [kind, default] of attributes.

    A type is an element type, the attribute that has it, "N*T" of a list of N, or "*Ts" of a list
    whose types an attribute has. Names are those of the function's arguments.
    """
    inferred = {
        name
        for one in definition.input_arg
        for name in (one.type_attr, one.number_attr, one.type_list_attr)
        if name
    }
    known = [one.name for one in definition.input_arg]
    known += [one.name for one in definition.attr if one.name not in inferred]
    new = [name for name in given if name not in known and name != "name"]
    old = [name for name in known if name not in given]
    renamed = dict(zip(old, new, strict=False)) if len(new) == len(old) else {}
    attributes = {
        renamed.get(one.name, one.name): [one.type, *_default(one)]
        for one in definition.attr
        if one.name in inferred or renamed.get(one.name, one.name) in given
    }
    made = {
        "inputs": [[renamed.get(a.name, a.name), _type(a)] for a in definition.input_arg],
        "attributes": attributes,
        "outputs": [[a.name, _type(a)] for a in definition.output_arg],
    }
    back = {new: old for old, new in renamed.items() if new in attributes}
    return made | ({"renamed": back} if back else {})


def _type(one: Any) -> str:
    if one.type_list_attr:
        return f"*{one.type_list_attr}"
    from tensorflow.dtypes import as_dtype

    plain = one.type_attr or as_dtype(one.type).base_dtype.name
    return f"{one.number_attr}*{plain}" if one.number_attr else str(plain)


def _default(one: Any) -> list[Any]:
    """The default of an attribute as JSON, in a list; none: it has none."""
    if not one.HasField("default_value"):
        return []
    from tensorflow.dtypes import as_dtype

    kind = one.default_value.WhichOneof("value")
    value = getattr(one.default_value, kind)
    if kind == "list":
        lists = [list(values) for _, values in value.ListFields()]
        return [[v.decode() if isinstance(v, bytes) else v for v in lists[0]] if lists else []]
    if kind == "type":
        return [as_dtype(value).name]
    if kind == "shape":
        return [None if value.unknown_rank else [d.size for d in value.dim]]
    return [value.decode() if isinstance(value, bytes) else value]


def main() -> None:
    """Writes the table."""
    sys.path.insert(0, str(ROOT))
    registry: Any = importlib.import_module("tensorflow.python.framework.op_def_registry")
    importlib.import_module("tensorflow")
    operators: Any = importlib.import_module("graphio.tensorflow_files.operators")
    names = arguments(Path(sys.argv[1]))
    rows = {
        op: row(definition, names[op])
        for op in sorted({*operators.ROWS, "Identity", "NoOp"})
        if op in names and (definition := registry.get(op)) is not None
    }
    lines = [f"{json.dumps(op)}: {json.dumps(found)}" for op, found in rows.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{TARGET}: {len(rows)} operations")


if __name__ == "__main__":
    main()
