"""Decorators of deprecated functions, which warn at the first call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from graphio.support import api_guard, logging

__all__ = ["deprecated", "deprecated_arg_values", "deprecated_args", "experimental"]

F = TypeVar("F", bound=Callable[..., Any])


@api_guard.unguarded
def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[F], F]:
    """Decorates a function that will be removed.

    Args:
        date: of the removal as YYYY-MM-DD; None: some time.
        instructions: what to use instead.
        warn_once: whether only the first call warns.
    """
    return _warning(lambda _: "", date, instructions, warn_once)


@api_guard.unguarded
def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **options: Any
) -> Callable[[F], F]:
    """Decorates a function of which some arguments will be removed.

    Args:
        deprecated_arg_names_or_tuples: names; or pairs of a name and the value that does not warn.
        date, instructions, warn_once: as deprecated's.

    Raises:
        ValueError: the function has no argument of a name.
    """
    allowed = [
        (given, inspect.Parameter.empty) if isinstance(given, str) else tuple(given[:2])
        for given in deprecated_arg_names_or_tuples
    ]

    def found(given: dict[str, Any]) -> str:
        names = [n for n, harmless in allowed if n in given and given[n] is not harmless]
        return f" with the arguments {', '.join(names)}" if names else "-"

    return _warning(found, date, instructions, names=[name for name, _ in allowed], **options)


@api_guard.unguarded
def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[F], F]:
    """Decorates a function of which some values of arguments will be removed.

    Args:
        deprecated_kwargs: the values by argument.
        date, instructions, warn_once: as deprecated's.
    """

    def found(given: dict[str, Any]) -> str:
        values = [
            f"{n}={v!r}" for n, v in deprecated_kwargs.items() if n in given and given[n] == v
        ]
        return f" with {', '.join(values)}" if values else "-"

    return _warning(found, date, instructions, warn_once, list(deprecated_kwargs))


@api_guard.unguarded
def experimental(func: F) -> F:
    """Decorates a function that may change, so that each call warns."""

    @functools.wraps(func)
    def call(*arguments: Any, **options: Any) -> Any:
        logging.warning(
            "%s (from %s) is experimental and may change or be removed at any time, and without "
            "warning.", func.__qualname__, func.__module__,
        )  # fmt: skip
        return func(*arguments, **options)

    return call  # type: ignore[return-value]


def _warning(
    found: Callable[[dict[str, Any]], str],
    date: str | None,
    instructions: str,
    warn_once: bool = True,
    names: list[str] | None = None,
) -> Callable[[F], F]:
    """The decorator; found gives what of a call is deprecated: "" all of it, "-" nothing."""
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")
    when = "in a future version" if date is None else f"after {date}"

    def decorate(func: F) -> F:
        signature = inspect.signature(func)
        missing = [name for name in names or () if name not in signature.parameters]
        if missing:
            raise ValueError(
                f"deprecated arguments {missing} are not arguments of {func.__qualname__}, which "
                f"has {list(signature.parameters)}"
            )
        warned = False

        @functools.wraps(func)
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal warned
            if not (warned and warn_once):
                what = found(signature.bind(*arguments, **options).arguments) if names else ""
                if what != "-":
                    warned = True
                    logging.warning(
                        "From %s: calling %s%s is deprecated and will be removed %s.\n"
                        "Instructions for updating:\n%s",
                        func.__module__, func.__qualname__, what, when, instructions,
                    )  # fmt: skip
            return func(*arguments, **options)

        return call  # type: ignore[return-value]

    return decorate
