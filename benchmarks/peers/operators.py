"""The ratchet of times: operators in cinfer compared with ONNX Runtime, and with stored times.

    python -m benchmarks.peers.operators            fails when an operator became slower
    python -m benchmarks.peers.operators --update   stores what is new or became faster
    python -m benchmarks.peers.operators --only Conv,Gemm [--seconds 0.1]

The table, operator_times.json, holds for each operator the ratio of cinfer's time to ONNX
Runtime's: of the standard's first case of each operator (small tensors: mostly the cost of a call),
and of larger tensors for the operators that networks spend their time in. A ratio that is larger
than the stored one by more than noise is measured again, longer, and counts when it stays so.
Ratios belong to a processor: the table has those of several, and fails on one that it lacks.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .models import OPSET, ROOT, Array
from .report import machine
from .turns import burst, in_turns

TABLE = Path(__file__).with_name("operator_times.json")
NOISE = 1.3  # two runs of one library on a busy machine differ by less
AGAIN = 3  # times that a slower operator is measured before it counts
Ratio = Callable[[float], float]  # of a case, measured for so many seconds


@dataclass(frozen=True)
class Large:
    """An operator on tensors of the size that networks have.

    Attributes:
        name: in the table, the operator first.
        shapes: of the inputs.
        constants: how many of the last inputs are weights.
        attributes: of the node.
        indices: the number of rows that an int64 last input points into; 0: there is none.
        dtype: of the inputs.
        given: more inputs, constants, behind the others; None: an absent one.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    constants: int = 0
    attributes: tuple[tuple[str, Any], ...] = ()
    indices: int = 0
    dtype: str = "float32"
    given: tuple[Any, ...] = ()


_PADS, _K3 = ("pads", (1, 1, 1, 1)), ("kernel_shape", (3, 3))
_IMAGE, _SEQUENCE = (1, 32, 56, 56), (1, 128, 384)
_MILLION = (1000, 1000)
_DOUBLE = np.array([1, 1, 2, 2], np.float32)
_SCALE = np.float32(0.02)
_MIDDLE = (_SCALE, np.uint8(128))
_BYTES = np.random.RandomState(2).randint(-128, 128, (300, 300)).astype(np.int8)
_BOXES = np.sort(np.random.RandomState(4).rand(100, 2, 2), 1).reshape(100, 4).astype(np.float32)
_AROUND = (0, 0, 1, 1, 0, 0, 1, 1)
_ROI = (("output_height", 7), ("output_width", 7), ("sampling_ratio", 2), ("spatial_scale", 0.25))
_ROW_BYTES = np.random.RandomState(3).randint(-128, 128, (768, 3072)).astype(np.int8)
LARGE = (
    Large("MatMul 256", ((256, 256), (256, 256))),
    Large("MatMul 64x1000x100 weights", ((64, 1000), (1000, 100)), 1),
    *(Large(f"MatMul {d}", ((200, 200), (200, 200)), dtype=d) for d in ("float64", "int32")),
    Large("MatMul heads", ((12, 128, 32), (12, 32, 128))),
    Large("Gemm 1x1000x100 weights", ((1, 1000), (100, 1000), (100,)), 2, (("transB", 1),)),
    Large("Conv 3x3", (_IMAGE, (32, 32, 3, 3), (32,)), 2, (_PADS, _K3)),
    Large("Conv 3x3 strided", (_IMAGE, (64, 32, 3, 3)), 1, (_PADS, _K3, ("strides", (2, 2)))),
    Large("Conv 1x1", (_IMAGE, (64, 32, 1, 1), (64,)), 2),
    Large("Conv depthwise", (_IMAGE, (32, 1, 3, 3), (32,)), 2, (_PADS, _K3, ("group", 32))),
    *(
        Large(
            f"Conv {name}",
            ((1, channels, 28, 28), (outputs, channels // groups, side, side)),
            1,
            (("pads", (edge,) * 4), ("group", groups), ("strides", (step,) * 2)),
        )
        for name, channels, outputs, groups, side, edge, step in (
            ("depthwise 5x5", 96, 96, 96, 5, 2, 1),
            ("depthwise 5x5 strided", 96, 96, 96, 5, 2, 2),
            ("depthwise 7x7", 96, 96, 96, 7, 3, 1),
            ("32 groups", 128, 128, 32, 3, 1, 1),
            ("one output", 32, 1, 1, 3, 1, 1),
        )
    ),
    Large("Conv 3x3x3", ((1, 16, 16, 28, 28), (32, 16, 3, 3, 3)), 1, (("pads", (1,) * 6),)),
    Large("ConvTranspose 2x2", ((1, 64, 28, 28), (64, 32, 2, 2)), 1, (("strides", (2, 2)),)),
    Large("MaxPool 3x3", (_IMAGE,), 0, (_PADS, _K3, ("strides", (2, 2)))),
    Large("MaxPool 5x5", (_IMAGE,), 0, (("pads", (2,) * 4), ("kernel_shape", (5, 5)))),
    Large("MaxPool 2x2x2", ((1, 16, 16, 28, 28),), 0, (("kernel_shape", (2,) * 3),)),
    Large("AveragePool 7x7", (_IMAGE,), 0, (("kernel_shape", (7, 7)), ("strides", (7, 7)))),
    Large("GlobalMaxPool 56x56", (_IMAGE,)),
    Large("AveragePool 3x3", (_IMAGE,), 0, (_PADS, _K3)),
    Large("GlobalAveragePool 1280", ((1, 1280, 7, 7),)),
    Large("BatchNormalization images", (_IMAGE, *((32,),) * 4), 4),
    Large("LayerNormalization 384", (_SEQUENCE, (384,), (384,)), 2),
    Large("Softmax heads", ((1, 12, 128, 128),), 0, (("axis", -1),)),
    Large("ReduceMean last", (_MILLION,), 0, (("axes", (-1,)),)),
    Large("ReduceMax first", (_MILLION,), 0, (("axes", (0,)),)),
    Large("Transpose heads", ((1, 128, 12, 32),), 0, (("perm", (0, 2, 1, 3)),)),
    Large("Transpose images", (_IMAGE,), 0, (("perm", (0, 2, 3, 1)),)),
    Large("Gather rows", ((30522, 384),), 1, (), 30522),
    Large("Concat caches", ((4, 8, 127, 32), (4, 8, 1, 32)), 0, (("axis", 2),)),
    *(Large(f"{op} 1M", (_MILLION, _MILLION)) for op in ("Add", "Mul", "Div")),
    *(
        Large(f"{op} 1M", (_MILLION,))
        for op in ("Relu", "Tanh", "Sigmoid", "Exp", "Erf", "Sqrt", "Gelu", "Sin", "Cos")
    ),
    *(Large(f"{op} 1M", (_MILLION,)) for op in ("Asin", "Acos", "Atan", "IsInf")),
    Large("Exp float64", (_MILLION,), dtype="float64"),
    Large("Mean 1M", (_MILLION, _MILLION)),
    *(Large(f"Pow {power}", (_MILLION,), given=(np.float32(power),)) for power in (2, 3, 0.5)),
    Large("Pow 1M", (_MILLION, _MILLION)),
    Large("ReduceMax int32 rows", (_MILLION,), 0, (("axes", (-1,)),), dtype="int32"),
    Large("ReduceMax uint8 rows", (_MILLION,), 0, (("axes", (-1,)),), dtype="uint8"),
    Large("ReduceSum int32 rows", (_MILLION,), given=(np.array([-1]),), dtype="int32"),
    Large("ArgMax rows", (_MILLION,), 0, (("axis", -1),)),
    Large("Hardmax rows", (_MILLION,), 0, (("axis", -1),)),
    Large("TopK 5", (_MILLION,), given=(np.array([5]),)),
    Large("TopK 5 of columns", (_MILLION,), 0, (("axis", 0),), given=(np.array([5]),)),
    Large("CumSum rows", (_MILLION,), given=(np.array(1),)),
    Large("Clip 1M", (_MILLION,), given=(np.float32(0.5), np.float32(1.0))),
    Large("Cast float16", (_MILLION,), 0, (("to", 10),)),
    Large("Transpose bytes", (_MILLION,), 0, (("perm", (1, 0)),), dtype="uint8"),
    Large("Tile columns", ((1000, 100),), given=(np.array([1, 10]),)),
    Large("Expand columns", ((1000, 1),), given=(np.array([1000, 1000]),)),
    Large("Pad reflect", (_IMAGE,), 0, (("mode", "reflect"),), given=(np.array(_AROUND),)),
    Large("Unique integers", ((100_000,),), dtype="int64"),
    Large("RoiAlign 100", (_IMAGE,), 0, _ROI, given=(_BOXES * 200, np.zeros(100, np.int64))),
    Large("GridSample 56x56", (_IMAGE,), given=(_BOXES[:98].reshape(1, 14, 14, 2),)),
    Large("NonMaxSuppression 100", ((1, 100, 4),), given=(_BOXES[None, None, :, 0], np.array(50))),
    Large("Concat columns", ((10000, 1),) * 3, 0, (("axis", 1),)),
    Large("Slice columns", (_MILLION,), given=(np.array([100]), np.array([900]), np.array([1]))),
    Large("GatherElements rows", (_MILLION,), 0, (("axis", 1),), 1000),
    Large(
        "Resize nearest",
        (_IMAGE,),
        0,
        (
            ("mode", "nearest"),
            ("coordinate_transformation_mode", "asymmetric"),
            ("nearest_mode", "floor"),
        ),
        given=(None, _DOUBLE),
    ),
    Large("Resize linear", (_IMAGE,), 0, (("mode", "linear"),), given=(None, _DOUBLE)),
    Large("QuantizeLinear 1M", (_MILLION,), given=(_SCALE, np.uint8(128))),
    Large("DequantizeLinear 1M", (_MILLION,), dtype="uint8", given=(_SCALE, np.uint8(128))),
    Large("MatMulInteger 256", ((256, 256),), dtype="uint8", given=(_BYTES[:256, :256],)),
    Large("DynamicQuantizeLinear 1M", (_MILLION,)),
    Large("MatMulInteger row", ((1, 768),), dtype="uint8", given=(_ROW_BYTES,)),
    Large(
        "QLinearMatMul columns",
        ((256, 256),),
        dtype="uint8",
        given=(
            *_MIDDLE,
            _BYTES[:256, :256],
            np.full(256, _SCALE),
            np.zeros(256, np.int8),
            np.float32(2),
            np.uint8(128),
        ),
    ),
    Large(
        "QLinearMatMul 256",
        ((256, 256),),
        dtype="uint8",
        given=(*_MIDDLE, _BYTES[:256, :256], _SCALE, np.int8(0), np.float32(2), np.uint8(128)),
    ),
    *(
        Large(
            f"QLinearConv {name}",
            (_IMAGE,),
            0,
            (("pads", (edge,) * 4), ("group", groups)),
            dtype="uint8",
            given=(*_MIDDLE, weights, _SCALE, np.int8(0), np.float32(2), np.uint8(128)),
        )
        for name, edge, groups, weights in (
            ("3x3", 1, 1, _BYTES[:32, :288].reshape(32, 32, 3, 3)),
            ("1x1", 0, 1, _BYTES[:64, :32].reshape(64, 32, 1, 1)),
            ("depthwise", 1, 32, _BYTES[:32, :9].reshape(32, 1, 3, 3)),
        )
    ),
    Large("LSTM 32 steps", ((32, 1, 64), (1, 512, 64), (1, 512, 128)), 2, (("hidden_size", 128),)),
    Large("GRU 32 steps", ((32, 1, 64), (1, 384, 64), (1, 384, 128)), 2, (("hidden_size", 128),)),
)


def large_model(case: Large) -> tuple[Any, list[Array]]:
    """An ONNX model of one node, and what to feed."""
    import onnx
    from onnx import helper, numpy_helper

    random = np.random.RandomState(1)
    scale = 1 if case.dtype == "float32" else 50
    values: list[Array] = [
        (np.abs(random.standard_normal(s)) * scale).astype(case.dtype) for s in case.shapes
    ]
    op = case.name.split()[0]
    if case.indices:
        shape = case.shapes[0] if op == "GatherElements" else (1, 128)
        values.append(random.randint(0, case.indices, shape))
    names = [f"in{i}" for i in range(len(values))]
    if op == "Gather":  # its first input is the weight
        weights, fed = {names[0]: values[0]}, names[1:]
    else:
        fed = names[: len(names) - case.constants]
        weights = {n: v for n, v in zip(names, values, strict=True) if n not in fed}
    more = ["" if v is None else f"given{i}" for i, v in enumerate(case.given)]
    weights |= {n: np.asarray(v) for n, v in zip(more, case.given, strict=True) if n}
    node = helper.make_node(op, names + more, ["out"], **dict(case.attributes))
    if op in ("LSTM", "GRU"):
        node.output[:] = ["", "out"]
    elif op == "TopK":
        node.output.append("places")
    elif op == "DynamicQuantizeLinear":
        node.output.extend(["scale", "zero"])
    named = dict(zip(names, values, strict=True))
    types = {n: helper.np_dtype_to_tensor_dtype(v.dtype) for n, v in named.items()}
    inputs = [helper.make_tensor_value_info(n, types[n], named[n].shape) for n in fed]
    output = helper.make_tensor_value_info("out", onnx.TensorProto.UNDEFINED, None)
    tensors = [numpy_helper.from_array(v, n) for n, v in weights.items()]
    graph = helper.make_graph([node], op, inputs, [output], tensors)
    opset = helper.make_opsetid("", 20 if op == "Gelu" else OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    return onnx.shape_inference.infer_shapes(model), [named[n] for n in fed]


def standard_models() -> Iterator[tuple[str, Any, list[Array]]]:
    """The standard's first case of each operator."""
    sys.path.insert(0, str(ROOT / "tests"))
    from conformance import suite

    seen = set()
    for name, case in suite.cases().items():
        nodes = case.model.graph.node
        if not name.startswith("node/") or name.endswith("_expanded") or case.nondeterministic:
            continue
        op = next((n for n in nodes if n.op_type != "Constant"), nodes[0]).op_type
        if op not in seen:
            seen.add(op)
            yield op, case.model, case.data[0][0]


def ratio_of(model: Any, values: list[Array]) -> Ratio:
    """How to measure a model.

    Raises:
        Exception: one of the engines does not run it.
    """
    import onnxruntime

    import graphio.onnx

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    data = model.SerializeToString()
    theirs = onnxruntime.InferenceSession(data, options, providers=providers)
    ours = graphio.onnx.load(model, "cinfer").signature()
    feeds = dict(zip([i.name for i in theirs.get_inputs()], values, strict=True))
    calls = {
        "ours": partial(burst, partial(ours.run, values)),
        "theirs": partial(burst, partial(theirs.run, None, feeds)),
    }

    def measured(seconds: float) -> float:
        times = in_turns(calls, seconds)
        return min(times["ours"]) / min(times["theirs"])

    measured(0.0)  # fails now if it fails
    return measured


def cases(large: bool) -> Iterator[tuple[str, Any, list[Array]]]:
    """Names, models and what to feed; the large ones alone or with the standard's."""
    yield from ((case.name, *large_model(case)) for case in LARGE)
    if not large:
        yield from standard_models()


def measured(only: set[str], large: bool, seconds: float) -> Iterator[tuple[str, Ratio, float]]:
    """Each case that both engines run: its name, how to measure it again, its ratio."""
    for name, model, values in cases(large):
        if only and name.split()[0] not in only:
            continue
        try:
            ratio = ratio_of(model, values)
        except Exception:  # ONNX Runtime lacks some of the standard, and says so in many ways
            continue
        yield name, ratio, ratio(seconds)


def entry_of(cpu: str, stored: Mapping[str, object]) -> str:
    """The name under which a table has a processor: its own, or the beginning of it."""
    return next((name for name in stored if cpu.startswith(name)), cpu)


def slower(stored: float, first: float, again: Ratio, seconds: float) -> float | None:
    """The ratio if it stays above the stored one by more than noise, else None."""
    least = first
    for _ in range(AGAIN):
        if least <= stored * NOISE:
            return None
        least = min(least, again(4 * seconds))
    return least if least > stored * NOISE else None


def main(arguments: list[str] | None = None) -> None:
    """The command; its arguments are those of the process unless given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="operators")
    parser.add_argument("--large", action="store_true", help="without the standard's cases")
    parser.add_argument("--seconds", type=float, default=0.05, help="of each engine and case")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--table", type=Path, default=TABLE)
    chosen = parser.parse_args(arguments)
    stored = json.loads(chosen.table.read_text()) if chosen.table.exists() else {}
    cpu = entry_of(machine()["cpu"], stored)
    if stored and cpu not in stored and not chosen.update:
        sys.exit(f"{chosen.table.name} is of {'; '.join(stored)}, this is {cpu}: --update adds it")
    ratios: dict[str, float] = stored.get(cpu, {}).get("ratios", {})
    worse = []
    only = {op for op in chosen.only.split(",") if op}
    for name, again, ratio in measured(only, chosen.large, chosen.seconds):
        before = ratios.get(name)
        print(f"{name}: {ratio:.2f}" + ("" if before is None else f", stored {before:.2f}"))
        if before is not None and (now := slower(before, ratio, again, chosen.seconds)):
            worse.append(f"{name}: {now:.2f} x ONNX Runtime, was {before:.2f}")
        if before is None or ratio * NOISE < before:
            ratios[name] = round(ratio, 3)
    if chosen.update:
        made = {"onnxruntime": machine()["onnxruntime"], "ratios": ratios}
        chosen.table.write_text(json.dumps(stored | {cpu: made}, indent=1) + "\n")
    if worse:
        sys.exit("slower than stored:\n" + "\n".join(worse))


if __name__ == "__main__":
    main()
