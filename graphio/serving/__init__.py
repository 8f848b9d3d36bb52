"""Serving models over HTTP: `graphio serve`, the extra `[serve]`.

    graphio.serving.serve("digits.gio", port=8501)         blocks until SIGTERM
    app = graphio.serving.app("digits.gio")                an ASGI application for any server

Clients of TensorFlow Serving's REST API and of the Open Inference Protocol work unchanged. The web
server is uvicorn, the application Starlette's; nothing of them is imported before it is used.

May import onnx, tensorflow_files and below.

    names            of saved models
    settings         options of a server; failures: HTTP codes of errors
    opening          models of any format; frozen: copies that processes share
    servable         an opened version; versions: a folder of them
    catalog          models by name
    runs, batches    a run in the event loop or a thread; several requests in one run
    json_arrays, array_json    nested lists of JSON to arrays and back
    tensorflow_rest, open_inference    the two protocols
    bodies           limits on size and time of a request; metrics: for Prometheus
    application      the ASGI application; processes: uvicorn, workers, signals
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphio.support import api_guard

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["app", "serve"]

#: a path, several of them, or paths by the name of the model
Paths = str | os.PathLike[str] | Sequence[str] | Mapping[str, str]


@api_guard.unguarded
def app(models: Paths, **options: Any) -> Starlette:
    """The application, for an ASGI server: uvicorn, Ray Serve, a mount in another application.

    Args:
        models: a model file, a folder of a saved model, or a folder of numbered versions; several
            as a list, or by name. Without a name a model is called as its file or folder.
        options: see graphio.serving.settings.Settings.

    Returns:
        A Starlette application. Its models are opened when the server starts it.

    Raises:
        NotFoundError: there is no such path.
        InvalidArgumentError: an option that there is not, or a value that it cannot have.
        ImportError: Starlette is not installed; says what installs it.
    """
    from graphio.serving import needed, settings

    needed.check()
    from graphio.serving import application

    return application.build(settings.of(models, options))


@api_guard.unguarded
def serve(
    models: Paths,
    *,
    host: str = "127.0.0.1",
    port: int = 8501,
    workers: int = 1,
    **options: Any,
) -> None:
    """Serves until the process gets SIGTERM or Ctrl-C, then ends the requests that run.

    Args:
        models, options: as for `app`.
        host: the address to listen at; "0.0.0.0" for all.
        port: 0 takes a free one, which the log names.
        workers: processes; they share the memory of model files.

    Raises:
        UnavailableError: the port is in use, or the address is not this machine's.
        NotFoundError, InvalidArgumentError, ImportError: as `app`.
    """
    from graphio.serving import needed, settings

    needed.check()
    from graphio.serving import processes

    processes.serve(settings.of(models, options), host, port, workers)
