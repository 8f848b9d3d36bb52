"""SavedModelBuilder and simple_save: folders with graphs, values of variables and assets.

A folder holds

    saved_model.pb         the first meta graph: the complete graph with collections and signatures
    variables/variables.*  a checkpoint with the values, which all graphs share
    saved_model.gio        what its signatures need, values included: for engines and C programs
    saved_model-1.pb, .gio and so on: further meta graphs
    assets/                files that the graphs read

`saved_model.pb` is written last: without it there is no saved model.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.framework import scopes
from graphio.framework.graph import Graph, Tensor
from graphio.model.export import SignatureSpec, build_model
from graphio.model.model_strings import set_metadata
from graphio.model.rewrite import rewrite, with_packed_weights
from graphio.protos.collection_def import ASSET
from graphio.protos.meta_graph import MetaGraphDef, MetaInfo, write_message
from graphio.protos.node_def import message_of
from graphio.protos.signature_def import SignatureDef
from graphio.saved_model import constants, signature_constants, tag_constants
from graphio.saved_model.signature_def_utils import predict_signature_def
from graphio.schema import checkpoint, container, model_pb2
from graphio.storage import files, gfile, stores
from graphio.support import api_guard
from graphio.train.checkpoints.checkpoint_state import checkpoint_exists
from graphio.train.checkpoints.saver import Saver

__all__ = ["SavedModelBuilder", "simple_save"]

CHUNK = 1 << 24
OTHERS = "saved_model/others"
INIT_OP = "saved_model/init_op"


class SavedModelBuilder:
    """Writes a saved model: one or more graphs that share the values of their variables.

    Args:
        export_dir: a folder that does not exist or is empty; it is made.

    Raises:
        AssertionError: the folder is not empty.
    """

    def __init__(self, export_dir: str | os.PathLike[str]) -> None:
        self._folder = stores.plain(export_dir)
        self._copied: set[str] = set()  # paths of assets
        if gfile.isdir(self._folder) and (found := gfile.listdir(self._folder)):
            raise AssertionError(
                f"Export directory {self._folder} already exists, and isn't empty. Please choose a "
                "different export directory, or delete all the contents of the specified "
                f"directory: {', '.join(found[:5])}"
            )
        _make_folder(self._folder)
        self._has_variables = False
        self._values = _Values()
        self._graphs: list[_Entry] = []

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Sequence[Any] | None = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds a session's graph and writes the values of its variables.

        Args:
            sess: the session.
            tags: what the graph is found by, a set.
            signature_def_map: ways to run it, by name.
            assets_collection: string tensors, the paths of files to copy into the folder; a file
                that an earlier graph of the builder gave serves all of its name.
            legacy_init_op: as main_op.
            clear_devices: True leaves out what devices the nodes wish for.
            main_op: operation to run when it has been loaded.
            strip_default_attrs: accepted.
            saver: for the values; None: one of all variables.

        Raises:
            AssertionError: values have been written before; use add_meta_graph.
            FailedPreconditionError: variables have no value.
            TypeError, ValueError: a signature or an operation that is not of the graph.
        """
        if self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        with sess.graph.as_default():
            chosen = _default_saver() if saver is None else saver
            entry = self._entry(
                sess.graph, tags, signature_def_map, assets_collection,
                _main_op(main_op, legacy_init_op), clear_devices, chosen,
            )  # fmt: skip
            folder = stores.join(self._folder, constants.VARIABLES_DIRECTORY)
            _make_folder(folder)
            prefix = stores.join(folder, constants.VARIABLES_FILENAME)
            try:
                chosen.save(sess, prefix, write_meta_graph=False, write_state=False)
            except BaseException:
                with contextlib.suppress(OSError):  # so that the folder can be tried again
                    os.rmdir(folder)
                raise
        self._values = _Values(prefix)
        self._graphs.append(entry)
        self._has_variables = True

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Sequence[Any] | None = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the default graph, for which the values that were written before are right.

        Args:
            tags, signature_def_map, assets_collection, legacy_init_op, clear_devices, main_op,
            strip_default_attrs, saver: as add_meta_graph_and_variables.

        Raises:
            AssertionError: no values have been written; begin with add_meta_graph_and_variables.
        """
        if not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        self._graphs.append(
            self._entry(
                scopes.get_default_graph().root, tags, signature_def_map, assets_collection,
                _main_op(main_op, legacy_init_op), clear_devices,
                _default_saver() if saver is None else saver,
            )
        )  # fmt: skip

    def save(self, as_text: bool = False) -> bytes:
        """Writes the graphs; afterwards the saved model is complete and on the disk.

        Args:
            as_text: True writes protocol buffer text, `saved_model.pbtxt`.

        Returns:
            The path of the file that was written last.
        """
        ending = ".pbtxt" if as_text else ".pb"
        names = ["saved_model", *(f"saved_model-{i}" for i in range(1, len(self._graphs)))]
        for name, entry in reversed(list(zip(names, self._graphs, strict=True))):
            path = stores.join(self._folder, name)
            if entry.specs:
                made = build_model(entry.graph, entry.specs, state=self._values.of(entry.model))
                model, arrays = rewrite(*made)
                packed = container.pack(model, arrays, with_packed_weights(model, arrays))
                stores.write(f"{path}.gio", [packed])
            if name == names[0]:
                set_metadata(entry.model, OTHERS, ",".join(n + ending for n in names[1:]))
            write_message(path + ending, entry.model, as_text)
        return os.fsencode(stores.join(self._folder, f"saved_model{ending}"))

    # ---- one graph ----

    def _entry(
        self,
        graph: Graph,
        tags: Iterable[str],
        signatures: Mapping[str, SignatureDef] | None,
        assets: Sequence[Any] | None,
        init: Any,
        clear_devices: bool,
        saver: Saver,
    ) -> _Entry:
        """A graph as a model with its signatures; nothing is written but assets."""
        if isinstance(tags, str):
            raise TypeError(f"tags must be a list of strings, not the string {tags!r}")
        model, _ = build_model(graph, [], prune=False, bodies=False, inline=True)
        made = MetaGraphDef(model)
        info = MetaInfo()
        info.tags.extend(tags)
        made.meta_info_def.CopyFrom(info)
        specs = []
        for name, signature in sorted((signatures or {}).items()):
            specs.append(_spec(graph, name, signature))
            made.signature_def[name].CopyFrom(signature)
        if init is not None:
            set_metadata(model, INIT_OP, graph.as_graph_element(init).name)
        model.saver.CopyFrom(message_of(saver.to_proto()))
        if clear_devices:
            for node in model.graph.node:
                node.device = ""
        self._copy_assets(graph, model, assets or [])
        return _Entry(graph, model, specs)

    def _copy_assets(self, graph: Graph, model: model_pb2.Model, assets: Sequence[Any]) -> None:
        """Copies the files that constants name, and notes which tensor names which: an earlier
        graph's file of the same name serves the later ones, as in TensorFlow."""
        taken: dict[str, str] = {}
        for asset in assets:
            tensor = graph.as_graph_element(asset, allow_operation=False)
            assert isinstance(tensor, Tensor)
            source = _asset_path(tensor)
            name = os.path.basename(source)
            if taken.setdefault(name, source) != source:
                raise ValueError(f"two assets have the name '{name}': {taken[name]} and {source}")
            folder = stores.join(self._folder, constants.ASSETS_DIRECTORY)
            _make_folder(folder)
            self._copy(source, stores.join(folder, name))
            set_metadata(model, ASSET + tensor.name, name)

    def _copy(self, source: str, target: str) -> None:
        if target in self._copied:
            return
        with files.naming("copy", source), open(source, "rb") as file:
            stores.write(target, iter(lambda: file.read(CHUNK), b""))
        self._copied.add(target)


@dataclass
class _Entry:
    """A graph to be written."""

    graph: Graph
    model: model_pb2.Model
    specs: list[SignatureSpec]


def _main_op(main_op: Any, legacy_init_op: Any) -> Any:
    """The operation to run after a load; refuses it where the graph names one already."""
    chosen = main_op or legacy_init_op
    graph = scopes.get_default_graph()
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if chosen is not None and graph.get_collection(key):
            raise ValueError(
                f"Graph already contains one or more main ops under the collection {key}; leave "
                "main_op and legacy_init_op out, or clear the collection"
            )
    return chosen


class _Values:
    """The values in a checkpoint, with the interface of an engine's state.

    Args:
        prefix: of the checkpoint.
    """

    def __init__(self, prefix: str = "") -> None:
        is_there = prefix and checkpoint_exists(prefix)
        self._found = checkpoint.read_checkpoint(prefix) if is_there else None
        self._keys: dict[str, str] = {}

    def of(self, model: model_pb2.Model) -> _Values:
        """The values by the names that a graph's variables have."""
        self._keys = dict(zip(model.saver.variable, model.saver.key, strict=True))
        return self

    def names(self) -> list[str]:
        """Names of the variables."""
        return list(self._keys)

    def initialized(self, name: str) -> bool:
        """Whether a variable has a value."""
        return self._found is not None and self._keys.get(name) in self._found.variables

    def get(self, name: str) -> Any:
        """The value of a variable."""
        assert self._found is not None
        return self._found.variables[self._keys[name]]

    def generators(self) -> dict[str, tuple[int, int]]:
        """The positions of the random generators."""
        return {} if self._found is None else dict(self._found.generators)


def _make_folder(folder: str) -> None:
    if not stores.is_remote(folder):
        with files.naming("make the folder", folder):
            os.makedirs(folder, exist_ok=True)


def _default_saver() -> Saver:
    """A Saver of all variables of the default graph, which may have none."""
    return Saver(allow_empty=True)


def _asset_path(tensor: Tensor) -> str:
    value = tensor.op.attrs.get("value")
    if not isinstance(value, np.ndarray) or value.size != 1 or tensor.dtype.name != "string":
        raise TypeError(
            f"the asset '{tensor.name}' must be a constant with the path of a file, found "
            f"{tensor.op.type}"
        )
    path = value.reshape(-1)[0]
    return os.fsdecode(path)


def _check_info(what: str, key: str, info: Any) -> None:
    if info.WhichOneof("encoding") is None or not info.dtype:
        raise AssertionError(
            f"{what}: All TensorInfo protos used in the SignatureDefs must have the name and dtype "
            f"fields set: '{key}' has the name {info.name!r} and the dtype {info.dtype}"
        )
    if info.WhichOneof("encoding") == "coo_sparse":
        raise TypeError(
            f"{what}: '{key}' is a SparseTensor, and a saved model runs dense ones (give its "
            "parts, each with a key)"
        )


def _spec(graph: Graph, name: str, signature: Any) -> SignatureSpec:
    """The signature with the graph's tensors in the place of their names."""
    if not isinstance(signature, SignatureDef):
        raise TypeError(
            f"signature '{name}' must be a SignatureDef, found {type(signature).__name__}; make "
            "one by tf.saved_model.signature_def_utils.predict_signature_def"
        )

    def tensors(infos: Mapping[str, Any]) -> list[tuple[str, Tensor]]:
        for key, info in infos.items():
            _check_info(f"signature '{name}'", key, info)
        try:
            return [(key, graph.get_tensor_by_name(info.name)) for key, info in infos.items()]
        except (KeyError, ValueError) as error:
            raise ValueError(f"signature '{name}' is not of this graph: {error}") from None

    inputs, outputs = tensors(signature.inputs), tensors(signature.outputs)
    return SignatureSpec(name, inputs, outputs, method=signature.method_name)


@api_guard.guarded
def simple_save(
    session: Any,
    export_dir: str | os.PathLike[str],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Any = None,
) -> None:
    """Writes a saved model with one signature, "serving_default", under the tag "serve".

    Args:
        session: whose graph and values are saved.
        export_dir: a folder that does not exist or is empty; it is made.
        inputs, outputs: tensors by key.
        legacy_init_op: operation to run when it has been loaded.

    Raises:
        AssertionError: the folder is not empty.
        FailedPreconditionError: variables have no value.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        tags=[tag_constants.SERVING],
        signature_def_map={signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=session.graph.get_collection("asset_filepaths"),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
