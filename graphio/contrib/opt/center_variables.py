"""Custom getters that make variables local, each with a global one, the center of all workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.variables.variables import Variable

__all__ = [
    "AGNCustomGetter",
    "AccompaniedGetter",
    "CenterGetter",
    "ElasticAverageCustomGetter",
    "ModelAverageCustomGetter",
]

_GLOBAL = "global_center_variable"


class Companions(dict[Variable, Variable]):
    """The variable that belongs to each variable of a custom getter."""

    def __missing__(self, variable: Variable) -> Variable:
        raise KeyError(
            f"'{variable.op.name}' has no center: make it by get_variable under the custom getter "
            "that the optimizer gets"
        )


class CenterGetter:
    """A custom getter that makes trainable variables local.

    Args:
        worker_device: device of the local variables.

    Attributes:
        centers: the global variable of each local one.
    """

    def __init__(self, worker_device: Any) -> None:
        self._worker_device = worker_device
        self.centers = Companions()

    def __call__(
        self,
        getter: Callable[..., Any],
        name: str,
        trainable: Any,
        collections: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """The variable of a name, called by get_variable."""
        if not trainable:
            return getter(name, *args, trainable=trainable, collections=collections, **kwargs)
        local = [GraphKeys.LOCAL_VARIABLES]
        with scopes.device(self._worker_device):
            made = getter(name, *args, trainable=True, collections=local, **kwargs)
        if kwargs.get("reuse") is not True:
            self._accompany(made, lambda prefix, key: getter(
                f"{prefix}/{name}", *args, trainable=False, collections=[key], **kwargs
            ))  # fmt: skip
        return made

    def _accompany(self, made: Any, more: Callable[[str, str], Any]) -> None:
        """Makes the variables that belong to a local one.

        Args:
            made: the local variable, or a partitioned one.
            more: from a prefix of names and a collection to a variable.
        """
        self.centers.update(_parts(made, more(_GLOBAL, GraphKeys.GLOBAL_VARIABLES)))


def _parts(local: Any, other: Any) -> Iterator[tuple[Variable, Variable]]:
    """Pairs of the variables, or of their parts."""
    if isinstance(local, Variable):
        return iter([(local, other)])
    return zip(local, other, strict=True)


class ModelAverageCustomGetter(CenterGetter):
    """A custom_getter of variable scopes for ModelAverageOptimizer.

    A trainable variable v becomes local, and gets the global variable global_center_variable/v,
    which begins with its value.

    Args:
        worker_device: device of the local variables.
    """

    def _accompany(self, made: Any, more: Callable[[str, str], Any]) -> None:
        for part, _ in _parts(made, made):
            if part not in self.centers:  # under AUTO_REUSE it may be a known one
                self.centers[part] = Variable(
                    part.initialized_value(), trainable=False, name=f"{_GLOBAL}/{part.op.name}"
                )


class AccompaniedGetter(CenterGetter):
    """A custom getter that makes another local variable of each trainable one, under a prefix.

    Attributes:
        companions: the other local variable of each one.
    """

    _prefix = ""

    def __init__(self, worker_device: Any) -> None:
        super().__init__(worker_device)
        self.companions = Companions()

    def _accompany(self, made: Any, more: Callable[[str, str], Any]) -> None:
        super()._accompany(made, more)
        with scopes.device(self._worker_device):
            companion = more(self._prefix, GraphKeys.LOCAL_VARIABLES)
        self.companions.update(_parts(made, companion))


class ElasticAverageCustomGetter(AccompaniedGetter):
    """A custom_getter of variable scopes for ElasticAverageOptimizer.

    A trainable variable v becomes local, and gets the global variable global_center_variable/v and
    the local one local_center_variable/v, with the same initializer.

    Args:
        worker_device: device of the local variables.
    """

    _prefix = "local_center_variable"


class AGNCustomGetter(AccompaniedGetter):
    """A custom_getter of variable scopes for AGNOptimizer.

    A trainable variable v becomes local, and gets the global variable global_center_variable/v and
    the local one grad_variable/v, with the same initializer.

    Args:
        worker_device: device of the local variables.
    """

    _prefix = "grad_variable"
