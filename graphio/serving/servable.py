"""An opened version of a model, and its signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.engine import calls
from graphio.engine.interface import Signature, TensorSpec
from graphio.execution import engines
from graphio.schema import model_pb2 as pb
from graphio.serving.batches import Batches, by_rows
from graphio.serving.failures import invalid
from graphio.serving.frozen import copy_of
from graphio.serving.names import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from graphio.serving.opening import opened
from graphio.serving.runs import Runner, Worker, is_steady
from graphio.serving.settings import Settings
from graphio.support import errors

__all__ = ["Entry", "Servable"]

Array = np.ndarray[Any, Any]


class Entry:
    """A signature that is served.

    Attributes:
        name, inputs, outputs: the engine's signature has them.
        message: what the file says of it: its method, the names of values.
    """

    def __init__(self, call: Signature, message: pb.Signature, runner: Runner | Batches) -> None:
        self.name = call.name
        self.inputs: Mapping[str, TensorSpec] = call.inputs
        self.outputs: Mapping[str, TensorSpec] = call.outputs
        self.message = message
        self._runner = runner

    def tensor(self, key: str) -> TensorSpec:
        """An input that a request can give.

        Raises:
            InvalidArgumentError: there is no such input.
            UnimplementedError: it is a sequence or an optional value.
        """
        spec = self.inputs.get(key)
        if spec is None:
            known = ", ".join(self.inputs) or "none"
            raise invalid(f"signature '{self.name}' has no input '{key}'; its inputs are {known}")
        if spec.kinds:
            raise errors.UnimplementedError(
                message=f"input '{key}' of signature '{self.name}' is {' '.join(spec.kinds)}, "
                "which no request can give"
            )
        return spec

    async def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Results by the keys of `outputs`.

        Args:
            inputs: of exactly the dtypes of the inputs, contiguous.

        Raises:
            InvalidArgumentError: missing or unknown names, a shape that does not fit.
            DeadlineExceededError, OpError: as Runner.run.
        """
        if inputs.keys() != self.inputs.keys():
            raise calls.wrong_names(self.name, self.inputs, inputs)
        for key, spec in self.inputs.items():
            _check_shape(self.name, spec, inputs[key].shape)
        results = await self._runner.run([inputs[key] for key in self.inputs])
        for key, value in zip(self.outputs, results, strict=True):
            if not isinstance(value, np.ndarray):
                raise errors.UnimplementedError(
                    message=f"output '{key}' of signature '{self.name}' is not a tensor, so no "
                    "answer can hold it"
                )
        return dict(zip(self.outputs, results, strict=True))


def _check_shape(signature: str, spec: TensorSpec, shape: Sequence[int]) -> None:
    if spec.shape is not None and not calls.fits(shape, spec.shape):
        expected = ",".join("?" if size is None else str(size) for size in spec.shape)
        raise invalid(
            f"input '{spec.name}' of signature '{signature}' has shape "
            f"[{','.join(map(str, shape))}], expected [{expected}]"
        )


class Servable:
    """A version of a model.

    Attributes:
        name, version: of the model.
        copy: the file that it has in the place of `path`, see frozen.copy_of.
        entries: the signatures by name.

    Args:
        name: of the model.
        version: its number.
        path: of its file or folder.
        settings: of the server.

    Raises:
        OpError: as opening.opened.
    """

    def __init__(self, name: str, version: int, path: str, settings: Settings) -> None:
        self.name = name
        self.version = version
        self.copy = copy_of(path, settings.shared) if settings.shared else None
        self._model, message = opened(self.copy or path, settings)
        worker = Worker()
        watched = not engines.choose(settings.target).has("timeout")
        # Requests must not train a model: signatures that run nodes for their effect are left out.
        messages = {each.name: each for each in message.signature if not each.target}
        self.entries: dict[str, Entry] = {}
        for key in messages:
            call = self._model.signature(key)
            steady = is_steady(message, call.inputs.values())
            alone = Runner(call, worker, settings.timeout, watched, steady)
            runner: Runner | Batches = alone
            if settings.batch_window and by_rows([*call.inputs.values(), *call.outputs.values()]):
                runner = Batches(alone, settings.batch_window, settings.batch_rows)
            self.entries[key] = Entry(call, messages[key], runner)
        self._default = _default(tuple(messages), self._model.metadata)

    def entry(self, name: str = "") -> Entry:
        """The signature of a name; "": "serving_default", else the only one.

        Raises:
            InvalidArgumentError: there is no such signature.
        """
        chosen = name or self._default or DEFAULT_SERVING_SIGNATURE_DEF_KEY
        if chosen not in self.entries:
            known = ", ".join(self.entries) or "none"
            raise invalid(
                f'Serving signature name: "{chosen}" not found in signature def; the model has '
                f"{known}"
            )
        return self.entries[chosen]


def _default(names: Sequence[str], metadata: Mapping[str, str]) -> str:
    """The signature of requests that name none; "": there is none."""
    if DEFAULT_SERVING_SIGNATURE_DEF_KEY in names:
        return DEFAULT_SERVING_SIGNATURE_DEF_KEY
    try:
        return calls.choose(None, names, metadata)
    except ValueError:
        return ""
