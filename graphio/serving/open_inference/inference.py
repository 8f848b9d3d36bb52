"""An inference: a request's body to the answer's."""

from __future__ import annotations

from graphio.serving.open_inference import requests, responses
from graphio.serving.servable import Servable

__all__ = ["answer"]


async def answer(body: bytes, header: str | None, servable: Servable) -> tuple[bytes, int | None]:
    """The answer's body, and how much of it is JSON; None: all.

    Args:
        body: of the request.
        header: its Inference-Header-Content-Length, or None.
        servable: the version that runs it.

    Raises:
        OpError: as requests.read, Entry.run and responses.write.
    """
    request = requests.read(body, header, servable)
    results = await request.entry.run(request.inputs)
    written, size = responses.write(request, results, servable)
    return written, size if any(request.outputs.values()) else None
