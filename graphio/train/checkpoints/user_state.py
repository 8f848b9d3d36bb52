"""User-defined state in a checkpoint: objects that a Saver saves, and bytes of one save."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

__all__ = ["Stateful", "checked_objects", "gather", "missing"]

LIMIT = 1 << 24  # bytes: they are in the index, which every reader reads completely


class Stateful(Protocol):
    """An object whose state goes into checkpoints."""

    def get_state(self) -> bytes:
        """The state."""

    def set_state(self, state: bytes, /) -> Any:
        """Restores the state that get_state gave."""


def checked_objects(objects: Mapping[str, Any] | None) -> dict[str, Stateful]:
    """The argument `objects` of a Saver.

    Raises:
        TypeError: an object has not both methods, or a name is not a string.
    """
    found = dict(objects or {})
    for name, value in found.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"objects: a name must be a string that is not empty, not {name!r}")
        lacking = [m for m in ("get_state", "set_state") if not callable(getattr(value, m, None))]
        if lacking:
            raise TypeError(
                f"objects: '{name}' is a {type(value).__name__} without {' and '.join(lacking)}; "
                "an object needs get_state() -> bytes and set_state(bytes)"
            )
    return found


def gather(
    objects: Mapping[str, Stateful], blobs: Mapping[str, Any] | None, taken: Collection[str]
) -> dict[str, bytes]:
    """The states of objects and the blobs of a save.

    Args:
        taken: names of generators and iterators in the same checkpoint.

    Raises:
        TypeError: a state is not bytes, or a name is not a string.
        ValueError: a name is there twice, or it is too much.
    """
    given = dict(blobs or {})
    twice = sorted(str(name) for name in (set(taken) | set(objects)) & set(given))
    twice += sorted(set(taken) & set(objects))
    if twice:
        raise ValueError(
            f"two states of one name in a checkpoint: {', '.join(twice)}; blobs, objects, random "
            "generators and iterators need different names"
        )
    found: dict[str, bytes] = {}
    for name, value in [*given.items(), *((n, o.get_state()) for n, o in objects.items())]:
        if not isinstance(name, str) or not name:
            raise TypeError(f"blobs: a name must be a string that is not empty, not {name!r}")
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"the state '{name}' is {type(value).__name__}, expected bytes")
        found[name] = bytes(value)
    size = sum(map(len, found.values()))
    if size > LIMIT:
        raise ValueError(
            f"objects and blobs have {size} bytes, at most {LIMIT} can go along; keep larger ones "
            "in a variable of dtype uint8"
        )
    return found


def missing(objects: Mapping[str, Stateful], stored: Mapping[str, Any]) -> list[str]:
    """Names of objects whose state a checkpoint lacks.

    Args:
        stored: the checkpoint's resources.
    """
    return sorted(name for name in objects if not isinstance(stored.get(name), bytes))
