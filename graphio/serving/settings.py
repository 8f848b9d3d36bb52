"""Settings of a server."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphio.engine.interface import HostFunction
from graphio.execution import engines
from graphio.support import errors

__all__ = ["Settings", "of"]


@dataclass(frozen=True)
class Settings:
    """Settings of a server; times in seconds, sizes in bytes.

    Attributes:
        models: paths by the name of the model.
        functions: those that HostCall nodes call, by name; with several workers those of modules.
        target: the engine, as of a tf.Session.
        threads: how many a run may use.
        max_body: of a request.
        timeout: of a request: for its body, and again for its run.
        batch_window: how long a request waits for others to share a run; 0: not at all.
        batch_rows: at most so many rows share a run.
        keep: how many versions of a folder are served, the newest first; 0: all.
        poll: how often folders of versions are looked at.
        drain: from SIGTERM until connections are closed, with /v2/health/ready saying no.
        shared: a folder for copies of models, by which processes share weights; "": none.
    """

    models: Mapping[str, str]
    functions: Mapping[str, HostFunction] = field(default_factory=dict)
    target: str = ""
    threads: int = 1
    max_body: int = 64 << 20
    timeout: float = 60.0
    batch_window: float = 0.0
    batch_rows: int = 128
    keep: int = 1
    poll: float = 1.0
    drain: float = 0.5
    shared: str = ""


#: the smallest value of each number, and whether it is one that may be taken
_LEAST = {
    "threads": (1, True),
    "max_body": (1, True),
    "timeout": (0.0, False),
    "batch_window": (0.0, True),
    "batch_rows": (1, True),
    "keep": (0, True),
    "poll": (0.0, False),
    "drain": (0.0, True),
}


def of(models: Any, options: Mapping[str, Any]) -> Settings:
    """Checked settings.

    Args:
        models: a path, several, or paths by name.
        options: the other fields.

    Raises:
        NotFoundError: there is no such path.
        InvalidArgumentError: everything else that is wrong.
    """
    known = [each.name for each in dataclasses.fields(Settings)][1:]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise _invalid(f"there is no option {', '.join(unknown)}; options are {', '.join(known)}")
    made = Settings(dict(_named(models)), **options)
    for name, (least, included) in _LEAST.items():
        _check_number(name, getattr(made, name), least, included)
    try:
        engines.choose(made.target)
    except ValueError as error:
        raise _invalid(str(error)) from None
    return made


def _check_number(name: str, value: Any, least: float, included: bool) -> None:
    whole = isinstance(least, int)
    is_number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    above = is_number and math.isfinite(value) and (value > least or (included and value == least))
    if not above:
        word = "an integer" if whole else "a number"
        relation = "from" if included else "above"
        raise _invalid(f"{name} is {value!r}, expected {word} {relation} {least}")


def _named(models: Any) -> Iterator[tuple[str, str]]:
    """Names and paths of the models. Raises as `of`."""
    if isinstance(models, Mapping):
        pairs = [(str(name), os.fspath(path)) for name, path in models.items()]
    else:
        several = isinstance(models, Sequence) and not isinstance(models, str)
        paths = [os.fspath(path) for path in (models if several else [models])]
        pairs = [(_name_of(path), path) for path in paths]
    if not pairs:
        raise _invalid("there is no model to serve")
    seen: dict[str, str] = {}
    for name, path in pairs:
        if not name or any(letter in name for letter in "/:"):
            raise _invalid(f"a model is called '{name}', expected a name without '/' and ':'")
        if name in seen:
            raise _invalid(
                f"two models are called '{name}', '{seen[name]}' and '{path}': name one, NAME=PATH"
            )
        seen[name] = path
        if "://" not in path and not os.path.exists(path):
            raise errors.NotFoundError(message=f"there is no file or folder '{path}'")
        yield name, path


def _name_of(path: str) -> str:
    """ "digits" for models/digits.gio and for the folder models/digits/."""
    base = os.path.basename(os.path.normpath(os.path.abspath(path)))
    return base if os.path.isdir(path) else os.path.splitext(base)[0]


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(message=message)
