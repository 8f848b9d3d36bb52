"""Bodies of our operators: from ONNX function text to the rows of operators.json."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Mapping
from typing import Any

import onnx
import onnx.parser
import onnx.shape_inference
from gen_schema import ROOT

sys.path.insert(0, str(ROOT))
from graphio.schema import dtypes
from graphio.schema.operators import Table

ELEMENTS = {row.name: row.number for row in dtypes.TABLE}
EVERY = ("float32", "int64", "bool")  # stand for "all" when types are inferred


def parse(row: Mapping[str, Any], types: Mapping[str, str], data: Mapping[str, Any]) -> Any:
    """The body of a row of graphio_operators.json as data: {"output": [...], "node": [...]}.

    Exits with a message if the text is not a function, names what it does not have, or gives other
    types than the row says.
    """
    text = function_text(row)
    try:
        function = onnx.parser.parse_function(text)
    except onnx.parser.ParseError as error:
        sys.exit(f"body of {row['name']}: {error}")
    table = Table(data)
    values = {name_of(p): name_of(p) for p in row["inputs"]}
    nodes = [inner_node(node, values, row, table) for node in function.node]
    missing = [o for o in function.output if o not in values]
    if missing:
        sys.exit(f"body of {row['name']}: nothing produces {', '.join(missing)}")
    check_types(row, function, types)
    return {"output": [values[o] for o in function.output], "node": nodes}


def name_of(parameter: str) -> str:
    return parameter.split(": ")[0]


def type_of(parameter: str) -> str:
    return parameter.split(": ")[1].rstrip("?*0")


def function_text(row: Mapping[str, Any]) -> str:
    attributes = f"<{', '.join(row['attributes'])}>" if row["attributes"] else ""
    inputs = ", ".join(map(name_of, row["inputs"]))
    outputs = ", ".join(map(name_of, row["outputs"]))
    opset = onnx.defs.onnx_opset_version()
    lines = "\n".join(row["body"])
    return (
        f'<domain: "graphio", opset_import: ["" : {opset}]>\n'
        f"{row['name']} {attributes} ({inputs}) => ({outputs}) {{\n{lines}\n}}"
    )


def inner_node(
    node: onnx.NodeProto, values: dict[str, str], row: Mapping[str, Any], table: Table
) -> dict[str, Any]:
    """One node with its version and every default; adds its outputs to values."""
    unknown = [i for i in node.input if i and i not in values]
    if unknown:
        sys.exit(f"body of {row['name']}: {', '.join(unknown)} is read before it is made")
    name = node.output[0]
    made: dict[str, Any] = {"name": name, "op": node.op_type}
    given = {a.name: attribute_value(a) for a in node.attribute}
    made["version"] = table.version_for(
        node.op_type, node.domain, attributes=given, inputs=len(node.input)
    )
    operator = table.find(node.domain, node.op_type, made["version"])
    if operator is None or not set(given) <= set(operator.attributes):
        sys.exit(f"body of {row['name']}: no {node.op_type} has {', '.join(given)}")
    made["input"] = [values[i] if i else "" for i in node.input]
    resolved = {
        key: {field(spec.kind): spec.default}
        for key, spec in operator.attributes.items()
        if spec.default is not None
    } | given
    if resolved:
        made["attr"] = dict(sorted(resolved.items()))
    if len(node.output) > 1:
        made["outputs"] = len(node.output)
    values.update({o: f"{name}:{k}" if k else name for k, o in enumerate(node.output)})
    return made


def field(kind: str) -> str:
    """The field of AttributeValue for a kind of attribute."""
    return {"int": "i", "float": "f", "string": "s"}.get(kind, kind)


def attribute_value(found: onnx.AttributeProto) -> dict[str, Any]:
    if found.ref_attr_name:
        return {"reference": found.ref_attr_name}
    value = onnx.helper.get_attribute_value(found)
    kind = onnx.AttributeProto.AttributeType.Name(found.type).lower()
    if isinstance(value, bytes):
        value = value.decode()
    return {field(kind): list(value) if kind.endswith("s") else value}


def check_types(
    row: Mapping[str, Any], function: onnx.FunctionProto, types: Mapping[str, str]
) -> None:
    """Infers the outputs' element types for every choice of the input letters."""
    letters = sorted({type_of(p) for p in row["inputs"]} & set(types))
    choices = [EVERY if types[t] == "all" else types[t].split() for t in letters]
    for choice in itertools.product(*choices):
        chosen = dict(zip(letters, choice, strict=True))
        inputs = [
            onnx.helper.make_tensor_type_proto(ELEMENTS[chosen.get(type_of(p), type_of(p))], None)
            for p in row["inputs"]
        ]
        try:
            found = onnx.shape_inference.infer_function_output_types(function, inputs, [])
        except Exception as error:  # onnx raises several kinds
            sys.exit(f"body of {row['name']} with {json.dumps(chosen)}: {error}")
        for parameter, got in zip(row["outputs"], found, strict=True):
            required = ELEMENTS[chosen.get(type_of(parameter), type_of(parameter))]
            if got.tensor_type.elem_type != required:
                sys.exit(
                    f"body of {row['name']} with {json.dumps(chosen)}: {name_of(parameter)} has "
                    f"type {got.tensor_type.elem_type}, expected {required}"
                )
