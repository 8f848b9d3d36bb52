"""From a saved model's folder to a session: its graph, the values of its variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from graphio.model.importing import Imported
from graphio.model.model_strings import metadata
from graphio.protos.collection_def import ASSET
from graphio.protos.meta_graph import MetaGraphDef, import_message, read_message
from graphio.saved_model import constants
from graphio.saved_model.builder import INIT_OP, OTHERS
from graphio.schema import foreign
from graphio.schema.checkpoint_index import is_safe_name
from graphio.storage import stores
from graphio.support import api_guard, errors
from graphio.tensorflow_files.reading import is_saved_model
from graphio.train.checkpoints.checkpoint_state import checkpoint_exists
from graphio.train.checkpoints.meta_graphs import own_saver
from graphio.train.interop.reading import is_file, map_bytes

__all__ = ["load", "maybe_saved_model_directory"]

T = TypeVar("T")


@api_guard.guarded
def maybe_saved_model_directory(export_dir: str | os.PathLike[str]) -> bool:
    """Whether a folder looks like a saved model."""
    return _main_file(stores.plain(export_dir)) is not None


@api_guard.guarded
def load(
    sess: Any,
    tags: Iterable[str],
    export_dir: str | os.PathLike[str],
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> MetaGraphDef:
    """Adds a saved graph to a session's graph and gives its variables their values.

    A SavedModel that TensorFlow wrote is taken, too: then what its signatures need is added, and
    the names in `signature_def` are those in the graph.

    Args:
        sess: the session.
        tags: those that the graph was saved with, in any order.
        export_dir: the folder.
        import_scope: prefix of the names, made unique.
        saver_kwargs: as import_meta_graph.

    Returns:
        What was loaded, with its `signature_def`; names are those in the file, without
        import_scope.

    Raises:
        OSError: there is no saved model, or it is damaged; the graph is as it was.
        RuntimeError: no graph has these tags.
        UnimplementedError: TensorFlow's graph has operators that graphio lacks; all are listed.
    """
    folder = stores.plain(export_dir)
    if is_saved_model(folder):
        # which loads the builders of all of TensorFlow's operators
        from graphio.saved_model.tensorflow_loading import load_into

        return load_into(sess, tags, folder, import_scope)
    chosen = meta_graph(folder, tags)
    with sess.graph.as_default(), sess.graph.unchanged_on_error():
        found, _ = import_message(chosen._message, import_scope=import_scope, **saver_kwargs)
        saver = own_saver(chosen._message, found.variables, import_scope)
        if saver is not None and checkpoint_exists(variables_prefix(folder)):
            saver.restore(sess, variables_prefix(folder))
        _run_init(sess, metadata(chosen._message), folder, found)
    return chosen


def meta_graph(folder: str, tags: Iterable[str]) -> MetaGraphDef:
    """The meta graph of these tags, without anything being added to a graph."""
    requested = {tags} if isinstance(tags, str) else set(tags)
    found = list(meta_graphs(folder))
    for candidate in found:
        if set(candidate.meta_info_def.tags) == requested:
            return candidate
    available = errors.printable("; ".join(str(list(c.meta_info_def.tags)) for c in found))
    raise RuntimeError(
        f"MetaGraphDef associated with tags {', '.join(sorted(requested))!r} could not be found in "
        f"SavedModel {folder}; available are: {available}"
    )


def meta_graphs(folder: str) -> list[MetaGraphDef]:
    """All meta graphs of a folder, in the order in which they were added."""
    path = _main_file(folder)
    if path is None and is_file(folder):
        kind = foreign.kind_of(map_bytes(folder)) or foreign.kind_of_name(folder)
        what = f": it is {kind}" if kind else "; tf.saved_model.load(path) opens model files"
        raise OSError(f"{folder} is a file, expected the folder of a SavedModel{what}")
    if path is None:
        raise OSError(
            f"SavedModel file does not exist at: {folder}/{{"
            f"{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}}}"
        )
    first = MetaGraphDef(read_message(path))
    others = metadata(first._message).get(OTHERS, "")
    names = dict.fromkeys(name for name in others.split(",") if name)
    for name in names:
        if not is_safe_name(name):
            text = f"the saved model in {folder} is damaged: {name!r} is not a plain file name"
            raise OSError(errors.printable(text))
    paths = (stores.join(folder, name) for name in names)
    return [first] + [MetaGraphDef(read_message(path, follow=False)) for path in paths]


def variables_prefix(folder: str) -> str:
    """The prefix of the checkpoint in a folder."""
    inside = stores.join(folder, constants.VARIABLES_DIRECTORY)
    return stores.join(inside, constants.VARIABLES_FILENAME)


def _main_file(folder: str) -> str | None:
    for name in (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT):
        path = stores.join(folder, name)
        if is_file(path):
            return path
    return None


def _run_init(sess: Any, strings: Mapping[str, str], folder: str, found: Imported) -> None:
    """Runs the operation for after loading, with the paths of the assets fed."""
    if INIT_OP not in strings:
        return
    assets = stores.join(folder, constants.ASSETS_DIRECTORY)
    feeds = {
        _named(found.values, key.removeprefix(ASSET).removesuffix(":0"), folder): stores.join(
            assets, os.path.basename(name)
        )
        for key, name in strings.items()
        if key.startswith(ASSET)
    }
    sess.run(_named(found.operations, strings[INIT_OP], folder), feeds)


def _named(table: Mapping[str, T], name: str, folder: str) -> T:
    """An entry of a file for a node; refuses a missing one."""
    if name not in table:
        text = f"the saved model in {folder} is damaged: there is no node '{name}'"
        raise OSError(errors.printable(text))
    return table[name]
