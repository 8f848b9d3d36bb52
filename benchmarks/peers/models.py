"""The models of the suite: an ONNX file, our file, inputs and expected outputs of each."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SEED = 1
OPSET = 17
Array = np.ndarray[Any, Any]
Maker = Callable[[np.random.RandomState], Array]


def _floats(*shape: int) -> Maker:
    return lambda random: random.standard_normal(shape).astype(np.float32)


def _ids(*shape: int, below: int) -> Maker:
    return lambda random: random.randint(0, below, shape).astype(np.int64)


@dataclass(frozen=True)
class Model:
    """A model of the suite.

    Attributes:
        name: of its files.
        title: how tables call it.
        family: models of a family have the same weights.
        inputs: makers of its inputs.
        maker: "nodes" is made with onnx alone, "torch" and "skl2onnx" need the package.
        quick: takes part in the short form.
        flops: multiplications and additions of a prediction, where they are its cost.
    """

    name: str
    title: str
    family: str
    inputs: tuple[Maker, ...]
    maker: str = "torch"
    quick: bool = False
    flops: float = 0

    @property
    def installed(self) -> bool:
        """Whether the package that makes it is here."""
        return self.maker == "nodes" or importlib.util.find_spec(self.maker) is not None


_CACHE = (4, 1, 8, 127, 32)
SUITE = {
    m.name: m
    for m in (
        Model("tiny", "perceptron 64-32-10", "tiny", (_floats(1, 64),), "nodes", True, 4700),
        Model("tiny_b64", "the same, batch 64", "tiny", (_floats(64, 64),), "nodes", flops=3.03e5),
        Model("mlp", "perceptron 1000-100-10", "mlp", (_floats(1, 1000),), "nodes", True, 2.02e5),
        Model("mlp_b64", "the same, batch 64", "mlp", (_floats(64, 1000),), "nodes", flops=1.293e7),
        Model("cnn", "digits CNN", "cnn", (_floats(1, 1, 8, 8),), "nodes", True, 6.75e5),
        Model(
            "cnn_b32", "the same, batch 32", "cnn", (_floats(32, 1, 8, 8),), "nodes", flops=2.16e7
        ),
        Model("lstm", "LSTM, 32 steps", "lstm", (_floats(32, 1, 64),), flops=6.29e6),
        Model("gru", "GRU, 32 steps", "gru", (_floats(32, 1, 64),), flops=4.72e6),
        Model(
            "mobilenetv2", "MobileNetV2", "mobilenetv2", (_floats(1, 3, 224, 224),), flops=6.015e8
        ),
        Model("resnet50", "ResNet-50", "resnet50", (_floats(1, 3, 224, 224),), flops=8.178e9),
        Model(
            "minilm",
            "encoder, MiniLM's shape",
            "minilm",
            (_ids(1, 128, below=30522),),
            flops=2.869e9,
        ),
        Model(
            "decoder",
            "decoder step, 127 before",
            "decoder",
            (_ids(1, 1, below=8000), _floats(*_CACHE), _floats(*_CACHE)),
            flops=10.91e6,
        ),
        Model(
            "elementwise",
            "elementwise chain, 1M floats",
            "elementwise",
            (_floats(1000, 1000), _floats(1000, 1000)),
            "nodes",
            True,
        ),
        Model("forest", "random forest, 1 row", "forest", (_floats(1, 64),), "skl2onnx"),
        Model("forest_b1000", "the same, 1000 rows", "forest", (_floats(1000, 64),), "skl2onnx"),
        Model("boosting", "gradient boosting, 1 row", "boosting", (_floats(1, 64),), "skl2onnx"),
        Model(
            "boosting_b1000", "the same, 1000 rows", "boosting", (_floats(1000, 64),), "skl2onnx"
        ),
    )
}


class Case:
    """A model and its files in the folder.

    Attributes:
        model: what it is.
        stem, onnx: its files without and with their ending.
        inputs, expected: arrays by name, in the order of the model.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.model = SUITE[name]
        self.name = name
        self.stem = folder / name
        self.onnx = self.stem.with_suffix(".onnx")
        with np.load(self.stem.with_suffix(".npz")) as data:
            self.inputs = {k[3:]: data[k] for k in data.files if k.startswith("in:")}
            self.expected = {k[4:]: data[k] for k in data.files if k.startswith("out:")}

    @functools.cached_property
    def gio(self) -> Path:
        """Our file, imported again when graphio is newer; it is this tree's, in any folder."""
        path = ROOT / "build" / "peers" / "gio" / f"{self.name}.gio"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.stat().st_mtime < _newest_source():
            import graphio.onnx

            graphio.onnx.convert(os.fspath(self.onnx), path)
        return path


def prepare(folder: Path, name: str) -> None:
    """Makes the files of a model that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    model, stem = SUITE[name], folder / name
    if not stem.with_suffix(".npz").exists():
        random = np.random.RandomState(SEED)
        inputs = [make(random) for make in model.inputs]
        path = stem.with_suffix(".onnx")
        given, expected = _WRITERS[model.maker](model, inputs, path)
        arrays = {f"in:{k}": v for k, v in given.items()}
        arrays |= {f"out:{k}": v for k, v in expected.items()}
        np.savez(stem.with_suffix(".npz"), **arrays)  # type: ignore[arg-type]


def _newest_source() -> float:
    return max(p.stat().st_mtime for p in (ROOT / "graphio").rglob("*.py"))


def small(family: str, batch: int | None) -> Any:
    """A model that onnx alone can make; batch None: any."""
    import onnx
    from onnx import helper, numpy_helper

    nodes, weights, shapes, out = _PARTS[family]()
    names = [f"in{i}" for i in range(len(shapes))]
    values = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [batch, *shape])
        for name, shape in zip(names, shapes, strict=True)
    ]
    result = helper.make_tensor_value_info("out0", onnx.TensorProto.FLOAT, [batch, *out])
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, family, values, [result], tensors)
    opset = helper.make_opsetid("", OPSET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


Parts = tuple[list[Any], dict[str, Array], list[tuple[int, ...]], tuple[int, ...]]


def _weights(random: np.random.RandomState, layer: int, *shape: int) -> dict[str, Array]:
    """Weights and bias as torch draws them, under the names of torch.nn.Sequential."""
    bound = float(np.prod(shape[1:])) ** -0.5
    return {
        f"{layer}.weight": random.uniform(-bound, bound, shape).astype(np.float32),
        f"{layer}.bias": random.uniform(-bound, bound, shape[0]).astype(np.float32),
    }


def _node(op: str, inputs: str, output: str, **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(op, inputs.split(), [output], **attributes)


def _perceptron(*sizes: int) -> Parts:
    random = np.random.RandomState(SEED)
    weights = _weights(random, 0, sizes[1], sizes[0]) | _weights(random, 2, sizes[2], sizes[1])
    nodes = [
        _node("Gemm", "in0 0.weight 0.bias", "h", transB=1),
        _node("Relu", "h", "r"),
        _node("Gemm", "r 2.weight 2.bias", "out0", transB=1),
    ]
    return nodes, weights, [sizes[:1]], sizes[2:]


def _cnn() -> Parts:
    random = np.random.RandomState(SEED)
    shapes = {0: (16, 1, 3, 3), 2: (32, 16, 3, 3), 6: (64, 512), 8: (10, 64)}
    weights = {k: v for n, s in shapes.items() for k, v in _weights(random, n, *s).items()}
    nodes = [
        _node("Conv", "in0 0.weight 0.bias", "c1", pads=[1] * 4, kernel_shape=[3, 3]),
        _node("Relu", "c1", "r1"),
        _node("Conv", "r1 2.weight 2.bias", "c2", pads=[1] * 4, kernel_shape=[3, 3]),
        _node("Relu", "c2", "r2"),
        _node("MaxPool", "r2", "p", kernel_shape=[2, 2], strides=[2, 2]),
        _node("Flatten", "p", "f", axis=1),
        _node("Gemm", "f 6.weight 6.bias", "h", transB=1),
        _node("Relu", "h", "r3"),
        _node("Gemm", "r3 8.weight 8.bias", "l", transB=1),
        _node("Softmax", "l", "out0", axis=-1),
    ]
    return nodes, weights, [(1, 8, 8)], (10,)


def _elementwise() -> Parts:
    nodes, x = [], "in0"
    for i in range(3):
        nodes += [
            _node("Mul", f"{x} in1", f"m{i}"),
            _node("Tanh", f"m{i}", f"t{i}"),
            _node("Add", f"t{i} in1", f"a{i}"),
            _node("Sigmoid", f"a{i}", "out0" if i == 2 else f"s{i}"),
        ]
        x = f"s{i}"
    return nodes, {}, [(1000,), (1000,)], (1000,)


_PARTS: dict[str, Callable[[], Parts]] = {
    "tiny": lambda: _perceptron(64, 32, 10),
    "mlp": lambda: _perceptron(1000, 100, 10),
    "cnn": _cnn,
    "elementwise": _elementwise,
}
Written = tuple[dict[str, Array], dict[str, Array]]


def _write_nodes(model: Model, inputs: list[Array], path: Path) -> Written:
    """The expected outputs are those of onnx's own reference."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    made = small(model.family, len(inputs[0]))
    onnx.save(made, os.fspath(path))
    given = {f"in{i}": x for i, x in enumerate(inputs)}
    if weights := _PARTS[model.family]()[1]:
        np.savez(path.with_suffix(".weights.npz"), **weights)  # type: ignore[arg-type]
    found: Any = ReferenceEvaluator(made).run(None, given)
    return given, {"out0": found[0]}


def torch_module(case_or_model: Model, path: Path) -> Any:
    """The torch module with the weights of a model's file."""
    import torch

    from . import modules

    module = modules.make(case_or_model.family)
    if case_or_model.maker == "nodes":
        import onnx
        from onnx import numpy_helper

        stored = onnx.load(os.fspath(path)).graph.initializer
        arrays = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in stored}
        module.load_state_dict(arrays)
    return module


def _write_torch(model: Model, inputs: list[Array], path: Path) -> Written:
    import torch

    module = torch_module(model, path)
    tensors = tuple(torch.from_numpy(x) for x in inputs)
    with torch.no_grad():
        found = module(*tensors)
        outputs = found if isinstance(found, tuple) else (found,)
        given = {f"in{i}": x for i, x in enumerate(inputs)}
        expected = {f"out{i}": t.numpy() for i, t in enumerate(outputs)}
        torch.onnx.export(
            module,
            tensors,
            os.fspath(path),
            input_names=list(given),
            output_names=list(expected),
            opset_version=OPSET,
            dynamo=False,
        )
    return given, expected


def classifier(family: str) -> Any:
    """A fitted classifier of 100 trees for scikit-learn's digits."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    x, y = load_digits(return_X_y=True)
    if family == "forest":
        made = RandomForestClassifier(100, random_state=SEED)
    else:  # ten rounds of one tree for each of ten classes
        made = GradientBoostingClassifier(n_estimators=10, max_depth=6, random_state=SEED)
    return made.fit(x, y)


def _write_skl2onnx(model: Model, inputs: list[Array], path: Path) -> Written:
    """The rows are images of digits: random ones would take other ways through the trees."""
    import onnx
    from skl2onnx import to_onnx
    from sklearn.datasets import load_digits

    fitted = classifier(model.family)
    x = load_digits().data[: len(inputs[0])].astype(np.float32)
    made = to_onnx(
        fitted,
        x[:1],
        options={id(fitted): {"zipmap": False}},
        target_opset={"": OPSET, "ai.onnx.ml": 3},
    )
    onnx.save(made, os.fspath(path))
    label, probabilities = (str(o.name) for o in made.graph.output)
    expected = {
        label: fitted.predict(x).astype(np.int64),
        probabilities: fitted.predict_proba(x).astype(np.float32),
    }
    given: dict[str, Array] = {str(made.graph.input[0].name): x}
    return given, expected


_WRITERS: dict[str, Callable[[Model, list[Array], Path], Written]] = {
    "nodes": _write_nodes,
    "torch": _write_torch,
    "skl2onnx": _write_skl2onnx,
}
