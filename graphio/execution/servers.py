"""Servers of this process, by the targets of their sessions.

Sessions of a server share its state: variables that one initializes, the others see.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from graphio.support import errors

if TYPE_CHECKING:
    from graphio.engine.interface import State
    from graphio.execution.config import ConfigProto
    from graphio.execution.engines import Engine

__all__ = ["PREFIX", "LocalServer", "find"]

PREFIX = "grpc://"

_running: weakref.WeakValueDictionary[str, LocalServer] = weakref.WeakValueDictionary()


class LocalServer:
    """A server whose sessions run in this process.

    Args:
        target: of its sessions; begins with PREFIX.
        job, task: of its devices.
        config: of sessions that have none.

    Raises:
        UnknownError: a server of this process has the target.
    """

    def __init__(self, target: str, job: str, task: int, config: ConfigProto | None) -> None:
        if target in _running:
            raise errors.UnknownError(
                message=f"Could not start gRPC server: a server of this process is {target}"
            )
        self.target, self.job, self.task, self.config = target, job, task, config
        self._lock = threading.Lock()
        self._states: dict[str, State] = {}
        _running[target] = self

    def state(self, engine: Engine) -> State:
        """The state of its sessions in an engine."""
        with self._lock:
            if engine.name not in self._states:
                self._states[engine.name] = engine.new_state()
            return self._states[engine.name]

    def clear(self) -> None:
        """Forgets the state."""
        with self._lock:
            self._states.clear()


def find(target: str) -> LocalServer | None:
    """The server of a target; None where it names an engine.

    Raises:
        NotFoundError: no server of this process has the target.
    """
    if not target.startswith(PREFIX):
        return None
    found = _running.get(target)
    if found is None:
        raise errors.NotFoundError(
            message=f"no tf.train.Server of this process has the target {target!r}: a session runs "
            "in the process of its server, which has to exist as long as the session is made"
        )
    return found
