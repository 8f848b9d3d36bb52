"""Paths of the Open Inference Protocol.

GET  /v2                                      the server
GET  /v2/health/live, /v2/health/ready
GET  /v2/models/NAME[/versions/N]             inputs and outputs
GET  /v2/models/NAME[/versions/N]/ready
POST /v2/models/NAME[/versions/N]/infer       runs
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graphio.engine.interface import TensorSpec
from graphio.serving.answers import Answers, failed, ok
from graphio.serving.catalog import Catalog
from graphio.serving.failures import not_found
from graphio.serving.open_inference import datatypes, inference
from graphio.serving.servable import Servable
from graphio.serving.versions import number_of
from graphio.support import errors
from graphio.support.version import graphio_version

__all__ = ["routes"]

Json = dict[str, Any]
_LENGTH = "Inference-Header-Content-Length"
_BINARY = "application/octet-stream"
_PLATFORM = "graphio_model"


def routes(answers: Answers) -> list[Route]:
    """The routes, for an application."""
    catalog = answers.catalog

    async def infer(request: Request) -> Response:
        name = request.path_params["name"]

        async def handle(body: bytes) -> Response:
            return await _inferred(body, request.headers.get(_LENGTH), _servable(request, catalog))

        return await answers.run(request, name, "infer", handle)

    async def model_ready(request: Request) -> Response:
        name = request.path_params["name"]
        try:
            _servable(request, catalog)
        except errors.NotFoundError as error:
            if name not in catalog.models:
                return failed(error)
            return _ready({"name": name, "ready": False}, False)
        return _ready({"name": name, "ready": not catalog.draining}, not catalog.draining)

    def server(request: Request) -> Response:
        return ok(
            {
                "name": "graphio",
                "version": graphio_version,
                "extensions": ["binary_tensor_data", "parameters"],
            }
        )

    def live(request: Request) -> Response:
        return ok({"live": True})

    def ready(request: Request) -> Response:
        return _ready({"ready": catalog.ready}, catalog.ready)

    def model(request: Request) -> Response:
        signature = request.query_params.get("signature_name", "")
        return ok(_metadata(_servable(request, catalog), signature, catalog))

    paths = []
    for version in ("", "/versions/{version}"):
        path = f"/v2/models/{{name}}{version}"
        paths.append(Route(f"{path}/infer", infer, methods=["POST"]))
        paths.append(Route(f"{path}/ready", model_ready))
        paths.append(Route(path, _quick(model)))
    return [
        *paths,
        Route("/v2/health/live", _quick(live)),
        Route("/v2/health/ready", _quick(ready)),
        Route("/v2", _quick(server)),
        Route("/v2/", _quick(server)),
    ]


def _quick(answer: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint of a function that takes no time; its errors are answers."""

    async def endpoint(request: Request) -> Response:
        try:
            return answer(request)
        except Exception as error:
            return failed(error)

    return endpoint


def _ready(body: Json, is_ready: bool) -> Response:
    response = ok(body)
    response.status_code = 200 if is_ready else 503
    return response


async def _inferred(body: bytes, header: str | None, servable: Servable) -> Response:
    written, size = await inference.answer(body, header, servable)
    if size is None:
        return ok(written)
    return Response(written, headers={_LENGTH: str(size)}, media_type=_BINARY)


def _servable(request: Request, catalog: Catalog) -> Servable:
    """The version that a path names.

    Raises:
        NotFoundError: there is none.
    """
    model = catalog.model(request.path_params["name"])
    given = request.path_params.get("version")
    if given is None:
        return model.get()
    if (version := number_of(given)) is None:
        raise not_found(f"model '{model.name}' has no version '{given}', expected a number")
    return model.get(version)


def _metadata(servable: Servable, signature: str, catalog: Catalog) -> Json:
    entry = servable.entry(signature)
    return {
        "name": servable.name,
        "versions": [str(version) for version in catalog.model(servable.name).available],
        "platform": _PLATFORM,
        "inputs": _tensors(entry.inputs),
        "outputs": _tensors(entry.outputs),
    }


def _tensors(specs: Mapping[str, TensorSpec]) -> list[Json]:
    return [
        {
            "name": key,
            "datatype": datatypes.name_of(spec.dtype),
            "shape": [-1 if size is None else size for size in spec.shape or ()],
        }
        for key, spec in specs.items()
    ]
