"""Engines by name, behind one call: arrays by name in, arrays by name out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from graphio.command_line import opening
from graphio.command_line.arguments import choose_signature, engine_names
from graphio.command_line.exits import USAGE, Refused
from graphio.engine.interface import TensorSpec
from graphio.execution import engines

__all__ = ["Loaded", "check_known", "has_threads", "installed", "load", "names"]

#: those that read the ONNX file itself
OTHERS = ("onnxruntime", "openvino")
#: in the names of types that onnxruntime exchanges with Python as bytes or not at all
_NOT_OF_NUMPY = ("bfloat16", "float8", "float4", "int4", "int2")
T = TypeVar("T")


@dataclass(frozen=True)
class Loaded:
    """A model in an engine.

    Attributes:
        engine: its name.
        run: a call on arrays by name.
        name: of the signature.
        inputs, data: the signature's, and the model file's bytes, where the engine is ours.
    """

    engine: str
    run: Callable[[Mapping[str, Any]], dict[str, Any]]
    name: str = "predict"
    inputs: Mapping[str, TensorSpec] = field(default_factory=dict)
    data: bytes = b""


def names() -> list[str]:
    """The engines of graphio and those that read ONNX files themselves."""
    return [*engine_names(), *OTHERS]


def has_threads(engine: str) -> bool:
    """Whether a run in an engine uses as many threads as requested."""
    ours = engines.ENGINES.get(engine)
    return ours is None or ours.has("threads")


def check_known(engine: str) -> None:
    """Refuses an engine that there is not."""
    if engine not in names():
        known = ", ".join(names())
        raise Refused(f"there is no engine '{engine}', expected one of {known}", USAGE)


def installed(engine: str) -> bool:
    """Whether an engine can be imported."""
    import importlib.util

    if engine not in engines.ENGINES:
        return importlib.util.find_spec(engine) is not None
    try:
        engines.ENGINES[engine].imported()
    except ImportError:
        return False
    return True


def load(engine: str, path: str, signature: str | None, threads: int = 1) -> Loaded:
    """Opens a model in an engine.

    Raises:
        Refused: an engine that is not installed, that reads no such file, or that cannot run it.
    """
    check_known(engine)
    if engine in engines.ENGINES:
        return _ours(engine, path, signature, threads)
    if opening.kind_of(path) != opening.ONNX:
        raise Refused(f"{engine} reads ONNX files, '{path}' is a {opening.kind_of(path)}")
    if not installed(engine):
        raise Refused(f"{engine} is not installed: pip install {engine}", USAGE)
    opened = _translating_errors(engine, lambda: _OPENERS[engine](path, threads))
    return replace(
        opened, run=lambda inputs: _translating_errors(engine, lambda: opened.run(inputs))
    )


def _translating_errors(engine: str, question: Callable[[], T]) -> T:
    """The answer of a foreign engine; its errors, which have other classes, become Refused."""
    try:
        return question()
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"{engine} cannot run the model: {error}") from error


def _ours(engine: str, path: str, signature: str | None, threads: int) -> Loaded:
    data = opening.model_bytes(path)
    options = {"threads": threads} if has_threads(engine) else {}
    with opening.naming(path):
        model = engines.load(engine, data, **options)
    found = model.signature(choose_signature(signature, model.signatures, model.metadata))
    return Loaded(engine, lambda inputs: found(**inputs), found.name, found.inputs, data)


def _onnxruntime(path: str, threads: int) -> Loaded:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    for value in (*session.get_inputs(), *session.get_outputs()):
        if any(kind in value.type for kind in _NOT_OF_NUMPY):
            raise Refused(
                f"onnxruntime exchanges no {value.type} with Python, which '{value.name}' is; "
                "take another engine, or cast to float in the model"
            )
    names = [output.name for output in session.get_outputs()]

    def run(inputs: Mapping[str, Any]) -> dict[str, Any]:
        return dict(zip(names, session.run(None, dict(inputs)), strict=True))

    return Loaded("onnxruntime", run)


def _openvino(path: str, threads: int) -> Loaded:
    import openvino

    core = openvino.Core()
    hints = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(path, "CPU", hints)
    names = [output.get_any_name() for output in compiled.outputs]

    def run(inputs: Mapping[str, Any]) -> dict[str, Any]:
        found = compiled(dict(inputs))
        return {name: found[name] for name in names}

    return Loaded("openvino", run)


_OPENERS = {"onnxruntime": _onnxruntime, "openvino": _openvino}
