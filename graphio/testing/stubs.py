"""StubOutForTesting: attributes that a test replaces and puts back."""

from __future__ import annotations

import inspect
from typing import Any

__all__ = ["StubOutForTesting"]


class StubOutForTesting:
    """Replaces attributes of modules, classes and objects until CleanUp, or the end of its
    context.

    Example:
        >>> import os
        >>> with tf.test.StubOutForTesting() as stubs:
        ...     stubs.Set(os.path, "exists", lambda path: "here")
        ...     print(os.path.exists("/nowhere"))
        here
    """

    def __init__(self) -> None:
        #: (object, attribute, what it was) in the order of the calls
        self._set: list[tuple[Any, str, Any]] = []
        self._smart: list[tuple[Any, str, Any]] = []

    def __del__(self) -> None:
        self.CleanUp()

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *details: object) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Puts back all attributes."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replaces an attribute, also a method of a class.

        Raises:
            AttributeError: there is none of the name.
        """
        before = getattr(parent, child_name)
        own = vars(parent).get(child_name) if hasattr(parent, "__dict__") else None
        if isinstance(own, (staticmethod, classmethod)):
            before = own
        self._set.append((parent, child_name, before))
        setattr(parent, child_name, new_child)

    def UnsetAll(self) -> None:
        """Puts back what Set replaced."""
        _put_back(self._set)

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Replaces an attribute where it is defined: of an object in its class, of a class in the
        base that has it.

        Raises:
            AttributeError: there is none of the name.
        """
        owner = obj
        if not inspect.ismodule(obj) and attr_name not in vars(obj):
            kinds = inspect.getmro(obj if inspect.isclass(obj) else type(obj))
            owner = next((kind for kind in kinds if attr_name in vars(kind)), None)
        if owner is None or attr_name not in vars(owner):
            raise AttributeError(f"Attribute not found: {attr_name}")
        self._smart.append((owner, attr_name, vars(owner)[attr_name]))
        setattr(owner, attr_name, new_attr)

    def SmartUnsetAll(self) -> None:
        """Puts back what SmartSet replaced."""
        _put_back(self._smart)


def _put_back(replaced: list[tuple[Any, str, Any]]) -> None:
    while replaced:
        setattr(*replaced.pop())
