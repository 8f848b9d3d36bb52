"""Devices: what a name such as "/job:ps/gpu:0" says, and what an operation's scopes come down to.

An operation keeps TensorFlow's canonical form, "/job:ps/device:GPU:0"; which devices there are is
a session's matter (graphio.execution.placement).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphio.framework.graph import Operation

__all__ = ["DeviceSpec"]

#: types that may be written without "device:", in either case
_SHORT = ("CPU", "GPU", "TPU", "CUSTOM")
_FIELDS = ("job", "replica", "task", "device_type", "device_index")


def _type_name(kind: str) -> str:
    """The type as names have it: those of TensorFlow in capitals, all others as they are given."""
    return kind.upper() if kind.upper() in _SHORT else kind


class DeviceSpec:
    """A device, or a part of a device's name.

    Args:
        job: name of a job; None: not given, as for the others.
        replica, task: numbers in the job.
        device_type: "CPU", "GPU" ...
        device_index: which of the type.
    """

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job = None if job is None else str(job)
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        self.device_type = None if device_type is None else _type_name(str(device_type))
        self.device_index = None if device_index is None else int(device_index)

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """The parts of a name.

        Raises:
            ValueError: a part is none of job:, replica:, task:, device:TYPE:N, cpu:N, gpu:N.
        """
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Takes the parts of a name; those that it lacks are None afterwards. Returns self."""
        self.__init__()  # type: ignore[misc]
        for part in spec.split("/"):
            words = part.split(":")
            try:
                self._take(words, part, spec)
            except ValueError as error:
                if "Unknown" in str(error) or "multiple" in str(error):
                    raise
                raise ValueError(f"'{part}' in '{spec}' has no number where one belongs") from None
        return self

    def _take(self, words: list[str], part: str, spec: str) -> None:
        """Takes one part of a name."""
        key = words[0]
        if len(words) == 2 and key == "job":
            self.job = words[1]
        elif len(words) == 2 and key in ("replica", "task"):
            setattr(self, key, int(words[1]))
        elif len(words) in (1, 2) and key.upper() in _SHORT:
            self._take_device(key, words[1:], spec)
        elif len(words) == 3 and key == "device":
            self._take_device(words[1], words[2:], spec)
        elif key:
            raise ValueError(
                f"Unknown attribute: '{key}' in '{spec}'; a device is written as '/cpu:0' or "
                "'/job:ps/task:1/device:GPU:0'"
            )

    def _take_device(self, kind: str, index: list[str], spec: str) -> None:
        if self.device_type is not None:
            raise ValueError(f"Cannot specify multiple device types: {spec}")
        self.device_type = _type_name(kind)
        self.device_index = int(index[0]) if index and index[0] != "*" else None

    def to_string(self) -> str:
        """The canonical name; "" if no part is given."""
        name = "" if self.job is None else f"/job:{self.job}"
        name += "" if self.replica is None else f"/replica:{self.replica}"
        name += "" if self.task is None else f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            name += f"/device:{self.device_type}:{index}"
        return name

    def merge_from(self, dev: DeviceSpec) -> None:
        """Replaces its parts by those that dev gives."""
        for field in _FIELDS:
            if getattr(dev, field) is not None:
                setattr(self, field, getattr(dev, field))

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """The parts that dev gives, and this device's for the others."""
        made = self.replace()
        made.merge_from(dev)
        return made

    def replace(self, **fields: Any) -> DeviceSpec:
        """A copy with other values of some fields."""
        return DeviceSpec(**{**{field: getattr(self, field) for field in _FIELDS}, **fields})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"


def checked_scope(wish: Any) -> Any:
    """The argument of a device scope, in a form for `merged`.

    Raises:
        ValueError: a name that does not name a device.
        TypeError: neither a name, a function, a DeviceSpec nor None.
    """
    if wish is None or callable(wish):
        return wish
    if isinstance(wish, DeviceSpec):
        return wish.replace()
    if isinstance(wish, str):
        return DeviceSpec.from_string(wish)
    raise TypeError(
        f"a device is {type(wish).__name__}, expected a name, a function of an operation or None"
    )


def merged(scopes: Sequence[Any], operation: Operation) -> str:
    """The device that scopes, outermost first, give an operation: an inner one's words count, an
    outer one adds what it left open; a function replaces them; None ends it."""
    for wish in reversed(scopes):
        if wish is None:
            break
        if isinstance(wish, DeviceSpec):
            found = wish.make_merged_spec(DeviceSpec.from_string(operation.device)).to_string()
        else:
            found = _of_function(wish(operation))
        operation.device = found
    return operation.device


def _of_function(answer: Any) -> str:
    given = checked_scope(answer)
    if given is None:
        return ""
    if isinstance(given, DeviceSpec):
        return given.to_string()
    raise TypeError(f"a device function gave {type(answer).__name__}, expected a device's name")
