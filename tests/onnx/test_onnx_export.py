"""Graphs of ours as ONNX: the standard's checker accepts them, ONNX Runtime gives the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from conformance import suite

import graphio as tf
import graphio.onnx as tfonnx

ort = pytest.importorskip("onnxruntime")
Array = np.ndarray


def in_onnxruntime(model: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, Array]:
    """Checks the complete model and runs it."""
    onnx.checker.check_model(model, full_check=True)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


DATA = np.float32([[1, -2, 3, 0.5], [0, 5, -6, 2]])


def values(*shape: int, seed: int = 0) -> Array:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def network(x: Any, dtype: Any = np.float32) -> Any:
    """A convolution, both pools, a dense layer."""
    filters = tf.Variable(values(3, 3, 2, 4).astype(dtype), name="filters")
    hidden = tf.nn.relu(tf.nn.conv2d(x, filters, [1, 2, 2, 1], "SAME"))
    hidden = tf.nn.max_pool(hidden, [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    hidden = tf.nn.avg_pool(hidden, [1, 3, 3, 1], [1, 2, 2, 1], "VALID")
    flat = tf.reshape(hidden, [-1, hidden.shape[1].value * hidden.shape[2].value * 4])
    weights = tf.Variable(values(flat.shape[1].value, 5, seed=1).astype(dtype), name="weights")
    bias = tf.Variable(np.zeros(5, dtype), name="bias")
    return tf.matmul(flat, weights) + bias


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "gradient descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5, centered=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0, epsilon=1e-4),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001),
    "proximal adagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.001, 0.001),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_training_step_goes_the_same_way_in_onnx_runtime(optimizer: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 9, 9, 2], name="x")
        y = tf.placeholder(tf.int64, [None], name="y")
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=network(x))
        )
        step = OPTIMIZERS[optimizer]().minimize(loss)
        session.run(tf.global_variables_initializer())
        model = tfonnx.export(None, session, {"x": x, "y": y}, {"loss": loss}, [step])
        state: dict[str, Array] = {}
        for i in range(4):
            feeds = {"x": values(6, 9, 9, 2, seed=i), "y": np.arange(6) % 5}
            found = in_onnxruntime(model, {**feeds, **state})
            expected, _ = session.run([loss, step], {x: feeds["x"], y: feeds["y"]})
            np.testing.assert_allclose(found["loss"], expected, rtol=2e-5)
            state = {k.removesuffix("/new"): v for k, v in found.items() if k.endswith("/new")}
        assert {v.op.name for v in tf.trainable_variables()} <= set(state)
        for variable in tf.global_variables():
            np.testing.assert_allclose(
                state[variable.op.name], session.run(variable), rtol=1e-4, atol=1e-6
            )


def test_variables_that_are_only_read_are_initializers() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 9, 9, 2], name="x")
        logits = network(x)
        session.run(tf.global_variables_initializer())
        model = tfonnx.export(None, session, {"images": x}, {"logits": logits})
        assert [i.name for i in model.graph.input] == ["images"]
        assert {"filters", "weights", "bias"} <= {t.name for t in model.graph.initializer}
        feed = values(3, 9, 9, 2)
        found = in_onnxruntime(model, {"images": feed})["logits"]
        np.testing.assert_allclose(found, session.run(logits, {x: feed}), rtol=1e-4, atol=1e-5)


def test_positions_that_a_run_checks_are_the_same() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        i = tf.placeholder(tf.int32, [None], name="i")
        at = tf.stack([i, i], 1)
        made = {
            "gather": tf.gather(x, i, batch_dims=1), "gather_nd": tf.gather_nd(x, at),
            "batch_gather": tf.batch_gather(x, at), "in_top_k": tf.nn.in_top_k(x, i, 1),
            "scatter_nd": tf.scatter_nd(at, x[:, 0], [3, 3]),
            "tensor_scatter_update": tf.tensor_scatter_update(x, at, x[:, 0]),
            "confusion_matrix": tf.confusion_matrix(i, i, 3),
            "invert_permutation": tf.invert_permutation(i),
            "slice": tf.slice(x, [i[2], 0], [i[0], -1]),
            "dynamic_partition": tf.dynamic_partition(x, i, 3)[1],
        }  # fmt: skip
        model = tfonnx.export(None, session, {"x": x, "i": i}, made)
        feeds = {"x": values(3, 3), "i": np.int32([2, 0, 1])}
        found = in_onnxruntime(model, feeds)
        expected = session.run(made, {x: feeds["x"], i: feeds["i"]})
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, name)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("size", [(7, 8), (None, None)])
def test_gradients_of_windows_are_the_same(padding: str, stride: int, size: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, *size, 4], name="x")
        w = tf.placeholder(tf.float32, [3, 2, 4, 6], name="w")
        d = tf.placeholder(tf.float32, [2, 3, 4, 1], name="d")
        strides = [1, stride, stride, 1]
        made = [
            tf.nn.conv2d(x, w, strides, padding),
            tf.nn.depthwise_conv2d(x, d, strides, padding),
            tf.nn.max_pool(x, [1, 2, 3, 1], strides, padding),
            tf.nn.avg_pool(x, [1, 3, 2, 1], strides, padding),
        ]
        gradients = tf.gradients(tf.add_n([tf.reduce_sum(y * y) for y in made]), [x, w, d])
        outputs = {f"g{i}": tf.convert_to_tensor(g) for i, g in enumerate(gradients)}
        model = tfonnx.export(None, session, {"x": x, "w": w, "d": d}, outputs)
        shapes = {x: (2, 7, 8, 4), w: (3, 2, 4, 6), d: (2, 3, 4, 1)}
        feeds = {t: values(*s, seed=i) for i, (t, s) in enumerate(shapes.items())}
        found = in_onnxruntime(model, {t.op.name: v for t, v in feeds.items()})
        for key, tensor in outputs.items():
            expected = session.run(tensor, feeds)
            np.testing.assert_allclose(found[key], expected, rtol=1e-4, atol=1e-3)


def test_bodies_capture_and_loops_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3], name="x")
        rate = tf.Variable(np.float32(0.5), name="rate")
        total = tf.while_loop(
            lambda i, v: i < 5,
            lambda i, v: (i + 1, tf.cond(tf.reduce_sum(v) > 4, lambda: v * rate, lambda: v + x)),
            [tf.constant(0), x],
        )[1]
        (gradient,) = tf.gradients(total, x)
        session.run(tf.global_variables_initializer())
        model = tfonnx.export(None, session, {"x": x}, {"total": total, "dx": gradient})
        feed = np.float32([1, 2, 0.25])
        found = in_onnxruntime(model, {"x": feed})
        for key, tensor in (("total", total), ("dx", gradient)):
            np.testing.assert_allclose(found[key], session.run(tensor, {x: feed}), rtol=1e-6)


def test_types_that_an_operator_lacks_are_computed_wider() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int8, [4], name="x")
        y = tf.matmul(tf.reshape(tf.cast(x, tf.int32), [2, 2]), tf.constant([[1, 2], [3, 4]]))
        z = tf.reduce_sum(x) + x
        model = tfonnx.export(None, session, {"x": x}, {"y": y, "z": z})
        feed = np.int8([1, -2, 3, 4])
        found = in_onnxruntime(model, {"x": feed})
        assert found["z"].dtype == np.int8
        for key, tensor in (("y", y), ("z", z)):
            np.testing.assert_array_equal(found[key], session.run(tensor, {x: feed}))


def test_integers_and_truths_are_written_as_strings() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = {
            kind: tf.placeholder(kind, [4], name=kind)
            for kind in ("bool", "int8", "int64", "uint32", "uint64")
        }
        outputs = {f"{kind}_text": tf.as_string(x) for kind, x in inputs.items()}
        model = tfonnx.export(None, session, inputs, outputs)
        feeds = {"bool": np.array([True, False, True, True])}
        for kind in (*inputs,)[1:]:
            limits = np.iinfo(kind)
            feeds[kind] = np.array([limits.min, limits.max, 0, 7], kind)
        found = in_onnxruntime(model, feeds)
        for kind, x in inputs.items():
            expected = [t.decode() for t in session.run(outputs[f"{kind}_text"], {x: feeds[kind]})]
            assert found[f"{kind}_text"].tolist() == expected


def test_strings_in_a_form_that_onnx_does_not_write_are_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        n = tf.placeholder(tf.int32, [2], name="n")
        z = tf.placeholder(tf.complex64, [2], name="z")
        outputs = {
            "float": tf.as_string(x, name="six_digits"),  # 1.500000, ONNX: 1.5
            "wide": tf.as_string(n, width=5, name="wide"),
            "complex": tf.as_string(z, name="pair"),
        }
        with pytest.raises(tf.errors.UnimplementedError, match="3 problems") as caught:
            tfonnx.export(None, session, {"x": x, "n": n, "z": z}, outputs)
    for name in ("six_digits", "wide", "pair"):
        assert f"AsString '{name}': ONNX writes numbers in one way only" in str(caught.value)


def test_a_name_that_an_output_wants_is_given_to_it() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.placeholder(tf.float32, [], name="a")
        b = tf.add(a, 1.0, name="b")
        model = tfonnx.export(None, session, {"b": a}, {"a": b, "again": b, "same": a})
        found = in_onnxruntime(model, {"b": np.array(3, np.float32)})
        assert {k: float(v) for k, v in found.items()} == {"a": 4, "again": 4, "same": 3}


def test_names_of_unknown_sizes_are_kept() -> None:
    source = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("Relu", ["x"], ["y"])],
            "g",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 3, None])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", 3, None])],
        )
    )
    model = tfonnx.from_model(tfonnx.convert(source))
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in dims] == ["batch", 3, 0]


def test_an_input_and_an_output_of_one_name_are_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        with pytest.raises(tf.errors.InvalidArgumentError, match="'a' names an input and an out"):
            tfonnx.export(None, session, {"a": x}, {"a": x + 1.0})


def test_files_and_signatures_are_exported_too(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        signatures = {"double": ({"x": x}, {"y": x * 2.0}), "half": ({"x": x}, {"y": x / 2.0})}
        tf.saved_model.save(tmp_path / "m.gio", session, signatures)
    model = tfonnx.from_model(tmp_path / "m.gio", tmp_path / "m.onnx", signature="half")
    assert onnx.load(tmp_path / "m.onnx") == model
    assert in_onnxruntime(model, {"x": np.float32([3])})["y"] == [1.5]
    with pytest.raises(KeyError, match="name a signature: the model has double, half"):
        tfonnx.from_model(tmp_path / "m.gio")


def test_all_that_onnx_cannot_express_is_listed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(np.float32(1), name="v")
        loop = tf.while_loop(
            lambda i: i < 3, lambda i: (i + tf.cast(tf.assign_add(variable, 1.0), tf.int32),), [0]
        )
        noise = tf.truncated_normal([2], name="noise")
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.UnimplementedError) as caught:
            tfonnx.export(None, session, {}, {"loop": loop, "noise": noise})
    message = str(caught.value)
    assert "2 problems" in message
    assert "RandomTruncatedNormal 'noise" in message and "test_onnx_export.py" in message
    assert "assigned inside Loop" in message


def test_draws_by_a_seed_are_written_out_in_integers() -> None:
    draws: dict[str, Callable[[Any, Any], Any]] = {
        "uniform": lambda shape, seed: tf.random.stateless_uniform(shape, seed, -1, 1),
        "wide uniform": lambda shape, seed: tf.random.stateless_uniform(
            shape, seed, dtype=tf.float64
        ),
        "normal": tf.random.stateless_normal,
        "truncated normal": tf.random.stateless_truncated_normal,
        "int32": lambda shape, seed: tf.random.stateless_uniform(shape, seed, -5, 9, tf.int32),
        "int64": lambda shape, seed: tf.random.stateless_uniform(
            shape, seed, -5, 1 << 50, tf.int64
        ),
        "words": lambda shape, seed: tf.random.stateless_uniform(
            shape, seed, None, None, tf.uint64
        ),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        shape = tf.placeholder(tf.int64, [2], name="shape")
        seed = tf.placeholder(tf.int64, [2], name="seed")
        made = {name: draw(shape, seed) for name, draw in draws.items()}
        model = tfonnx.export(None, session, {"shape": shape, "seed": seed}, made)
        feeds = {"shape": np.int64([3, 7]), "seed": np.int64([-3, 1 << 40])}
        found = in_onnxruntime(model, feeds)
        expected = session.run(made, {shape: feeds["shape"], seed: feeds["seed"]})
    for name in made:
        close = 1e-6 if "normal" in name else 0
        np.testing.assert_allclose(found[name], expected[name], rtol=close, atol=close)


def test_what_has_no_known_rank_is_named() -> None:
    """onnx's checker refuses such files."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        free = tf.placeholder(tf.float32, name="free")
        v = tf.Variable(np.float32([1, 2]), validate_shape=False, name="v")
        step = tf.assign(v, tf.reshape(x, [-1]), validate_shape=False)
        session.run(tf.global_variables_initializer())
        row = tf.squeeze(x[:1])
        outputs = {"row": row, "flat": tf.reshape(free, [-1])}
        with pytest.raises(tf.errors.InvalidArgumentError, match="3 problems") as caught:
            tfonnx.export(None, session, {"x": x, "free": free}, outputs, [step])
        for what in ("output 'row'", "input 'free'", "variable 'v'"):
            assert f"{what} has an unknown rank" in str(caught.value)
        reported = tfonnx.export(None, session, {"x": x}, {"row": tf.ensure_shape(row, [None])})
        assert in_onnxruntime(reported, {"x": DATA})["row"].tolist() == DATA[0].tolist()
        row.set_shape([None])
        reported = tfonnx.export(None, session, {"x": x}, {"row": row})
        assert in_onnxruntime(reported, {"x": DATA})["row"].tolist() == DATA[0].tolist()


def test_ranks_of_frames_and_of_attentions_past_are_known_behind_an_import() -> None:
    """The standard's inference knows them of known sizes alone."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    frames = helper.make_node("STFT", ["signal", "step", "window"], ["frames"])
    attend = helper.make_node(
        "Attention", ["q", "q", "q", "", "past", "past"], ["y", "keys", "values", "scores"]
    )
    shapes = {"signal": ["n", "length", 1], "q": [1, 2, 3, 4], "past": [1, 2, "before", 4]}
    source = helper.make_model(
        helper.make_graph(
            [frames, attend],
            "g",
            [helper.make_tensor_value_info(n, float32, s) for n, s in shapes.items()],
            [onnx.ValueInfoProto(name=n) for n in ("frames", "keys", "values", "scores")],
            [
                onnx.numpy_helper.from_array(np.array(4), "step"),
                onnx.numpy_helper.from_array(np.ones(8, np.float32), "window"),
            ],
        ),
        opset_imports=[helper.make_opsetid("", 24)],
    )
    with tf.Graph().as_default():
        known = tfonnx.import_model(source).outputs["scores"].shape.as_list()
        assert known == [1, 2, 3, None]  # not 3 keys: those of the past come to them
    model = tfonnx.from_model(tfonnx.convert(source))
    onnx.checker.check_model(model, full_check=True)
    assert [len(v.type.tensor_type.shape.dim) for v in model.graph.output] == [4, 4, 4, 4]


def test_an_opset_that_is_too_old_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        y = tfonnx.call("RMSNormalization", x, tf.constant(np.ones(4, np.float32)))
        with pytest.raises(tf.errors.UnimplementedError, match="opset 22 lacks"):
            tfonnx.export(None, session, {"x": x}, {"y": y}, opset=22)


@pytest.mark.parametrize("opset", [17, 29, "a", 21.0])
def test_an_opset_that_does_not_exist_is_refused(tmp_path: Path, opset: Any) -> None:
    kind = ValueError if isinstance(opset, int) else TypeError
    words = f"opset is {opset!r}, expected an int from 18 to 28"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.saved_model.save(tmp_path / "m.gio", session, {"predict": ({"x": x}, {"y": x * 2.0})})
        with pytest.raises(kind, match=words):
            tfonnx.export(None, session, {"x": x}, {"y": x * 2.0}, opset=opset)
    with pytest.raises(kind, match=words):
        tfonnx.from_model(tmp_path / "m.gio", opset=opset)


@pytest.mark.parametrize("opset", [18, 28])
def test_the_oldest_and_the_newest_opset_are_written(opset: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        made = tfonnx.export(None, session, {"x": x}, {"y": x * 2.0}, opset=opset)
    onnx.checker.check_model(made, full_check=True)
    assert made.opset_import[0].version == opset


def test_cases_of_the_standard_come_out_as_they_went_in() -> None:
    """A sample; `python tools/onnx_round_trip.py` takes all of them."""
    judged = 0
    for i, case in enumerate(suite.cases().values()):
        if i % 30 or any(isinstance(v, (list, type(None))) for v in case.data[0][0]):
            continue
        feeds = {
            value.name: np.asarray(array)
            for value, array in zip(case.model.graph.input, case.data[0][0], strict=False)
        }
        try:
            expected = in_onnxruntime(case.model, feeds)
            data = tfonnx.convert(case.model)
        except Exception:  # ONNX Runtime or the importer lacks an operator or a type of it
            continue
        assert data is not None
        found = in_onnxruntime(tfonnx.from_model(data), feeds)
        if not case.nondeterministic:
            judged += 1
            for key, value in expected.items():
                if np.asarray(value).dtype.kind in "OU":
                    np.testing.assert_array_equal(found[key], value, err_msg=case.name)
                else:
                    np.testing.assert_allclose(found[key], value, rtol=1e-5, err_msg=case.name)
    assert judged >= 30


def test_an_input_may_be_an_output_of_its_name() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="p")
        y = tf.negative(x)
        made = tf.onnx.export(None, session, {"x": x}, {"x": x, "y": y})
        onnx.checker.check_model(made, full_check=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="'x' names an input and an out"):
            tf.onnx.export(None, session, {"x": x}, {"x": y})
        with pytest.raises(tf.errors.InvalidArgumentError, match="'p'.* is not among the inputs"):
            tf.onnx.export(None, session, {}, {"y": y})
