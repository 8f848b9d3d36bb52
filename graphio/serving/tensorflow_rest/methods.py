"""The methods that run a model: a request's body to the answer's."""

from __future__ import annotations

from graphio.serving import json_arrays
from graphio.serving.servable import Servable
from graphio.serving.tensorflow_rest import examples, predict

__all__ = ["answer"]


async def answer(body: bytes, method: str, servable: Servable) -> bytes:
    """The answer's body.

    Args:
        body: of the request.
        method: "predict", "classify" or "regress".
        servable: the version that runs it.

    Raises:
        OpError: as the functions that read, run and write.
    """
    request = json_arrays.parse(body)
    entry = predict.signature_of(request, servable)
    if method == "predict":
        inputs, rows = predict.read(request, entry)
        return predict.write(await entry.run(inputs), rows)
    examples.check(entry, method)
    inputs, count = examples.read(request, entry)
    results = await entry.run(inputs)
    write = examples.write_classes if method == "classify" else examples.write_values
    return write(results, count)
