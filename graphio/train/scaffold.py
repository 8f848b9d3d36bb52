"""How a monitored session gets its values: a checkpoint's, or the initial ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio import scopes
from graphio.collections import GraphKeys
from graphio.ops.control_flow import group
from graphio.session import Session
from graphio.summary.ops import merge_all
from graphio.train.latest import restore_latest
from graphio.train.saver import Saver
from graphio.variables import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)

__all__ = ["ChiefSessionCreator", "Scaffold"]


class Scaffold:
    """What a monitored session needs of a graph; what is not given is made by finalize.

    Args:
        init_op: gives the variables values where there is no checkpoint; None: one for all.
        init_feed_dict: fed to it.
        init_fn: called with (scaffold, session) after it.
        ready_op: a string vector that is empty when all is ready; None: the names of variables
            without a value.
        ready_for_local_init_op: accepted.
        local_init_op: run after init_op or a restore; None: for local variables and tables.
        summary_op: None: all of the collection SUMMARIES.
        saver: None: one of the collection SAVERS, else for all variables.
        copy_from_scaffold: a Scaffold whose values are taken where None is given here.
        local_init_feed_dict: fed to local_init_op.
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
            "ready_op": ready_op, "local_init_op": local_init_op, "summary_op": summary_op,
            "saver": saver, "local_init_feed_dict": local_init_feed_dict,
        }  # fmt: skip
        for name, value in given.items():
            inherited = getattr(copy_from_scaffold, name, None)
            setattr(self, name, inherited if value is None else value)

    init_op: Any
    init_feed_dict: Any
    init_fn: Any
    ready_op: Any
    local_init_op: Any
    summary_op: Any
    saver: Any
    local_init_feed_dict: Any

    def finalize(self) -> Scaffold:
        """Makes what is missing and finalizes the default graph."""
        graph = scopes.get_default_graph()
        makers: dict[str, tuple[str, Callable[[], Any]]] = {
            "init_op": (GraphKeys.INIT_OP, global_variables_initializer),
            "ready_op": (GraphKeys.READY_OP, report_uninitialized_variables),
            "local_init_op": (GraphKeys.LOCAL_INIT_OP, _local_init_op),
            "summary_op": (GraphKeys.SUMMARY_OP, merge_all),
            "saver": (GraphKeys.SAVERS, lambda: Saver(allow_empty=True)),
        }
        for name, (collection, make) in makers.items():
            if getattr(self, name) is None:
                members = graph.get_collection(collection)
                if len(members) > 1:
                    raise RuntimeError(
                        f"More than one item in collection {collection}; give Scaffold {name}"
                    )
                found = members[0] if members else make()
                setattr(self, name, found)
                if not members and found is not None:
                    graph.add_to_collection(collection, found)
        if self.saver is not None:
            self.saver.build()
        graph.finalize()
        return self


def _local_init_op() -> Any:
    tables = scopes.get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(local_variables_initializer(), *tables)


class ChiefSessionCreator:
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
            RuntimeError: a variable has no value after all.
        """
        scaffold = self._scaffold.finalize()
        session = Session(self._master, scopes.get_default_graph(), self._config)
        self.restored = self._restore(session)
        if self.restored is None:
            session.run(scaffold.init_op, scaffold.init_feed_dict)
            if scaffold.init_fn is not None:
                scaffold.init_fn(scaffold, session)
        session.run(scaffold.local_init_op, scaffold.local_init_feed_dict)
        missing = session.run(scaffold.ready_op)
        if len(missing):
            names = ", ".join(n.decode() if isinstance(n, bytes) else str(n) for n in missing)
            raise RuntimeError(
                f"Init operations did not make model ready. Variables without a value: {names}. "
                f"Init op: {getattr(scaffold.init_op, 'name', None)}, init fn: {scaffold.init_fn}, "
                f"checkpoint: {self.restored}"
            )
        return session

    def _restore(self, session: Session) -> str | None:
        if self._file is not None:
            self._scaffold.saver.restore(session, self._file)
            return self._file
        if self._folder is None:
            return None
        return restore_latest(self._scaffold.saver, session, self._folder, fall_back=True)
