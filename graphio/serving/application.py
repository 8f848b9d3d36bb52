"""The ASGI application: routes of the protocols, health, metrics; opens models as it starts."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graphio.serving import failures, metrics
from graphio.serving.answers import Answers, failed
from graphio.serving.catalog import Catalog
from graphio.serving.metrics import Metrics
from graphio.serving.open_inference import routes as open_inference
from graphio.serving.settings import Settings
from graphio.serving.tensorflow_rest import routes as tensorflow_rest

__all__ = ["build"]


def build(settings: Settings) -> Starlette:
    """The application. Its models are opened when the server starts it."""
    catalog, numbers = Catalog(settings), Metrics()
    answers = Answers(catalog, numbers)

    def updated() -> None:
        for name, model in catalog.models.items():
            numbers.newest(name, max(model.available, default=0))

    async def page(request: Request) -> Response:
        return Response(numbers.page(), media_type=metrics.CONTENT_TYPE)

    routes = [
        *tensorflow_rest.routes(answers),
        *open_inference.routes(answers),
        Route("/metrics", page),
        Route("/monitoring/prometheus/metrics", page),  # TensorFlow Serving's path
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(catalog.update)
        updated()
        watching = asyncio.create_task(catalog.watch(updated))
        _drain_on_signal(catalog)
        yield
        watching.cancel()

    made = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_error}
    )
    made.state.catalog = catalog
    return made


async def _http_error(request: Request, error: Exception) -> Response:
    """A path or a method that there is not, in the form of all errors."""
    assert isinstance(error, HTTPException)
    message = f"{error.detail}: {request.method} {request.scope['path']}"
    response = failed(failures.not_found(message))
    response.status_code = error.status_code
    response.headers.update(error.headers or {})
    return response


def _drain_on_signal(catalog: Catalog) -> None:
    """Lets the server's own handler of SIGTERM wait until clients have seen that it ends.

    Meanwhile new connections are served, and nothing is ready for health checks.
    """
    if threading.current_thread() is not threading.main_thread():
        return  # of a program that does other work, too
    handler: Any = signal.getsignal(signal.SIGTERM)
    if not callable(handler):
        return
    loop = asyncio.get_running_loop()
    after: Callable[..., Any] = handler

    def drain(number: int, frame: Any) -> None:
        if catalog.draining:
            after(number, None)
            return
        catalog.draining = True
        loop.call_soon_threadsafe(loop.call_later, catalog.settings.drain, after, number, None)

    signal.signal(signal.SIGTERM, drain)
