"""Frozen graphs and SavedModels of TensorFlow's into the default graph."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphio.framework import scopes
from graphio.framework.graph import Operation, Tensor
from graphio.model import registered
from graphio.schema import tensorflow_pb2 as pb
from graphio.storage import stores
from graphio.support import errors
from graphio.tensorflow_files.bodies import Body, Key, Node, reached
from graphio.tensorflow_files.calls import Handle
from graphio.tensorflow_files.checkpoints import Stored
from graphio.tensorflow_files.frames import EXIT, Frames
from graphio.tensorflow_files.importing import Importer
from graphio.tensorflow_files.missing import check
from graphio.tensorflow_files.reading import read_graph, read_saved_model
from graphio.tensorflow_files.regions import Broken
from graphio.tensorflow_files.weights import weights

__all__ = ["Imported", "Signature", "import_model", "import_nodes", "meta_graph"]

_PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_OWN = "__saved_model"  # beginning of signatures that only loaders use
SERVING = "serve"
#: operators that save and restore: never a part of the model's computation
_SAVING = (
    "DisableCopyOnRead", "MergeV2Checkpoints", "RestoreV2", "SaveV2", "ShardedFilename",
    "StaticRegexFullMatch", "StringJoin",
)  # fmt: skip


@dataclass
class Signature:
    """A way to run a model: tensors by their keys."""

    inputs: dict[str, Tensor] = field(default_factory=dict)
    outputs: dict[str, Tensor] = field(default_factory=dict)
    method: str = ""


@dataclass
class Imported:
    """An imported model in the graph.

    Attributes:
        signatures: by name; a frozen graph has one, "predict", from its placeholders to what
            nothing reads.
        variables: by their names in the graph.
        values: tensors by node and output, "node:0".
        operations: by node, for those that are one operation.
    """

    signatures: dict[str, Signature] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Tensor] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The inputs of the only signature, or of "serving_default"."""
        return self._default.inputs

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The outputs of the only signature, or of "serving_default"."""
        return self._default.outputs

    @property
    def _default(self) -> Signature:
        if len(self.signatures) == 1:
            return next(iter(self.signatures.values()))
        if "serving_default" in self.signatures:
            return self.signatures["serving_default"]
        raise ValueError(f"choose one of the signatures {sorted(self.signatures)}")


def import_model(
    source: Any,
    *,
    tags: Iterable[str] = (SERVING,),
    trainable: bool | Callable[[str], bool] = True,
    prefix: str | None = None,
) -> Imported:
    """Adds a model of TensorFlow's to the default graph.

    Of a SavedModel what its signatures need is added, each variable with its value from the
    checkpoint as its initial value.

    Args:
        source: folder of a SavedModel; path of a frozen graph (.pb, .pbtxt), its bytes or its
            GraphDef message.
        tags: of the SavedModel's graph.
        trainable: of a frozen graph: True makes variables of the constants that are weights,
            False of none; or a function from a constant's name that says which become variables.
        prefix: name scope of the nodes, made unique; None: their own names.

    Returns:
        Signatures, variables and values.

    Raises:
        NotFoundError, DataLossError: there is no such file, or it is damaged.
        RuntimeError: no graph has these tags.
        UnimplementedError: operators or types that graphio lacks; all problems are listed.
        InvalidArgumentError: the model contradicts itself; all problems are listed.
        ResourceExhaustedError: its loops have to be built more often than any real one.
        After an error the graph is as it was.
    """
    if not isinstance(trainable, bool) and not callable(trainable):
        raise TypeError(f"trainable is {trainable!r}, expected True, False or a callable")
    if isinstance(source, (str, os.PathLike)) and stores.is_folder(source):
        folder = stores.plain(source)
        meta = meta_graph(folder, tags)
        with _building(prefix):
            return _saved(folder, meta)
    graph, what = read_graph(source)
    with _building(prefix):
        importer = Importer(graph, what)
        with importer.noting():
            importer.weight = weights(importer, trainable)
            ends = _ends(importer)
        return _finished(importer, {"predict": ends})


def meta_graph(folder: str, tags: Iterable[str]) -> pb.MetaGraphDef:
    """The graph of these tags in a SavedModel folder. Raises RuntimeError where there is none."""
    expected = {tags} if isinstance(tags, str) else set(tags)
    graphs = read_saved_model(folder).meta_graphs
    for candidate in graphs:
        if set(candidate.meta_info_def.tags) == expected:
            return candidate
    tags_there = "; ".join(str(list(g.meta_info_def.tags)) for g in graphs)
    available = errors.printable(tags_there)
    raise RuntimeError(
        f"MetaGraphDef associated with tags {', '.join(sorted(expected))!r} could not be found in "
        f"SavedModel {folder}; available are: {available}"
    )


@contextlib.contextmanager
def _building(prefix: str | None) -> Iterator[None]:
    """The graph that is built in, as it was after an error."""
    graph = scopes.get_default_graph()
    if graph.outer is not None:
        raise ValueError("a model cannot be imported into the body of a loop or branch")
    with (
        graph.unchanged_on_error(),
        scopes.control_dependencies(None),
        scopes.name_scope(prefix),
    ):
        with _not_too_deep():
            yield


@contextlib.contextmanager
def _not_too_deep() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise errors.InvalidArgumentError(
            message="the graph's loops, branches and functions nest too deeply"
        ) from None


#: names of inputs and outputs to values, and the method's name
Ends = tuple[dict[str, Key], dict[str, Key], str]


def _saved(folder: str, meta: pb.MetaGraphDef) -> Imported:
    importer = Importer(meta.graph_def, f"the SavedModel {folder}")
    with importer.noting():
        importer.stored = Stored(folder, meta, importer)
    signatures = {
        name: (_keys(s.inputs), _keys(s.outputs), s.method_name)
        for name, s in sorted(meta.signature_def.items())
        if not name.startswith(_OWN)
    }
    if not signatures:
        importer.problems.add(
            "it has no signatures; save it with signatures=, or by tf.keras.Model.export"
        )
    return _finished(importer, signatures)


def _keys(infos: Mapping[str, pb.TensorInfo]) -> dict[str, Key]:
    made = {}
    for key, info in sorted(infos.items()):
        node, _, output = info.name.partition(":")
        made[key] = (node, int(output) if output.isdecimal() and len(output) < 7 else 0)
    return made


def _ends(importer: Importer) -> Ends:
    """The values of a frozen graph without a reader, and the placeholders that they need.

    An Exit that nothing reads is what is left of a loop variable.
    """
    body, frames = importer.main, importer.region.frames
    read = {name for n in body.nodes.values() for name, _ in n.inputs}
    spare = (*_PLACEHOLDERS, *EXIT, "Assert", "Const", "NoOp")
    outputs = {
        n.name: (n.name, 0)
        for n in body.nodes.values()
        if n.name not in read and n.op not in spare and not _is_inner(frames, n)
    }
    needed = {n.name for n in reached(body, outputs) if n.op in _PLACEHOLDERS}
    inputs = {name: (name, 0) for name in body.nodes if name in needed}
    return inputs, outputs, ""


def _finished(importer: Importer, signatures: Mapping[str, Ends]) -> Imported:
    """Builds what signatures need."""
    for name, (inputs, outputs, _) in signatures.items():
        for key, (node, _) in [*inputs.items(), *outputs.items()]:
            if node not in importer.main.nodes:
                importer.problems.add(
                    f"signature '{name}': '{key}' is '{node}', which is not a node"
                )
    importer.problems.raise_if_any()
    ends = [(*inputs.values(), *outputs.values()) for inputs, outputs, _ in signatures.values()]
    roots = [node for keys in ends for node, _ in keys]
    if not roots:
        importer.problems.add("it computes nothing: it has no node that could be an output")
        importer.problems.raise_if_any()
    check(importer, roots)
    found = _built(importer, roots)
    for name, (inputs, outputs, method) in signatures.items():
        with importer.noting():
            made = [
                {key: _tensor(importer, at) for key, at in keys.items()}
                for keys in (inputs, outputs)
            ]
        found.signatures[name] = Signature(made[0], made[1], method)
    return found


def _built(importer: Importer, roots: Sequence[str]) -> Imported:
    with contextlib.suppress(Broken):
        importer.build(roots)
    importer.problems.raise_if_any()
    found = Imported(variables=importer.variables)
    for name, outputs in importer.region.values.items():
        tensors = [x.shown() if _is_read(x) else x for x in outputs]
        made = {f"{name}:{i}": t for i, t in enumerate(tensors) if isinstance(t, Tensor)}
        found.values |= made
        if len({t.op for t in made.values()}) == 1:
            found.operations[name] = next(iter(made.values())).op
    for name, operations in importer.region.effects.items():
        if len(operations) == 1:
            found.operations.setdefault(name, operations[0])
    return found


def _is_read(value: Any) -> bool:
    return isinstance(value, Handle) and value.is_read


def _tensor(importer: Importer, key: Key) -> Tensor:
    value = importer.region.find(key)
    if _is_read(value):
        value = value.shown()
    if not isinstance(value, Tensor):
        raise errors.InvalidArgumentError(message=f"'{key[0]}:{key[1]}' is not a tensor")
    return value


# ---- tf.import_graph_def ----


@registered.import_tensorflow_nodes.register
def import_nodes(
    graph: pb.GraphDef, replaced: Mapping[str, Tensor], expected: Sequence[str]
) -> Imported:
    """All nodes of a GraphDef, but those that save and restore, and those inside loops and
    branches, which become parts of these.

    Args:
        graph: the message.
        replaced: tensors to take in the place of values, "node" or "node:1"; their nodes are not
            built.
        expected: nodes or values that must be there; nodes that only others need may be unknown.

    Raises:
        ValueError: a name of replaced or expected is not that of a node.
        UnimplementedError, InvalidArgumentError: with all problems.
    """
    with _not_too_deep():
        return _nodes(Importer(graph, "the GraphDef"), replaced, expected)


def _nodes(importer: Importer, replaced: Mapping[str, Tensor], expected: Sequence[str]) -> Imported:
    names = [key if ":" in key else f"{key}:0" for key in replaced]
    missing = [name for name in names if name.partition(":")[0] not in importer.main.nodes]
    if missing:
        raise ValueError(
            f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]"
        )
    for key, tensor in replaced.items():
        node, _, output = key.partition(":")
        outputs = importer.region.values.setdefault(node, [])
        outputs += [None] * (int(output or "0") + 1 - len(outputs))
        outputs[int(output or "0")] = tensor
    elements = [element.partition(":")[0] for element in expected]
    for element, node in zip(expected, elements, strict=True):
        if node not in importer.main.nodes:
            raise ValueError(f"Requested return_element '{element}' not found in graph_def.")
    with importer.noting():
        roots = _outermost(importer, elements)
    check(importer, roots)
    return _built(importer, roots)


def _outermost(importer: Importer, expected: Sequence[str]) -> list[str]:
    """Nodes that can be built by themselves."""
    nodes, frames = importer.main.nodes, importer.region.frames
    there = importer.region.values
    needed = {n.name for n in reached(importer.main, expected, there)} | set(there)
    spare = [
        n.name
        for n in nodes.values()
        if n.op in _SAVING
        or n.attr["dtype"].type in (pb.DT_RESOURCE, pb.DT_VARIANT)
        and n.op in _PLACEHOLDERS
        or (expected and n.name not in needed and not importer.knows(n))
    ]
    left_out = _from(importer.main, spare)
    left_out.update(node.name for node in importer.initial.values())
    return [
        node.name
        for node in nodes.values()
        if node.name not in left_out and not _is_inner(frames, node)
    ]


def _from(body: Body, names: Iterable[str]) -> set[str]:
    """Nodes that read others, directly or not, these included."""
    readers: dict[str, list[str]] = {}
    for node in body.nodes.values():
        for name in (*(k[0] for k in node.inputs), *node.controls):
            readers.setdefault(name, []).append(node.name)
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += readers.get(name, [])
    return found


def _is_inner(frames: Frames, node: Node) -> bool:
    """Whether a node is part of a loop or a branch."""
    return node.name in frames.inside() or bool(frames.conditions((node.name, 0)))
