"""From one format to another, by the ending of what is to be made."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from graphio.command_line import conversions, fitting, opening, output
from graphio.command_line.arguments import choose_signature
from graphio.command_line.exits import USAGE, Refused
from graphio.storage import stores

NAME = "convert"
Facts = dict[str, Any]
Array = np.ndarray[Any, Any]
_LEVELS = ("none", "exact", "approximate")
_WRITTEN = (".gio", ".onnx")
_PREFIX = re.compile(r"(\.ckpt|\.\d+)?(-\d+)?")


def command(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="A model, checkpoint or file of weights.")],
    target: Annotated[
        str,
        typer.Argument(
            help="name.gio, name.onnx, name.safetensors, name.npz; name or name.ckpt: a "
            "checkpoint's prefix."
        ),
    ],
    signature: Annotated[
        list[str] | None, typer.Option("--signature", "-s", help="To keep; may be repeated.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="NAME=TENSOR", help="Of a checkpoint's graph: what is fed."
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="NAME=TENSOR", help="Of a checkpoint's graph: results."),
    ] = None,
    optimize: Annotated[str, typer.Option(help="none, exact or approximate.")] = "exact",
    freeze: Annotated[bool, typer.Option("--freeze", help="Variables become constants.")] = False,
    weights: Annotated[
        str | None, typer.Option(help="Store weights as float16 or bfloat16.", metavar="TYPE")
    ] = None,
    strip: Annotated[
        bool, typer.Option("--strip", help="Leave out what only people read.")
    ] = False,
    opset: Annotated[int | None, typer.Option(help="Of an ONNX file.")] = None,
    names: Annotated[
        str | None,
        typer.Option(metavar="FILE.json", help="New names of weights: {old: new}; scopes, too."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="TARGET may be SOURCE, and replaces it.")
    ] = False,
    as_json: output.Json = False,
) -> None:
    """Convert SOURCE into TARGET, whose ending says what it becomes. A failure leaves TARGET as it
    was. Options that do nothing for these two are refused."""
    _check_options(optimize, weights, opset)
    ending = _ending(target)
    kind = opening.kind_of(source)
    _check_pair(context, (source, kind), (target, ending), force)
    if ending in _WRITTEN:
        data = _model(source, kind, (inputs, outputs), optimize)
        improved = kind == opening.MODEL and "optimize" in fitting.given_options(context)
        with opening.naming(source):
            _check_signatures(data, ending, signature)
            if signature or freeze or weights or strip or improved:
                data = _strip(data, signature, freeze, weights, strip, optimize)
        _write_model(data, target, ending, signature, opset)
    else:
        _write_weights(_renamed(_weights(source, kind), names), target, ending)
    facts = {"source": source, "kind": kind, "target": target, "bytes": _size(target)}
    text = f"{source} ({kind}) -> {target}, {facts['bytes']:,} bytes"
    output.show(facts, as_json, lambda console: console.print(output.name(text)))


def _check_options(optimize: str, weights: str | None, opset: int | None) -> None:
    from graphio.model.size_reduction import WEIGHTS
    from graphio.onnx.exporting import OPSETS

    wrong = []
    if optimize not in _LEVELS:
        wrong.append(f"--optimize is '{optimize}', expected one of {', '.join(_LEVELS)}")
    if weights is not None and weights not in WEIGHTS:
        wrong.append(f"--weights is '{weights}', expected one of {', '.join(WEIGHTS)}")
    if opset is not None and opset not in OPSETS:
        wrong.append(f"--opset is {opset}, expected {OPSETS[0]} to {OPSETS[-1]}")
    if wrong:
        raise Refused("; ".join(wrong), USAGE)


def _check_pair(
    context: typer.Context, source: tuple[str, str], target: tuple[str, str], force: bool
) -> None:
    """Refuses what cannot be converted, options that do nothing, and a target that is the source.

    Args:
        source: path and kind.
        target: path and ending.
    """
    (path, kind), (made, ending) = source, target
    if ending in _WRITTEN and kind == opening.WEIGHTS:
        raise Refused(f"'{path}' holds weights without a graph: it cannot become a model")
    what = ending if ending in _WRITTEN else conversions.WEIGHTS
    where = f"between '{path}' ({kind}) and '{made}'"
    fitting.refuse_unused(context, conversions.unused_options(kind, what), where)
    if not force:
        _check_target(path, made, ending)


def _check_target(source: str, target: str, ending: str) -> None:
    files = [target, target + ".data"] if ending == ".onnx" else [target]
    fitting.refuse_source([source], files, "choose another name, or replace it with --force")


def _check_signatures(data: bytes, ending: str, requested: list[str] | None) -> None:
    """An ONNX file has one, a model file any number."""
    from graphio.schema import container

    # for ONNX also every tensor is compared with its checksum before the target is written
    model = container.unpack(data, lazy=ending == ".gio")[0]
    known = [signature.name for signature in model.signature]
    if ending == ".onnx" and len(requested or ()) > 1:
        raise Refused(
            f"-s is given {len(requested or ())} times, but an ONNX file holds one signature: name "
            "one, and convert once for each",
            USAGE,
        )
    if not requested and ending == ".onnx":
        choose_signature(None, known, {row.key: row.value for row in model.metadata})
    for name in requested or ():
        choose_signature(name, known)


def _ending(target: str) -> str:
    """The format of the target; checkpoints are named m, m.ckpt, m-100, m.ckpt-100, m-1.5 ..."""
    from graphio.train.interop.exporting import WRITERS

    ending = os.path.splitext(target)[1].lower()
    if ending not in (*_WRITTEN, *WRITERS) and not _PREFIX.fullmatch(ending):
        raise Refused(
            f"'{target}' ends in '{ending}', expected {', '.join((*_WRITTEN, *WRITERS))}, or a "
            "checkpoint's prefix such as name.ckpt",
            USAGE,
        )
    return ending


def _size(target: str) -> int:
    if stores.is_remote(target):
        return opening.size_in_store(target)
    if os.path.isfile(target):
        return os.path.getsize(target)
    folder, base = os.path.split(target)
    found = Path(folder or ".").glob(f"{base}.*")
    return sum(file.stat().st_size for file in found)


# ---- models ----


def _model(source: str, kind: str, ends: tuple[Any, Any], optimize: str) -> bytes:
    if kind in opening.MODELS:
        return opening.model_bytes(source, optimize)
    return _from_checkpoint(opening.prefix_of(source), *ends, optimize)


def _from_checkpoint(prefix: str, inputs: Any, outputs: Any, optimize: str) -> bytes:
    """The graph that was saved with a checkpoint, with its values."""
    if not outputs:
        raise Refused(
            "say what the model gives, --output NAME=TENSOR, and what it takes, --input", USAGE
        )
    import tempfile

    import graphio as tf
    from graphio.train.checkpoints.checkpoint_reader import resolved

    where = resolved(prefix)
    graph = tf.Graph()
    with graph.as_default(), tf.Session(graph=graph) as session:
        saver = tf.train.import_meta_graph(f"{where}.meta")
        saver.restore(session, where)
        ends = [
            {key: _tensor(graph, of) for key, of in _pairs(given)} for given in (inputs, outputs)
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.gio")
            tf.saved_model.save(path, session, {"predict": tuple(ends)}, optimize=optimize)
            return Path(path).read_bytes()


def _pairs(given: list[str] | None) -> list[tuple[str, str]]:
    """NAME=TENSOR; a tensor alone has its own name."""
    found = []
    for text in given or ():
        name, equals, tensor = text.partition("=")
        found.append((name, tensor) if equals else (text.partition(":")[0], text))
    return found


def _tensor(graph: Any, name: str) -> Any:
    return graph.get_tensor_by_name(name if ":" in name else f"{name}:0")


def _strip(
    data: bytes, signature: Any, freeze: bool, weights: str | None, strip: bool, optimize: str
) -> bytes:
    from graphio.model.size_reduction import reduced

    return reduced(
        data, signatures=signature, freeze=freeze, weights=weights, strip=strip, optimize=optimize
    )


def _write_model(
    data: bytes, target: str, ending: str, signature: list[str] | None, opset: int | None
) -> None:
    if ending == ".gio":
        stores.write(target, [data])
        return
    from graphio.onnx import from_model

    from_model(data, target, signature=signature[0] if signature else None, opset=opset)


# ---- weights ----


def _weights(source: str, kind: str) -> Mapping[str, Array]:
    if kind in opening.MODELS:
        from graphio.model.describing import tensors_of

        return tensors_of(*opening.unpacked(source))
    from graphio.train.checkpoints.checkpoint_reader import resolved
    from graphio.train.interop.values import load_values

    found = load_values(resolved(opening.prefix_of(source)))
    names = output.progress(list(found), "read")
    return {name: found[name] for name in names}


def _renamed(values: Mapping[str, Array], names: str | None) -> Mapping[str, Array]:
    if names is None:
        return values
    from graphio.train.checkpoints.renaming import renamed

    try:
        table = json.loads(Path(names).read_text())
    except ValueError as error:
        raise Refused(f"'{names}' is not JSON: {error}") from None
    if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
        raise Refused(f"'{names}' should be a JSON object of strings, {{old: new}}")
    found, wrong = renamed(values, table, set(values) | set(table.values()))
    if wrong:
        raise Refused(f"'{names}': " + "; ".join(wrong))
    return {new: values[old] for new, old in found.items()}


def _write_weights(values: Mapping[str, Array], target: str, ending: str) -> None:
    from graphio.train.interop.exporting import WRITERS, export_variables

    if ending in WRITERS:
        export_variables(dict(values), target)
        return
    from graphio.schema.checkpoint_writer import write_checkpoint

    write_checkpoint(target, values)
