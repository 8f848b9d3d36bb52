"""SessionManager: sessions whose variables have values, a checkpoint's or the initial ones.

tf.train.MonitoredTrainingSession does this, too, and more; this is for programs that keep the
session themselves.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from graphio.execution.session import Session
from graphio.framework import scopes
from graphio.framework.graph import Graph
from graphio.support import errors, logging
from graphio.train.checkpoints.checkpoint_state import read_state
from graphio.train.checkpoints.saver import Saver

__all__ = ["SessionManager"]


class SessionManager:
    """Makes sessions that are ready to train.

    Args:
        local_init_op: run in every session once ready_for_local_init_op says so.
        ready_op: says whether the model is ready: a string vector of what is missing, or an
            operation that fails with FailedPreconditionError. None: it always is.
        ready_for_local_init_op: the same for local_init_op.
        graph: None: the default graph.
        recovery_wait_secs: how long to wait before looking for a checkpoint, or for variables that
            others initialise, again.
        local_init_run_options: a RunOptions for local_init_op.
        local_init_feed_dict: what local_init_op is fed with.

    Raises:
        ValueError: ready_for_local_init_op without local_init_op.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op"
            )
        self._graph = scopes.get_default_graph() if graph is None else graph
        self._local_init_op, self._local_feeds = local_init_op, local_init_feed_dict
        self._local_options = local_init_run_options
        self._ready_op, self._ready_for_local = ready_op, ready_for_local_init_op
        self._pause = recovery_wait_secs

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Saver | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Session], Any] | None = None,
    ) -> Session:
        """A session with the values of a checkpoint; where there is none, with the initial ones.

        Args:
            master: the session's target.
            init_op: gives the variables values where no checkpoint does.
            saver: restores the checkpoint; None: there is none.
            checkpoint_dir: a folder, whose newest checkpoint is restored; or
            checkpoint_filename_with_path: the checkpoint.
            wait_for_checkpoint: True waits for one that another process writes.
            max_wait_secs: the longest to wait for it.
            config: a ConfigProto.
            init_feed_dict: what init_op is fed with.
            init_fn: called with the session after init_op.

        Raises:
            RuntimeError: the model is not ready after all, or has no init operation.
            ValueError: checkpoint_dir and checkpoint_filename_with_path are both given.
        """
        session, loaded = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
            max_wait_secs, config,
        )  # fmt: skip
        with _closed_on_error(session):
            if not loaded:
                self._initialise(session, init_op, init_feed_dict, init_fn)
            described = f"Init op: {_name(init_op)}, init fn: {init_fn}"
            missing = self._local_init(session)
            if missing:
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init. {described}, error: "
                    f"{missing}"
                )
            missing = _missing(session, self._ready_op)
            if missing:
                raise RuntimeError(
                    f"Init operations did not make model ready. {described}, local_init_op: "
                    f"{_name(self._local_init_op)}, error: {missing}"
                )
        return session

    def recover_session(
        self,
        master: str,
        saver: Saver | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """A session, and whether a checkpoint has made it ready; see prepare_session."""
        session, loaded = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
            max_wait_secs, config,
        )  # fmt: skip
        with _closed_on_error(session):
            missing = self._local_init(session)
            if loaded and not missing:
                missing = _missing(session, self._ready_op)
        if loaded and missing:
            logging.info("The restored model is not ready: %s", missing)
        return session, loaded and not missing

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float = float("inf")
    ) -> Session:
        """A session that is ready, once local_init_op has run in it.

        Raises:
            DeadlineExceededError: none was within max_wait_secs.
        """
        end = time.monotonic() + max_wait_secs
        while True:
            session = Session(master, self._graph, config)
            with _closed_on_error(session):
                missing = self._local_init(session) or _missing(session, self._ready_op)
            if not missing:
                return session
            session.close()
            if time.monotonic() + self._pause > end:
                raise errors.DeadlineExceededError(
                    message=f"Session was not ready after waiting {max_wait_secs:g} secs: {missing}"
                )
            time.sleep(self._pause)

    def _restored(
        self,
        master: str,
        saver: Saver | None,
        folder: str | None,
        file: str | None,
        wait: bool,
        most: float,
        config: Any,
    ) -> tuple[Session, bool]:
        """A session, and whether a checkpoint was restored into it."""
        if folder and file:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        session = Session(master, self._graph, config)
        with _closed_on_error(session):
            return session, self._load(session, saver, folder, file, most if wait else 0)

    def _load(
        self,
        session: Session,
        saver: Saver | None,
        folder: str | None,
        file: str | None,
        most: float,
    ) -> bool:
        """Whether there was a checkpoint to restore."""
        if saver is None or not (folder or file):
            return False
        if file:
            saver.restore(session, file)
            return True
        assert folder is not None
        end = time.monotonic() + most
        while True:
            state = read_state(folder)
            if state is not None and state.model_checkpoint_path:
                break
            if time.monotonic() >= end:
                return False
            time.sleep(min(self._pause, max(0.0, end - time.monotonic())))
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return True

    def _initialise(self, session: Session, init_op: Any, feeds: Any, init_fn: Any) -> None:
        if init_op is None and init_fn is None and self._local_init_op is None:
            raise RuntimeError(
                "Model is not initialized and no init_op or init_fn or local_init_op was given"
            )
        if init_op is not None:
            session.run(init_op, feeds)
        if init_fn is not None:
            init_fn(session)

    def _local_init(self, session: Session) -> str:
        """Runs local_init_op; what it would need to be run, "" if it has run."""
        if self._local_init_op is None:
            return ""
        missing = _missing(session, self._ready_for_local)
        if not missing:
            session.run(self._local_init_op, self._local_feeds, self._local_options)
        return missing


@contextlib.contextmanager
def _closed_on_error(session: Session) -> Iterator[None]:
    """A context that closes the session where an error leaves it."""
    try:
        yield
    except BaseException:
        session.close()
        raise


def _missing(session: Session, ready_op: Any) -> str:
    """The variables that an operation reports as missing, "" if none is."""
    if ready_op is None:
        return ""
    try:
        found = session.run(ready_op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in error.message:
            raise
        return error.message
    if found is None or not np.size(found) or np.asarray(found).dtype == np.int32:
        return ""
    names = [n.decode() if isinstance(n, bytes) else str(n) for n in np.ravel(found)]
    return f"Variables not initialized: {', '.join(names)}"


def _name(operation: Any) -> Any:
    if isinstance(operation, (list, tuple)):
        return [_name(one) for one in operation]
    return getattr(operation, "name", operation)
