"""The initial values of a monitored session: a checkpoint's, or the initial ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.execution.session import Session
from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.ops.control_flow.branches import group
from graphio.summary.ops import merge_all
from graphio.train.checkpoints.latest import restore_latest
from graphio.train.checkpoints.saver import Saver
from graphio.train.loops.session_manager import SessionManager
from graphio.variables.variables import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)

__all__ = ["ChiefSessionCreator", "Scaffold", "SessionCreator", "WorkerSessionCreator"]


def _report_global_variables() -> Any:
    return report_uninitialized_variables(global_variables())


def _piece(name: str) -> Any:
    return property(lambda scaffold: scaffold._pieces[name])


class Scaffold:
    """The operations that a monitored session needs; finalize makes those not given.

    Args, which are attributes, too, None until they are given or made:
        init_op: gives the variables values where there is no checkpoint; None: one for all.
        init_feed_dict: fed to it.
        init_fn: called with (scaffold, session) after it; the attribute takes the session alone.
        ready_op: a string vector that is empty when all is ready; None: the names of variables
            without a value.
        ready_for_local_init_op: a string vector that is empty when local_init_op may run; None: the
            names of global variables without a value.
        local_init_op: run after init_op or a restore; None: for local variables and tables.
        summary_op: None: all of the collection SUMMARIES.
        saver: None: one of the collection SAVERS, else for all variables.
        copy_from_scaffold: a Scaffold whose values are taken where None is given here.
        local_init_feed_dict: fed to local_init_op.

    Raises:
        TypeError: copy_from_scaffold is not a Scaffold.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Scaffold, Session], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Saver | None = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError(f"copy_from_scaffold is {copy_from_scaffold!r}, expected a Scaffold")
        given = {
            "init_op": init_op, "init_feed_dict": init_feed_dict, "init_fn": init_fn,
            "ready_op": ready_op, "ready_for_local_init_op": ready_for_local_init_op,
            "local_init_op": local_init_op, "summary_op": summary_op, "saver": saver,
            "local_init_feed_dict": local_init_feed_dict,
        }  # fmt: skip
        inherited = {} if copy_from_scaffold is None else copy_from_scaffold._pieces
        self._pieces: dict[str, Any] = {
            name: inherited.get(name) if value is None else value for name, value in given.items()
        }

    init_op: Any = _piece("init_op")
    init_feed_dict: Any = _piece("init_feed_dict")
    ready_op: Any = _piece("ready_op")
    ready_for_local_init_op: Any = _piece("ready_for_local_init_op")
    local_init_op: Any = _piece("local_init_op")
    summary_op: Any = _piece("summary_op")
    saver: Any = _piece("saver")
    local_init_feed_dict: Any = _piece("local_init_feed_dict")

    @property
    def init_fn(self) -> Callable[[Session], Any] | None:
        """init_fn with this scaffold as its first argument; None: none was given."""
        given = self._pieces["init_fn"]
        return None if given is None else functools.partial(given, self)

    def finalize(self) -> Scaffold:
        """Makes what is missing and finalizes the default graph."""
        makers: dict[str, tuple[str, Callable[[], Any]]] = {
            "init_op": (GraphKeys.INIT_OP, global_variables_initializer),
            "ready_op": (GraphKeys.READY_OP, report_uninitialized_variables),
            "ready_for_local_init_op": (
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                _report_global_variables,
            ),
            "local_init_op": (GraphKeys.LOCAL_INIT_OP, self.default_local_init_op),
            "summary_op": (GraphKeys.SUMMARY_OP, merge_all),
            "saver": (GraphKeys.SAVERS, lambda: Saver(allow_empty=True)),
        }
        for name, (collection, make) in makers.items():
            if self._pieces[name] is None:
                self._pieces[name] = self.get_or_default(name, collection, make)
        if self.saver is not None:
            self.saver.build()
        scopes.get_default_graph().finalize()
        return self

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """The member of a collection of the default graph; if it has none, one is made and added.

        Raises:
            RuntimeError: the collection has several.
        """
        graph = scopes.get_default_graph()
        members = graph.get_collection(collection_key)
        if len(members) > 1:
            raise RuntimeError(
                f"More than one item in the collection {collection_key!r}, which has "
                f"{len(members)}; give tf.train.Scaffold({arg_name}=...) the one to use"
            )
        if members:
            return members[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """An operation that initialises the local variables and the tables of the default graph."""
        tables = scopes.get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
        return group(local_variables_initializer(), *tables)


class SessionCreator:
    """The base of what makes a monitored session's session; a subclass gives create_session."""

    def create_session(self) -> Session:
        """A session whose variables have values."""
        raise NotImplementedError(
            f"{type(self).__name__} has no create_session, which a SessionCreator gives"
        )


class ChiefSessionCreator(SessionCreator):
    """Makes a session whose variables have values: a checkpoint's, or the initial ones.

    Args:
        scaffold: None: an empty one.
        master: the session's target.
        config: a ConfigProto.
        checkpoint_dir: a folder, whose latest checkpoint is restored if there is one; where that is
            damaged, with a warning, the one before.
        checkpoint_filename_with_path: or the checkpoint.

    Attributes:
        restored: the prefix of the checkpoint that the session began with; None: none.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._folder, self._file = checkpoint_dir, checkpoint_filename_with_path
        self.restored: str | None = None

    def create_session(self) -> Session:
        """The session.

        Raises:
            RuntimeError: a variable has no value after all, or ready_for_local_init_op says so of a
                global one before local_init_op.
        """
        scaffold = self._scaffold.finalize()
        session = Session(self._master, scopes.get_default_graph(), self._config)
        try:
            self.restored = self._restore(session)
            if self.restored is None:
                session.run(scaffold.init_op, scaffold.init_feed_dict)
                if scaffold.init_fn is not None:
                    scaffold.init_fn(session)
            self._check_ready(session, scaffold.ready_for_local_init_op, " for local_init")
            session.run(scaffold.local_init_op, scaffold.local_init_feed_dict)
            self._check_ready(session, scaffold.ready_op, "")
        except BaseException:
            session.close()
            raise
        return session

    def _check_ready(self, session: Session, ready_op: Any, what_for: str) -> None:
        missing = session.run(ready_op)
        if missing is not None and np.size(missing):  # None: an operation, which has run
            scaffold = self._scaffold
            names = ", ".join(
                n.decode() if isinstance(n, bytes) else str(n) for n in np.ravel(missing)
            )
            raise RuntimeError(
                f"Init operations did not make model ready{what_for}. Variables without a value: "
                f"{names}. Init op: {getattr(scaffold.init_op, 'name', None)}, init fn: "
                f"{scaffold._pieces['init_fn']}, checkpoint: {self.restored}"
            )

    def _restore(self, session: Session) -> str | None:
        if self._file is not None:
            self._scaffold.saver.restore(session, self._file)
            return self._file
        if self._folder is None:
            return None
        return restore_latest(self._scaffold.saver, session, self._folder, fall_back=True)


class WorkerSessionCreator(SessionCreator):
    """Makes a session that initialises nothing, and waits until all variables have values.

    A variable that no other process initialises never has one.

    Args:
        scaffold: None: an empty one.
        master: the session's target.
        config: a ConfigProto.
        max_wait_secs: the longest to wait.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config, self._most = master, config, max_wait_secs

    def create_session(self) -> Session:
        """The session.

        Raises:
            DeadlineExceededError: the variables had no values within max_wait_secs.
        """
        scaffold = self._scaffold.finalize()
        manager = SessionManager(
            local_init_op=scaffold.local_init_op,
            ready_op=scaffold.ready_op,
            ready_for_local_init_op=scaffold.ready_for_local_init_op,
        )
        return manager.wait_for_session(self._master, self._config, self._most)
