"""The graph as a picture."""

from __future__ import annotations

import logging
import os
import time
from typing import Annotated

import typer

from graphio.command_line import fitting, opening, output
from graphio.command_line.arguments import choose_signature
from graphio.command_line.endings import ending
from graphio.command_line.exits import USAGE, Refused
from graphio.support import installation

NAME = "show"


def command(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="A model.")],
    svg: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.svg",
            help="Write a picture; open no browser.",
            callback=ending(".svg"),
        ),
    ] = None,
    signature: Annotated[
        str | None, typer.Option("--signature", "-s", help="Which; needless if there is one.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Show the graph of FILE in the browser (netron), or write it as an SVG file."""
    if svg is not None:
        unused = dict.fromkeys(("port", "browser"), "for the viewer")
        fitting.refuse_unused(context, unused, "With --svg")
        fitting.refuse_source([file], [svg])
        _write(file, svg, signature)
        return
    if opening.kind_of(file) == opening.ONNX:
        unused = {"signature": "for models of several; an ONNX file is one graph"}
        fitting.refuse_unused(context, unused, f"In the viewer of '{file}'")
    try:
        import netron
    except ModuleNotFoundError:
        raise Refused(
            f"the viewer needs netron: {installation.hint('show')}; or --svg", USAGE
        ) from None
    name, data = _onnx(file, signature)
    logging.getLogger("netron").setLevel(logging.WARNING)  # it would say the address, too
    # bytes it would first take for another library's model
    host, number = netron.serve(name, bytearray(data), ("localhost", port), browser)
    output.console().print(f"http://{host}:{number} (end with Ctrl+C)")
    try:
        while netron.status((host, number)):
            time.sleep(0.5)
    finally:
        netron.stop((host, number))


def _onnx(path: str, signature: str | None) -> tuple[str, bytes]:
    """A name and ONNX bytes for the viewer."""
    name = os.path.basename(path.rstrip("/"))
    if opening.kind_of(path) == opening.ONNX:
        with open(path, "rb") as file:
            return name, file.read()
    from graphio.onnx import from_model
    from graphio.schema import container

    data = opening.model_bytes(path, "none")
    with opening.naming(path):
        message = container.unpack(data, lazy=True)[0]
    known, strings = [s.name for s in message.signature], {m.key: m.value for m in message.metadata}
    model = from_model(data, signature=choose_signature(signature, known, strings))
    return f"{name}.onnx", model.SerializeToString()


def _write(path: str, svg: str, signature: str | None) -> None:
    from graphio.observe.drawing import draw
    from graphio.storage import stores

    model, _ = opening.unpacked(path, "none", lazy=True)
    if signature is not None:
        choose_signature(signature, [s.name for s in model.signature])
    stores.write(svg, [draw(model, signature).encode()])
    output.console().print(output.name(f"written to {svg}"))
