"""Saver: variables of a session to checkpoints and back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework import scopes
from graphio.protos.meta_graph import SaverDef
from graphio.protos.node_def import message_of
from graphio.storage import files
from graphio.support import errors
from graphio.train.checkpoints import checkpoint_state, restoring, saving
from graphio.train.checkpoints.background import Background, Memory
from graphio.train.checkpoints.keeping import keep_checkpoint
from graphio.train.checkpoints.ranking import checked_metrics, ranking
from graphio.train.checkpoints.retention import FOR_EVER, Retention
from graphio.train.checkpoints.saveables import Saveables, of_message, of_session, of_var_list
from graphio.train.checkpoints.saver_arguments import checked_size, is_kept, kept
from graphio.train.checkpoints.saver_messages import Described
from graphio.train.checkpoints.saver_operators import Operators
from graphio.train.checkpoints.user_state import Stateful, checked_objects
from graphio.train.interop.sources import CheckpointSource
from graphio.variables.variables import Variable

__all__ = ["Saver"]


class Saver(Described):
    """Saves and restores variables; with them go the session's random generators and iterators.

    A save is atomic and on the disk when it returns. Differences from TensorFlow's: a restore
    checks every byte, all names, dtypes and shapes before it changes anything and names all that
    is wrong; a new Saver that restores a checkpoint takes over the list of those to keep; paths
    in the file `checkpoint` are relative.

    Args:
        var_list: variables, or a dict from names in the checkpoint to variables, among them what
            tf.data.experimental.make_saveable_from_iterator gave, lookup tables that operations
            change, and objects that own variables,
            with TensorFlow's method _gather_saveables_for_checkpoint; None: all global variables
            and saveable objects of the default graph as it is now.
        reshape: True restores another shape of as many elements.
        sharded: True gives the variables of each device separate data files; see shard_bytes,
            too. Any reader takes both.
        max_to_keep: how many checkpoints are kept, the oldest are deleted; None, 0 or less:
            all. What tf.train.keep_checkpoint protects stays.
        keep_checkpoint_every_n_hours: of those to be deleted, one in so many hours is kept.
        name, restore_sequentially, write_version, save_relative_paths: accepted.
        saver_def: what to_proto gave: the variables and how many to keep; the variables are
            those of the default graph.
        builder: not supported, must be None.
        filename: the prefix that the operators of saver_def use when none is fed, text or a
            string tensor; None: "model".
        defer_build: True looks for the variables when `build` is called.
        allow_empty: True lets a Saver have no variables.
        pad_step_number: True writes the step with eight digits.
        recover: False does not take over the list of checkpoints at restore.
        iterators: whether the positions of the session's tf.data iterators are saved and restored;
            None: where var_list is None or has a saveable iterator.
        asynchronous: True writes in the background; see save, wait and close.
        shard_bytes: a new data file begins before this size would be passed; None: never.
        objects: user-defined, by name, with get_state() -> bytes and set_state(bytes);
            their states are saved and restored with the variables.
        best_to_keep: how many of the best checkpoints are kept in addition to the newest, also over
            restarts of the process; None: none. Those that were saved without the metric, or with
            NaN, are never among them; of equal ones the later is the better.
        best_metric: the name of the number that they are compared by, see save's metrics.
        best_mode: "min", the smallest is the best, or "max".

    Raises:
        ValueError: no variables; two of one name; var_list with defer_build; shard_bytes below 1;
            keep_checkpoint_every_n_hours below 0; best_to_keep below 1, without best_metric or
            best_mode, or where max_to_keep keeps all.
        TypeError: something in var_list is not a variable; shard_bytes is not an int; an object
            lacks a method.
    """

    _layer = files.SYSTEM
    #: called with name to value before a save writes; what it raises ends the save
    inspect: Callable[[Mapping[str, np.ndarray[Any, Any]]], None] | None = None

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float | None = FOR_EVER,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: Any = None,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
        *,
        recover: bool = True,
        iterators: bool | None = None,
        asynchronous: bool = False,
        shard_bytes: int | None = saving.SHARD_BYTES,
        objects: Mapping[str, Stateful] | None = None,
        best_to_keep: int | None = None,
        best_metric: str | None = None,
        best_mode: str | None = None,
    ) -> None:
        if builder is not None:
            raise ValueError("builder is not supported; leave it None")
        if defer_build and var_list is not None:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        if write_version not in (None, SaverDef.V1, SaverDef.V2):
            raise ValueError(f"write_version is 1 or 2 (both give our format), not {write_version}")
        self._reshape = reshape
        self._allow_empty = allow_empty
        self._pad = pad_step_number
        self._shard_bytes = checked_size(shard_bytes)
        self._objects = checked_objects(objects)
        self._asynchronous = asynchronous
        self._background, self._memory = Background(), Memory()
        self._graph_file = saving.GraphFile()
        self._recover = recover
        self._whole, self._given = var_list is None, var_list
        self._iterators = self._whole if iterators is None else iterators
        self._positions = False  # of iterators, in var_list
        self._parted: Mapping[str, Any] = {}
        most, hours = kept(max_to_keep, keep_checkpoint_every_n_hours)
        best = (best_to_keep, best_metric, best_mode)
        self._retention = Retention(most, hours, ranking(*best, most))
        self._sharded = bool(sharded)
        outer = scopes.get_default_graph().get_name_scope()
        self._scope = "/".join(filter(None, [outer, name or "save"]))
        self._operators: Operators | None = None
        self._filename = "model" if filename is None else filename
        self._variables: dict[str, Variable] | None = None
        if saver_def is not None:
            self._take_over(saver_def, name, best)
        elif not defer_build:
            self._take(of_var_list(var_list, allow_empty))

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """The Saver of a message, for the variables of the default graph.

        Args:
            saver_def: what to_proto gave.
            import_scope: the name scope that the variables are in.
        """
        return Saver(saver_def=saver_def, name=import_scope)

    def _take_over(
        self, saver_def: Any, import_scope: str | None, best: tuple[Any, Any, Any]
    ) -> None:
        """Becomes the Saver that a message describes."""
        if not isinstance(saver_def, SaverDef):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {saver_def!r}")
        saver = message_of(saver_def)
        hours = saver.keep_every_hours or self._retention.hours
        most = saver.max_to_keep
        self._retention = Retention(most, hours, ranking(*best, most))
        self._sharded = saver.sharded
        self._take(of_message(saver.key, saver.variable, import_scope))

    def _take(self, found: Saveables) -> None:
        self._variables, self._positions, self._parted = found
        self._iterators = self._iterators or self._positions

    @property
    def _var_list(self) -> Any:
        """TensorFlow's attribute, which programs print: the argument, or all variables."""
        if not self._whole:
            return self._given
        self.build()
        return list((self._variables or {}).values())

    def build(self) -> None:
        """Looks for the variables now, if that was deferred."""
        if self._variables is None:
            self._take(of_var_list(None, self._allow_empty))

    @property
    def best_metric(self) -> str | None:
        """The name of the metric that the best checkpoints are chosen by; None: none are."""
        ranking = self._retention.ranking
        return None if ranking is None else ranking.metric

    @property
    def best_checkpoints(self) -> list[str]:
        """Paths of the best_to_keep best checkpoints, the best first; after a restart those of the
        list that restore takes over."""
        return self._retention.best()

    def keep(self, checkpoint_prefix: str | os.PathLike[str], keep: bool = True) -> None:
        """Protects a checkpoint from being deleted, as tf.train.keep_checkpoint, and waits before
        for the save that is running in the background."""
        self._background.wait()
        keep_checkpoint(checkpoint_prefix, keep)

    @property
    def last_checkpoints(self) -> list[str]:
        """Paths of the checkpoints that are kept, oldest first; those kept for good left out."""
        return self._retention.paths()

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Replaces the list of checkpoints to keep."""
        if not isinstance(last_checkpoints, (list, tuple)):
            raise TypeError(f"last_checkpoints must be a list, not {type(last_checkpoints)}")
        self.set_last_checkpoints_with_time([(path, np.inf) for path in last_checkpoints])

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[str, float]]
    ) -> None:
        """Replaces the list of checkpoints to keep: pairs of path and seconds since 1970."""
        given = last_checkpoints_with_time
        if not isinstance(given, (list, tuple)) or not all(map(is_kept, given)):
            raise TypeError(f"expected a list of (path, seconds since 1970), not {given!r}")
        self._retention.replace(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Takes over the checkpoints of an earlier process that still exist, oldest first."""
        self.set_last_checkpoints_with_time(checkpoint_state.existing_with_times(checkpoint_paths))

    # ---- saving ----

    def save(
        self,
        sess: Any,
        save_path: str | os.PathLike[str],
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
        *,
        blobs: Mapping[str, bytes] | None = None,
        metrics: Mapping[str, Any] | None = None,
    ) -> str | Any:
        """Writes a checkpoint.

        With asynchronous=True it returns as soon as all values are copied, in the Python runtime
        noted, and another thread writes: see wait. A save that finds another one running waits for
        it first.

        Args:
            sess: the session whose values are saved; of one that runs another graph those of the
                variables of the same names.
            save_path: prefix of the files' names. The folder is made if it is not there, but not
                those above it.
            global_step: int, tensor, variable or name of one; appended to the path.
            latest_filename: of the state file; None: "checkpoint".
            meta_graph_suffix: of the graph file; those of checkpoints that are deleted now go with
                them.
            write_meta_graph: False writes no graph file.
            write_state: False leaves the state file as it is and deletes nothing.
            strip_default_attrs, save_debug_info: accepted.
            blobs: bytes by name that go along; tf.train.load_checkpoint reads them.
            metrics: numbers by name, such as {"loss": 0.25}, that are saved with the checkpoint and
                by which the best are chosen; tf.train.load_checkpoint reads them.

        Returns:
            The prefix, to be given to restore; None if there are no variables: then only the
            graph file is written.

        Raises:
            TypeError: sess is not a session, or its graph lacks a variable; a metric is not a
                number.
            ValueError: a path that cannot be; metrics without the Saver's best_metric.
            FailedPreconditionError: variables have no value.
            DiskFullError, UnavailableError: as reported by the operating system; earlier
                checkpoints are as they were.
            OpError: the save before failed in the background; nothing was done now.
        """
        variables = of_session(sess, self._built("save"))
        numbers = checked_metrics(metrics)
        if self._retention.ranking is not None:
            self._retention.ranking.check(numbers)
        contents = saving.Contents(
            variables,
            self._iterators,
            self._graph_file.bytes_of(sess.graph, message_of(self.to_proto()))
            if write_meta_graph
            else None,
            self._pad,
            self._shard_bytes,
            self._objects,
            self._sharded,
            self.inspect,
            self._parted,
        )
        request = saving.Request(
            os.fsdecode(save_path),
            global_step,
            latest_filename,
            meta_graph_suffix,
            write_state,
            blobs,
            numbers,
        )
        others = self._positions or self._objects or self._parted
        if not (contents.variables or others or blobs):
            saving.save_graph(sess, contents, request, self._layer)
            return None
        with self._background.turn:
            self._background.wait()
            if self._asynchronous:
                return self._save_later(sess, contents, request)
            with sess.state.lock:
                prepared = saving.prepare(sess, contents, request, None)
                if not sess.state.lasting:
                    saving.commit(prepared, self._retention, self._layer)
                    return prepared.where
            saving.commit(prepared, self._retention, self._layer)
        return prepared.where

    def _save_later(self, sess: Any, contents: saving.Contents, request: saving.Request) -> str:
        with sess.state.lock:
            prepared = saving.prepare(sess, contents, request, self._memory)
        retention, layer = self._retention, self._layer
        self._background.start(
            f"the save of '{prepared.where}'", lambda: saving.commit(prepared, retention, layer)
        )
        return prepared.where

    def wait(self) -> None:
        """Waits until a save in the background has ended.

        Raises:
            OpError: the error of that save, if no call has raised it yet; the message has the
                prefix.
        """
        self._background.wait()

    def finish(self) -> None:
        """As wait, but leaves the error to the next call that raises it."""
        self._background.join()

    def close(self) -> None:
        """As wait, and lets the memory of the snapshot go; the Saver may be used again."""
        try:
            self._background.wait()
        finally:
            if not self._background.running():
                self._memory.release()

    def __enter__(self) -> Saver:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            self.close()
        except errors.OpError as failure:
            if kind is None:
                raise
            warnings.warn(str(failure), RuntimeWarning, stacklevel=2)

    # ---- restoring ----

    def restore(
        self,
        sess: Any,
        save_path: Any,
        *,
        strict: bool = True,
        assignment_map: Any = None,
        ignore: Any = None,
        cast: bool = False,
        reshape: bool | None = None,
        verify: str = "full",
    ) -> None:
        """Gives the session's variables and random generators the values of a checkpoint.

        Variables need not be initialised before. All values are read and checked before the
        first is assigned, and nothing changes when this raises.

        Args:
            sess: the session; of one that runs another graph the variables of the same names.
            save_path: what save returned, or latest_checkpoint; or a file of another framework, or
                a mapping from names to arrays: whatever tf.train.load_values takes or gives.
            strict: False leaves variables that have no value there as they are, with a warning;
                values of another dtype or shape are errors all the same.
            assignment_map: what the values are called in the graph. A dict of names, or of scopes
                that end with "/" ("/" is the root; the longest scope counts, a name more than
                any); a list of (regular expression, replacement), applied one after the other as
                re.sub does; or a function of a name that gives the other, None to leave it out.
                What it does not change keeps its name, unless something else gets that.
            ignore: regular expressions of names, from their beginning as re.match: variables,
                random generators and iterators that stay as they are.
            cast: True converts values of another dtype. Bool may become any number, an integer
                any integer that can hold it or a float that holds it exactly, a float any
                float (rounded; beyond its range is an error), these a complex number. Nothing
                goes the other way.
            reshape: True accepts another shape of as many elements; None: as the Saver's argument.
            verify: "full" reads every byte of the checkpoint and checks it. "lazy" maps its files,
                which must not be changed or cut short, copies nothing, and checks a variable
                when it is first used: damage is a DataLossError then. "meta" checks index and
                headers, but no value: for files that were just verified.

        Raises:
            TypeError: sess is not a session, or its graph lacks a variable.
            ValueError: save_path is None, or there is no such checkpoint.
            NotFoundError: variables are missing in it.
            InvalidArgumentError: dtypes or shapes differ, a value cannot be cast, or an entry of
                assignment_map or ignore is for nothing. These name all that is wrong at once.
            DataLossError: it is damaged.
        """
        variables = of_session(sess, self._built("restore"))
        self._background.join()
        if not (variables or self._positions or self._objects or self._parted):
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        where = os.fsdecode(save_path) if isinstance(save_path, bytes) else save_path
        options = restoring.Options(
            strict,
            assignment_map,
            ignore,
            cast,
            self._reshape if reshape is None else reshape,
            verify,
        )
        target = restoring.Target(
            sess, variables, self._iterators, self._objects, self._whole, self._parted
        )
        source = restoring.restore_from(where, target, options)
        if self._recover and isinstance(source, CheckpointSource):
            self._take_list(self._retention.adopt, source.checkpoint.prefix)

    def _go_on_from(self, prefix: str) -> None:
        """Counts what tf.train.restore_latest restored to the current run, listed or not."""
        if self._recover:
            self._take_list(self._retention.go_on_from, prefix)

    def _take_list(self, how: Callable[[str], None], prefix: str) -> None:
        """Warns of errors here: the values are restored already."""
        try:
            how(prefix)
        except errors.OpError as error:
            warnings.warn(
                f"the list of checkpoints next to {prefix!r} cannot be read: {error}; this Saver "
                "deletes none of them",
                stacklevel=3,
            )
