"""Paths of TensorFlow Serving's REST API.

GET  /v1/models/NAME[/versions/N]                              status
GET  /v1/models/NAME[/versions/N]/metadata                     signatures
POST /v1/models/NAME[/versions/N]:predict|classify|regress     runs
"""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graphio.serving.answers import Answers, failed, ok
from graphio.serving.failures import invalid
from graphio.serving.tensorflow_rest.methods import answer
from graphio.serving.tensorflow_rest.status import metadata, status
from graphio.serving.versions import number_of

__all__ = ["routes"]

_VERSION = r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
_RUN = re.compile(
    rf"/v1/models/(?P<name>[^/:]+){_VERSION}:(?P<method>classify|regress|predict)", re.I | re.A
)
_LOOK = re.compile(rf"/v1/models/(?P<name>[^/:]+){_VERSION}(?P<part>/metadata)?", re.I | re.A)


def routes(answers: Answers) -> list[Route]:
    """The routes, for an application."""

    async def look(request: Request) -> Response:
        try:
            return _looked(request, answers)
        except Exception as error:
            return failed(error)

    async def run(request: Request) -> Response:
        path = request.scope["path"]
        found = _RUN.fullmatch(path)
        if found is None:
            return failed(invalid(f"Malformed request: POST {path}"))
        name, method = found["name"], found["method"].lower()

        async def handle(body: bytes) -> Response:
            servable = answers.catalog.model(name).get(_version(found))
            return ok(await answer(body, method, servable))

        return await answers.run(request, name, method, handle)

    return [
        Route("/v1/{rest:path}", run, methods=["POST"]),
        Route("/v1/{rest:path}", look, methods=["GET"]),
    ]


def _looked(request: Request, answers: Answers) -> Response:
    path = request.scope["path"]
    found = _LOOK.fullmatch(path)
    if found is None:
        raise invalid(f"Malformed request: GET {path}")
    model = answers.catalog.model(found["name"])
    if found["part"]:
        return ok(metadata(model.get(_version(found))))
    return ok(status(model, _version(found)))


def _version(found: re.Match[str]) -> int | None:
    """The number in a path, or None. Raises InvalidArgumentError: a label, or no int64."""
    if found["label"]:
        raise invalid(f"Unrecognized servable version label: {found['label']}")
    digits = found["version"]
    if digits is None:
        return None
    if (version := number_of(digits)) is None:
        raise invalid(f"Failed to convert version: {digits} to numeric.")
    return version
