"""Refusing options that do nothing in a call, and files that would be read and written at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import typer

from graphio.command_line import opening
from graphio.command_line.exits import USAGE, Refused
from graphio.storage import stores

__all__ = ["given_options", "refuse_source", "refuse_unused"]

#: of a folder of weights, and of a SavedModel, the files that belong to it
_WEIGHTS = (".safetensors", ".bin", ".json")
_SAVED_MODEL = ("variables", "assets", "assets.extra")


def given_options(context: typer.Context) -> dict[str, str]:
    """The options that the command line has: names of parameters to how they are written."""
    found = {}
    for parameter in context.command.params:
        name = parameter.name or ""
        source: Any = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and parameter.opts:
            found[name] = max(parameter.opts, key=len)
    return found


def refuse_unused(context: typer.Context, unused: Mapping[str, str], where: str) -> None:
    """Refuses all options of the command line that do nothing.

    Args:
        unused: names of parameters that do nothing in this call, with what they are for.
        where: in what kind of call.

    Raises:
        Refused: names them all, with what each is for.
    """
    given = given_options(context)
    wrong = [f"  {text}: {unused[name]}" for name, text in given.items() if name in unused]
    if wrong:
        listed = "\n".join(wrong)
        raise Refused(f"{where} these options do nothing, leave them out:\n{listed}", USAGE)


def refuse_source(
    sources: Iterable[str], targets: Iterable[str], advice: str = "choose another name"
) -> None:
    """Refuses to overwrite an input: the same file by any path, symbolic or hard link.

    Args:
        sources: the inputs: files, folders, prefixes of checkpoints.
        targets: files, or prefixes of checkpoints, that would be written.
        advice: what to do.

    Raises:
        Refused: names the first of them.
    """
    read = {_identity(file): source for source in sources for file in _files_of(source)}
    for target in targets:
        if stores.is_remote(target):
            continue
        for file in [target, *_of_checkpoint(target)]:
            source = read.get(_identity(file)) if os.path.exists(file) else None
            if source is not None:
                part = "" if os.path.isfile(source) else ", or a part of it"
                raise Refused(f"'{target}' is what is read, '{source}'{part}: {advice}", USAGE)


def _identity(file: str) -> tuple[int, int]:
    status = os.stat(file)
    return status.st_dev, status.st_ino


def _files_of(source: str) -> list[str]:
    """The files of the model or checkpoint at a path."""
    if os.path.isfile(source):
        beside = os.path.dirname(source) or os.curdir
        more = _in_folder(beside, _WEIGHTS) if source.endswith(".index.json") else []
        return [source, *more, *_of_checkpoint(opening.prefix_of(source))]
    if not os.path.isdir(source):
        return list(_of_checkpoint(source))
    found = [*_in_folder(source, _WEIGHTS), *_of_checkpoints(source)]
    for name in _SAVED_MODEL:
        for folder, _, files in os.walk(os.path.join(source, name)):
            found += [os.path.join(folder, file) for file in files]
    return found + _in_folder(source, (".pb", ".pbtxt"))


def _in_folder(folder: str, endings: tuple[str, ...]) -> list[str]:
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(endings)]
    return list(filter(os.path.isfile, paths))


def _of_checkpoints(folder: str) -> list[str]:
    """The files of all checkpoints of a folder."""
    indexes = [name for name in os.listdir(folder) if name.endswith(".index")]
    prefixes = [os.path.join(folder, name.removesuffix(".index")) for name in indexes]
    return [file for prefix in prefixes for file in _of_checkpoint(prefix)]


def _of_checkpoint(prefix: str) -> Iterator[str]:
    """The files of a checkpoint that are there; none if there is no such checkpoint."""
    folder, base = os.path.split(prefix)
    if not base or not os.path.isfile(prefix + ".index"):
        return
    for name in os.listdir(folder or os.curdir):
        if name in (base + ".index", base + ".meta") or name.startswith(base + ".data-"):
            yield os.path.join(folder, name)
