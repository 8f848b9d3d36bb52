"""Models over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from graphio import serving
from graphio.command_line.arguments import DEFAULT_ENGINE, Engine
from graphio.command_line.exits import USAGE, Refused

NAME = "serve"


def command(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]MODEL...",
            help="A model, also of ONNX or TensorFlow, or a folder of numbered versions, which is "
            "watched.",
        ),
    ],
    host: Annotated[str, typer.Option(help="Address; 0.0.0.0: all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8501,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    engine: Engine = DEFAULT_ENGINE,
    threads: Annotated[int, typer.Option(min=1, help="Of a run, in cinfer.")] = 1,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = 64 << 20,
    timeout: Annotated[float, typer.Option(help="Seconds of a request.")] = 60.0,
    batch_window: Annotated[
        float, typer.Option(min=0.0, help="Seconds that requests wait for a common run; 0: none.")
    ] = 0.0,
    batch_rows: Annotated[int, typer.Option(min=1, help="At most, of a common run.")] = 128,
    keep: Annotated[
        int, typer.Option(min=0, help="Versions of a folder, the newest first; 0: all.")
    ] = 1,
    poll: Annotated[float, typer.Option(help="Seconds between looks at folders.")] = 1.0,
    drain: Annotated[
        float, typer.Option(min=0.0, help="Seconds from SIGTERM until connections are closed.")
    ] = 0.5,
) -> None:
    """Serve MODELs over HTTP: TensorFlow Serving's REST API and the Open Inference Protocol."""
    try:
        serving.serve(
            _named(models),
            host=host,
            port=port,
            workers=workers,
            target=engine,
            threads=threads,
            max_body=max_body,
            timeout=timeout,
            batch_window=batch_window,
            batch_rows=batch_rows,
            keep=keep,
            poll=poll,
            drain=drain,
        )
    except ImportError as error:
        raise Refused(str(error), USAGE) from None


def _named(models: list[str]) -> list[str] | dict[str, str]:
    """The paths, by name where the argument has one."""
    parts = [text.partition("=") for text in models]
    named = [bool(equals) and "/" not in name for name, equals, _ in parts]
    if not any(named):
        return models
    if not all(named):
        raise Refused("name all models, NAME=MODEL, or none", USAGE)
    names = [name for name, _, _ in parts]
    if len(set(names)) < len(names):
        raise Refused("two models have one name", USAGE)
    return {name: path for name, _, path in parts}
