"""Names of a root graph's operations and name scopes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from graphio.framework.operation import Operation
from graphio.framework.tensor import Tensor
from graphio.framework.undo import Journal, Table
from graphio.support import errors

__all__ = ["Names", "check", "free_name"]

_VALID_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_VALID_SCOPE = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")
_TENSOR_NAMES = 'Tensor names must be of the form "<op_name>:<output_index>".'


class Names:
    """The operations of a root graph and its bodies by name, and the names that are taken.

    Attributes:
        operations: by name.
    """

    __slots__ = ("_taken", "operations")

    def __init__(self, journal: Journal) -> None:
        self.operations: Table[str, Operation] = Table(journal)
        #: from a name in lower case to the number that the next suffix tries first
        self._taken: Table[str, int] = Table(journal)

    def unique(self, name: str, mark_as_used: bool = True) -> str:
        """The full name, with a suffix where it is taken, in whatever case."""
        key = name.lower()
        count = self._taken.get(key, 0)
        if mark_as_used:
            self._taken[key] = count + 1
        if count == 0:
            return name
        candidate = name
        while candidate.lower() in self._taken:
            candidate = f"{name}_{count}"
            count += 1
        if mark_as_used:
            self._taken[key] = count
            self._taken[candidate.lower()] = 1
        return candidate

    def reserve(self, full: str) -> None:
        """Has no new operation get a name, whatever the scope."""
        self._taken.setdefault(full.lower(), 1)

    def element(self, name: str, allow_tensor: bool, allow_operation: bool) -> Tensor | Operation:
        """The operation of a name, or the tensor of a name such as "add:0".

        Raises:
            KeyError: there is none. ValueError: the name is malformed or of the wrong kind.
        """
        operation_name, colon, index = name.partition(":")
        operation = self.operations.get(operation_name)
        if colon and not allow_tensor:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not a Operation.")
        if not colon and not allow_operation:
            found = "refers to an" if operation is not None else "looks like an (invalid)"
            kind = "Operation" if operation is not None else "Operation name"
            raise ValueError(f"The name '{name}' {found} {kind}, not a Tensor. {_TENSOR_NAMES}")
        if not colon:
            if operation is None:
                raise KeyError(f"The name '{name}' refers to an Operation not in the graph.")
            return operation
        if not index.isdigit():
            raise ValueError(
                f"The name '{name}' looks a like a Tensor name, but is not a valid one. "
                f"{_TENSOR_NAMES}"
            )
        if operation is None:
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                f"'{operation_name}', does not exist in the graph."
            )
        if int(index) >= len(operation.outputs):
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                f"'{operation_name}', exists but only has {len(operation.outputs)} outputs."
            )
        return operation.outputs[int(index)]


def check(name: str, inside_scope: bool = False) -> None:
    """Refuses a malformed name; inside a scope a name may begin with any of its characters.

    Raises:
        ValueError: it is malformed.
    """
    if not (_VALID_SCOPE if inside_scope else _VALID_NAME).match(name):
        raise ValueError(errors.printable(f"'{name}' is not a valid scope name"))


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, or the name with the number after those in a row that are taken."""
    if name not in taken:
        return name
    low, high = 0, 1
    while f"{name}_{high}" in taken:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if f"{name}_{middle}" in taken else (low, middle)
    return f"{name}_{high}"
