"""Python generators as sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from graphio.data import structure
from graphio.data.stages import Element, Item, Stage
from graphio.data.structure import Spec
from graphio.engine import host
from graphio.framework import dtypes
from graphio.framework.constants import as_array
from graphio.support import errors

Array = np.ndarray[Any, Any]


class Generator(Stage):
    """The elements of a Python generator. The position is their number; a restore skips as many."""

    kind = "from_generator"

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], specs: Any) -> None:
        super().__init__()
        self.function, self.specs = function, specs
        self.args = args
        self.restart()

    def restart(self) -> None:
        self.given = 0
        self.ended = False
        self._running: Iterator[Any] | None = None

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while len(found) < count and not self.ended:
            value = self._next()
            if not self.ended:
                self.given += 1
                found.append(self._element(value))
        return found

    def _next(self) -> Any:
        try:
            if self._running is None:
                self._running = iter(self.function(*self.args))
            return next(self._running)
        except StopIteration:
            self.ended = True
        except Exception as error:
            made = host.failure(error)
            raise type(made)(message=f"{made.message} [{self.what}]") from error

    def _element(self, value: Any) -> Element:
        try:
            parts = structure.up_to(self.specs, value, "from_generator")
        except (TypeError, ValueError) as error:
            raise self.refused(
                "`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {structure.types_of(self.specs)}, but the yielded element "
                f"was {value!r}."
            ) from error
        specs = structure.flatten(self.specs)
        return [self._converted(p, s) for p, s in zip(parts, specs, strict=True)]

    def _converted(self, value: Any, spec: Spec) -> Array:
        try:
            array = np.asarray(value) if isinstance(value, np.generic) else value
            ready = as_array(array, spec.dtype)
        except (TypeError, ValueError) as error:
            raise self.refused(
                f"`generator` yielded an element that could not be converted to the expected type. "
                f"The expected type was {spec.dtype.name}, but the yielded element was {value!r}."
            ) from error
        if not spec.shape.is_compatible_with(ready.shape):
            raise self.refused(
                f"`generator` yielded an element of shape {ready.shape} where an element of shape "
                f"{spec.shape} was expected."
            )
        return ready

    def saved_position(self) -> Any:
        return [self.given, self.ended]

    def set_saved_position(self, saved_position: Any) -> None:
        self.restart()
        for _ in range(self.counted(saved_position[0])):
            self._next()
            if self.ended:
                raise errors.DataLossError(
                    message=f"the generator ended before element {saved_position[0]}, the saved "
                    f"position [{self.what}]"
                )
        self.given, self.ended = saved_position

    def parameters(self) -> Sequence[Any]:
        types = structure.flatten(structure.types_of(self.specs))
        return [dtypes.as_dtype(t).name for t in types]

    def close(self) -> None:
        end = getattr(self._running, "close", None)
        if end is not None:
            try:
                end()
            except ValueError:  # it runs in another thread, which goes on to its next yield
                pass
        self._running = None
