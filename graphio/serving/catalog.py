"""The models of a server by name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from graphio.serving.failures import not_found
from graphio.serving.settings import Settings
from graphio.serving.versions import Versions

__all__ = ["Catalog"]

_log = logging.getLogger(__name__)


class Catalog:
    """The models of a server.

    Attributes:
        models: by name.
        draining: the server ends soon, so it is not ready.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.models: Mapping[str, Versions] = {
            name: Versions(name, settings) for name in settings.models
        }
        self.draining = False

    def model(self, name: str) -> Versions:
        """The model of a name.

        Raises:
            NotFoundError: there is no such model; names those that there are.
        """
        if name not in self.models:
            known = ", ".join(self.models)
            raise not_found(
                f"Servable not found for request: Latest({name}); this server has {known}"
            )
        return self.models[name]

    @property
    def ready(self) -> bool:
        """Whether every model has an open version, and the server goes on."""
        return not self.draining and all(model.available for model in self.models.values())

    def update(self) -> None:
        """Opens what is new and closes what has gone."""
        for model in self.models.values():
            model.update()

    async def watch(self, updated: Callable[[], None]) -> None:
        """Updates folders of versions until it is cancelled; calls a function after each look."""
        watched = [model for model in self.models.values() if model.watched]
        while watched:
            await asyncio.sleep(self.settings.poll)
            for model in watched:
                try:
                    await asyncio.to_thread(model.update)
                    updated()
                except Exception:  # the open versions go on
                    _log.exception("model '%s' was not updated", model.name)
