"""Arguments that several commands take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

import typer

from graphio.command_line.exits import USAGE, Refused
from graphio.engine.calls import DEFAULT_SIGNATURE
from graphio.execution import engines

__all__ = [
    "DEFAULT_ENGINE",
    "Engine",
    "Inputs",
    "Signature",
    "Sizes",
    "choose_signature",
    "chosen_engine",
    "engine_names",
    "parse_sizes",
]

#: the one that a session without a target has
DEFAULT_ENGINE = ""


def engine_names() -> list[str]:
    """The engines, the default one first."""
    return list(engines.ENGINES)


def chosen_engine(text: str = DEFAULT_ENGINE) -> str:
    """The name of the engine that --engine chooses; refuses an unknown one."""
    try:
        return engines.choose(text).name
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        parser=chosen_engine,
        metavar=f"<{'|'.join(engine_names())}>",
        autocompletion=engine_names,
        show_default=f"{engine_names()[0]}, or what GRAPHIO_TARGET names",
        help="Who runs it.",
    ),
]
Signature = Annotated[
    str | None, typer.Option("--signature", "-s", help="Which signature; needless if there is one.")
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="[NAME=]FILE",
        help=".npz, .npy, .csv, .parquet, pictures (NAME='*.png'), or NAME=random; none given: all "
        "are random.",
    ),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="NAME=SIZES",
        help="Sizes of an input, image=1,3,224,224, or of a named dimension, batch=8. "
        "Others are 1.",
    ),
]


def choose_signature(
    name: str | None, known: Sequence[str], metadata: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The signature that --signature names; without it the only one, or the one that the model's
    metadata say to take.

    Args:
        known: those of the model.
        metadata: the model's.

    Raises:
        Refused: there is no such signature, or several and no name.
    """
    if name is not None and name in known:
        return name
    if not known:
        raise Refused("the model has no signatures")
    if name is None and len(known) == 1:
        return known[0]
    if name is None and metadata.get(DEFAULT_SIGNATURE) in known:
        return metadata[DEFAULT_SIGNATURE]
    what = "name a signature with -s" if name is None else f"there is no signature '{name}'"
    raise Refused(f"{what}: the model has {', '.join(known)}", USAGE)


def parse_sizes(given: list[str] | None) -> dict[str, tuple[int, ...]]:
    """By name of an input or dimension: its sizes.

    Raises:
        Refused: one has another form.
    """
    sizes = {}
    for text in given or ():
        name, equals, numbers = text.rpartition("=")
        parts = [part.strip() for part in numbers.split(",") if part.strip()]
        if not equals or not name or not all(part.isdigit() for part in parts):
            raise Refused(
                f"--size is '{text}', expected NAME=SIZES such as image=1,3,224,224", USAGE
            )
        sizes[name] = tuple(map(int, parts))
    return sizes
