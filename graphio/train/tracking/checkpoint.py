"""Checkpoint: saves variables by the attributes of objects that lead to them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.modes import init_scope
from graphio.schema.checkpoint_writer import write_checkpoint
from graphio.storage.gfile import makedirs
from graphio.train.checkpoints.checkpoint_state import update_checkpoint_state
from graphio.train.interop.sources import open_source
from graphio.train.tracking.objects import OBJECT_GRAPH, check_tracked, walk
from graphio.train.tracking.status import InitializationOnlyStatus, LoadStatus, session_of
from graphio.variables.variables import Variable, is_variable_initialized

__all__ = ["Checkpoint"]


class Checkpoint:
    """A group of objects that are saved together.

    Values are saved under names such as "model/w/.ATTRIBUTES/VARIABLE_VALUE": the attributes, keys
    and positions from here to a variable. Slots of optimizers are saved for the variables that are.

    Args:
        kwargs: attributes: variables, optimizers, layers, Checkpoints, PythonStates, and lists and
            dictionaries of them.

    Raises:
        ValueError: an argument is something else.

    Attributes:
        save_counter: int64 variable, the number of saves; made by the first one or by restore.

    saver = tf.train.Checkpoint(model=layer, step=step); path = saver.save("folder/m", session)
    writes the checkpoint folder/m-1, and saver.restore(path).run_restore_ops(session) reads it.
    """

    _tracks_attributes = True

    def __init__(self, **kwargs: Any) -> None:
        for name, value in sorted(kwargs.items()):
            check_tracked(name, value)
            setattr(self, name, value)

    def _counter(self) -> Variable:
        found = vars(self).get("save_counter")
        if not isinstance(found, Variable):
            with init_scope(), scopes.name_scope(None):
                found = Variable(0, trainable=False, dtype=dtypes.int64, name="save_counter")
            self.save_counter = found
        if "_counter_begun" not in vars(self):
            with init_scope():
                self._counter_begun = is_variable_initialized(found)
        return found

    def write(self, file_prefix: Any, session: Any = None) -> str:
        """Writes a checkpoint of exactly this path, which no list of checkpoints mentions.

        Args:
            file_prefix: the path.
            session: of the values; None: the default one.

        Returns:
            The path.

        Raises:
            RuntimeError: there is no session.
            FailedPreconditionError: a variable has no value.
        """
        chosen = session_of(session, "Checkpoint.write")
        path: str = os.fspath(file_prefix)
        self._start_counter(chosen)
        walked = walk(self)
        variables = {k: v for k, v in walked.values.items() if isinstance(v, Variable)}
        values: dict[str, Any] = {
            key: np.asarray(value) for key, value in chosen.run(variables).items()
        }
        for key, thing in walked.values.items():
            if key not in values:
                text = thing.serialize()
                values[key] = _string(text.encode() if isinstance(text, str) else text)
        values[OBJECT_GRAPH] = _string(walked.graph.SerializeToString(deterministic=True))
        if os.path.dirname(path):
            makedirs(os.path.dirname(path))
        write_checkpoint(path, values)
        return path

    def _start_counter(self, session: Any) -> None:
        """Makes the counter, 0 where the program has not initialized it."""
        counter = self._counter()
        if not session.run(self._counter_begun):
            session.run(counter.initializer)

    def save(self, file_prefix: Any, session: Any = None) -> str:
        """Writes the checkpoint PREFIX-NUMBER, the newest one of its folder.

        Args:
            file_prefix: the path without the number, which is that of the save.
            session: of the values; None: the default one.

        Returns:
            The path.

        Raises:
            as write.
        """
        chosen = session_of(session, "Checkpoint.save")
        self._start_counter(chosen)
        number = int(chosen.run(self._counter())) + 1
        self._counter().load(number, chosen)
        path = self.write(f"{os.fspath(file_prefix)}-{number}", chosen)
        update_checkpoint_state(os.path.dirname(path) or ".", path)
        return path

    def restore(self, save_path: Any) -> Any:
        """Finds the values of a checkpoint for the objects.

        Args:
            save_path: a checkpoint of save or write, of TensorFlow's Checkpoint, or of a Saver,
                whose variables go by their names; None: there is none.

        Returns:
            A status: run_restore_ops(session) gives the variables their values,
            initialize_or_restore(session) also initializes those that have none, and
            assert_consumed() and its kin check what was found. Objects may be made meanwhile.

        Raises:
            NotFoundError: there is no such checkpoint.
            DataLossError: it is damaged.
        """
        self._counter()
        if save_path is None:
            return InitializationOnlyStatus(self)
        return LoadStatus(self, open_source(os.fspath(save_path), lazy=True))


def _string(value: bytes) -> Any:
    made = np.empty((), object)
    made[()] = value
    return made
