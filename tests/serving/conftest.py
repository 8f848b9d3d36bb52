"""Clients of an application without a socket, and the models that it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import served_models


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every model of served_models."""
    made = tmp_path_factory.mktemp("served")
    served_models.half_plus_three(made / "half")
    for name in ("sensors", "echoes", "layer", "endless"):
        getattr(served_models, name)(made / f"{name}.gio")
    return made


@pytest.fixture(scope="session")
def connect() -> Iterator[Callable[..., Any]]:
    """A function from models and options to a client of an application that has started."""
    testclient = pytest.importorskip(
        "starlette.testclient", reason="the extra [serve] or httpx is not installed"
    )
    pytest.importorskip("prometheus_client", reason="the extra [serve] is not installed")
    from graphio import serving

    with ExitStack() as stack:

        def opened(models: Any, **options: Any) -> Any:
            return stack.enter_context(testclient.TestClient(serving.app(models, **options)))

        yield opened


@pytest.fixture(scope="session")
def client(folder: Path, connect: Callable[..., Any]) -> Any:
    """A client of all models but the endless one."""
    paths = (folder / name for name in ("half", "sensors.gio", "echoes.gio", "layer.gio"))
    functions = {"ParseExample": served_models.parse_x}
    return connect([str(path) for path in paths], functions=functions)
