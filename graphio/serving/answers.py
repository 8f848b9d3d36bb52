"""Requests that ask for a run: the body read, the answer or the error sent, both counted."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from graphio.serving import bodies, failures
from graphio.serving.catalog import Catalog
from graphio.serving.metrics import Metrics

__all__ = ["Answers", "failed", "ok"]

_JSON = "application/json"
_CANCELLED = 499  # of a request that the server has given up, as proxies name it
#: a body to a response
Handler = Callable[[bytes], Awaitable[Response]]


class Answers:
    """The models and the metrics, for the routes of a protocol.

    Attributes:
        catalog: the models.
        metrics: counts of requests.
    """

    def __init__(self, catalog: Catalog, metrics: Metrics) -> None:
        self.catalog = catalog
        self.metrics = metrics

    async def run(self, request: Request, model: str, method: str, handle: Handler) -> Response:
        """Reads the body and answers it.

        Args:
            request: the request.
            model: the name that it gives.
            method: for the metrics.
            handle: makes the answer, or raises.
        """
        began, settings, is_read = self.metrics.begin(), self.catalog.settings, False
        status = _CANCELLED
        try:
            body = await bodies.read(request, settings)
            is_read = True
            answer = await handle(body)
            status = answer.status_code
        except Exception as error:
            answer = failed(error)
            status = answer.status_code
            if not is_read and not bodies.ends_soon(error, request, settings):
                answer.headers["connection"] = "close"
        finally:
            known = model if model in self.catalog.models else ""
            self.metrics.end(began, known, method, status)
        if self.catalog.draining:  # a client that goes on sends its next request elsewhere
            answer.headers["connection"] = "close"
        return answer


def ok(body: bytes | Mapping[str, Any]) -> Response:
    """The answer 200 with JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Response(content, media_type=_JSON)


def failed(error: Exception) -> Response:
    """The answer of an error."""
    return Response(failures.body_of(error), failures.status_of(error), media_type=_JSON)
