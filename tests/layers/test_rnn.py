"""Recurrent nets: cells against numpy and torch, names, lengths, gradients; in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_check import away, check

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
B, T, D, H = 3, 4, 2, 5
cells = tf.nn.rnn_cell


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def basic(v: Any, x: Any, h: Any) -> Any:
    h = np.tanh(np.concatenate([x, h], 1) @ v["kernel"] + v["bias"])
    return h, h


def gru(v: Any, x: Any, h: Any) -> Any:
    gates = sigmoid(np.concatenate([x, h], 1) @ v["gates/kernel"] + v["gates/bias"])
    r, u = np.split(gates, 2, 1)
    new = np.concatenate([x, r * h], 1) @ v["candidate/kernel"] + v["candidate/bias"]
    h = u * h + (1 - u) * np.tanh(new)
    return h, h


def lstm(v: Any, x: Any, state: Any, clip: float = 1e9) -> Any:
    c, h = state
    z = np.concatenate([x, h], 1) @ v["kernel"] + v["bias"]
    i, j, f, o = np.split(z, 4, 1)
    peep = lambda gate: v.get(f"w_{gate}_diag", 0)  # noqa: E731
    c = c * sigmoid(f + 1 + peep("f") * c) + sigmoid(i + peep("i") * c) * np.tanh(j)
    c = np.clip(c, -clip, clip)
    h = sigmoid(o + peep("o") * c) * np.tanh(c)
    if "projection/kernel" in v:
        h = h @ v["projection/kernel"]
    return h, (c, h)


def zeros(*sizes: int) -> Any:
    return np.zeros((B, sizes[0])) if len(sizes) == 1 else tuple(np.zeros((B, n)) for n in sizes)


CELLS: dict[str, Any] = {
    "basic_rnn_cell": (lambda: cells.BasicRNNCell(H), basic, [H]),
    "gru_cell": (lambda: cells.GRUCell(H), gru, [H]),
    "basic_lstm_cell": (lambda: cells.BasicLSTMCell(H), lstm, [H, H]),
    "lstm_cell": (
        lambda: cells.LSTMCell(H, use_peepholes=True, num_proj=3, cell_clip=0.4),
        lambda v, x, s: lstm(v, x, s, clip=0.4),
        [H, 3],
    ),
}


def in_numpy(step: Any, v: Any, x: Any, state: Any, lengths: Any = None) -> Any:
    """Outputs (batch, time, n) and the last state."""
    outputs = []
    for t in range(x.shape[1]):
        y, after = step(v, x[:, t], state)
        if lengths is not None:
            live = (t < np.asarray(lengths))[:, None]
            y = np.where(live, y, 0)
            if isinstance(after, tuple):
                pairs = zip(after, state, strict=True)
                after = tuple(np.where(live, new, old) for new, old in pairs)
            else:
                after = np.where(live, after, state)
        outputs.append(y)
        state = after
    return np.stack(outputs, 1), state


def randomized(session: Any) -> dict[str, Any]:
    """Gives all variables values; returns them by their names below the cell."""
    rng, found = np.random.RandomState(1), {}
    for v in tf.global_variables():
        value = rng.randn(*v.shape.as_list()) * 0.5
        v.load(value, session)
        found[v.op.name] = value
    return found


X = np.random.RandomState(0).randn(B, T, D)


@TARGETS
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("lengths", [None, [4, 2, 0]])
def test_cells_do_what_numpy_does(target: str, name: str, lengths: Any) -> None:
    make, step, state = CELLS[name]
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float64, [None, None, D])
        outputs, last = tf.nn.dynamic_rnn(make(), x, lengths, dtype=tf.float64)
        prefix = f"rnn/{name}/"
        v = {k.removeprefix(prefix): w for k, w in randomized(session).items()}
        found, found_last = session.run([outputs, last], {x: X})
    expected, expected_last = in_numpy(step, v, X, zeros(*state), lengths)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    for a, b in zip(tf.nest.flatten(found_last), tf.nest.flatten(expected_last), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_variables_have_tensorflows_names_and_shapes() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, T, D])
        layered = cells.MultiRNNCell(
            [cells.GRUCell(4), cells.DropoutWrapper(cells.LSTMCell(3), 0.5)]
        )
        outputs, states = tf.nn.dynamic_rnn(layered, x, dtype=tf.float32)
        assert outputs.shape.as_list() == [None, T, 3]
        assert states[0].shape.as_list() == [None, 4] and states[1].h.shape.as_list() == [None, 3]
        one = cells.BasicLSTMCell(2, name="mine")
        tf.nn.bidirectional_dynamic_rnn(one, cells.BasicLSTMCell(2), x, dtype=tf.float32)
        two = cells.BasicRNNCell(2)
        two(x[:, 0], two.zero_state(3, tf.float32))
        three = cells.BasicRNNCell(2)
        three(x[:, 0], three.zero_state(3, tf.float32))
        top = "rnn/multi_rnn_cell/cell_"
        assert {v.op.name: v.shape.as_list() for v in tf.trainable_variables()} == {
            top + "0/gru_cell/gates/kernel": [6, 8],
            top + "0/gru_cell/gates/bias": [8],
            top + "0/gru_cell/candidate/kernel": [6, 4],
            top + "0/gru_cell/candidate/bias": [4],
            top + "1/lstm_cell/kernel": [7, 12],
            top + "1/lstm_cell/bias": [12],
            "bidirectional_rnn/fw/mine/kernel": [4, 8],
            "bidirectional_rnn/fw/mine/bias": [8],
            "bidirectional_rnn/bw/basic_lstm_cell/kernel": [4, 8],
            "bidirectional_rnn/bw/basic_lstm_cell/bias": [8],
            "basic_rnn_cell/kernel": [4, 2],
            "basic_rnn_cell/bias": [2],
            "basic_rnn_cell_1/kernel": [4, 2],
            "basic_rnn_cell_1/bias": [2],
        }
        assert [v.op.name for v in two.trainable_variables] == [
            "basic_rnn_cell/kernel",
            "basic_rnn_cell/bias",
        ]


@TARGETS
def test_the_static_net_gives_what_the_dynamic_one_gives(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant(X)
        cell, ends = cells.BasicLSTMCell(H), [4, 2, 1]
        outputs, last = tf.nn.dynamic_rnn(cell, x, ends, dtype=tf.float64, scope="a")
        steps, end = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), None, tf.float64, ends, "a")
        major, _ = tf.nn.dynamic_rnn(
            cell, tf.transpose(x, [1, 0, 2]), ends, cell.zero_state(B, tf.float64), time_major=True
        )
        assert [v.op.name for v in tf.global_variables()] == [
            "a/basic_lstm_cell/kernel",
            "a/basic_lstm_cell/bias",
        ]
        session.run(tf.global_variables_initializer())
        y, s, ys, e, m = session.run([outputs, last, tf.stack(steps, 1), end, major])
    np.testing.assert_allclose(ys, y, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(e.c, s.c, rtol=1e-12)
    np.testing.assert_allclose(m.transpose(1, 0, 2), y, rtol=1e-12, atol=1e-15)


@TARGETS
def test_the_backward_net_starts_at_the_end_of_each_sequence(target: str) -> None:
    ends = [4, 2, 1]
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant(X)
        both, states = tf.nn.bidirectional_dynamic_rnn(
            cells.GRUCell(H), cells.GRUCell(H), x, ends, dtype=tf.float64
        )
        with tf.variable_scope("bidirectional_rnn", reuse=True) as scope:
            pass
        pieces = tf.unstack(x, axis=1)
        joined, *last = tf.nn.static_bidirectional_rnn(
            cells.GRUCell(H), cells.GRUCell(H), pieces, None, None, tf.float64, ends, scope
        )
        session.run(tf.global_variables_initializer())
        v = {w.op.name: session.run(w) for w in tf.global_variables()}
        (_, bw), found, rows, ends_of_both = session.run([both, states, tf.stack(joined, 1), last])
        y = session.run(tf.concat(both, 2))
    assert len(v) == 8
    np.testing.assert_allclose(rows, y, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(ends_of_both, found, rtol=1e-12)
    v = {k.removeprefix("bidirectional_rnn/bw/gru_cell/"): w for k, w in v.items()}
    for i, end in enumerate(ends):
        alone, last_state = in_numpy(gru, v, X[i : i + 1, :end][:, ::-1], np.zeros((1, H)))
        np.testing.assert_allclose(bw[i, :end], alone[0, ::-1], rtol=1e-10)
        np.testing.assert_allclose(found[1][i], last_state[0], rtol=1e-10)
        assert not bw[i, end:].any()


def _net(make: Callable[[], Any], lengths: Any = None) -> Callable[..., Any]:
    """A function of the inputs and of all weights, which take the place of variables."""

    def build(x: Any, *weights: Any) -> Any:
        given = iter(weights)

        def take(getter: Any, name: str, shape: Any = None, **options: Any) -> Any:
            return tf.reshape(next(given), shape)

        with tf.variable_scope("net", custom_getter=take):
            outputs, last = tf.nn.dynamic_rnn(make(), x, lengths, dtype=tf.float64)
        return tf.concat([tf.reshape(t, [-1]) for t in [outputs, *tf.nest.flatten(last)]], 0)

    return build


@pytest.mark.parametrize(
    ("make", "shapes", "lengths"),
    [
        (lambda: cells.BasicRNNCell(3), [(5, 3), (3,)], [3, 1]),
        (lambda: cells.GRUCell(2), [(4, 4), (4,), (4, 2), (2,)], None),
        (lambda: cells.BasicLSTMCell(2), [(4, 8), (8,)], [2, 3]),
        (
            lambda: cells.LSTMCell(2, use_peepholes=True, num_proj=1),
            [(3, 8), (8,), (2,), (2,), (2,), (2, 1)],
            None,
        ),
    ],
    ids=["basic", "gru", "lstm", "peepholes"],
)
def test_gradients_are_those_of_finite_differences(make: Any, shapes: Any, lengths: Any) -> None:
    weights = [0.3 * away(*shape, seed=i) for i, shape in enumerate(shapes)]
    check(_net(make, lengths), [0.5 * away(2, 3, 2), *weights])


@TARGETS
def test_an_lstm_and_its_gradients_are_torchs(target: str) -> None:
    torch = pytest.importorskip("torch")
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float64, [None, None, D])
        outputs, _ = tf.nn.dynamic_rnn(cells.BasicLSTMCell(H, 0.0), x, dtype=tf.float64)
        gradients = tf.gradients(tf.reduce_sum(outputs**2), tf.global_variables())
        v = list(randomized(session).values())
        y, (dw, db) = session.run([outputs, gradients], {x: X})
    order = [0, 2, 1, 3]  # i, j, f, o of ours as i, f, j, o
    transposed = lambda w: np.concatenate([np.split(w.T, 4)[i] for i in order])  # noqa: E731
    net = torch.nn.LSTM(D, H, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        net.weight_ih_l0.copy_(torch.from_numpy(transposed(v[0][:D])))
        net.weight_hh_l0.copy_(torch.from_numpy(transposed(v[0][D:])))
        net.bias_ih_l0.copy_(torch.from_numpy(transposed(v[1])))
        net.bias_hh_l0.zero_()
    expected, _ = net(torch.from_numpy(X))
    (expected**2).sum().backward()
    np.testing.assert_allclose(y, expected.detach(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(transposed(dw[:D]), net.weight_ih_l0.grad, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(transposed(dw[D:]), net.weight_hh_l0.grad, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(transposed(db), net.bias_ih_l0.grad, rtol=1e-8, atol=1e-10)


@TARGETS
def test_dropout_drops_anew_in_each_step_or_the_same_in_all(target: str) -> None:
    class Echo(cells.RNNCell):  # type: ignore[misc, valid-type, name-defined]
        state_size = output_size = property(lambda self: 50)

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs, state

    def kept(**options: Any) -> Any:
        with tf.Graph().as_default(), tf.Session(target) as session:
            cell = cells.DropoutWrapper(Echo(), seed=7, **options)
            y, _ = tf.nn.dynamic_rnn(cell, tf.ones([1, 40, 50]), dtype=tf.float32)
            return session.run(y)[0]

    each = kept(output_keep_prob=0.5)
    assert set(np.unique(each)) == {0, 2} and 0.4 < (each > 0).mean() < 0.6
    assert not (each == each[0]).all()
    same = kept(input_keep_prob=0.5, variational_recurrent=True, input_size=50, dtype=tf.float32)
    assert set(np.unique(same)) == {0, 2} and (same == same[0]).all()


class Counting(cells.RNNCell):  # type: ignore[misc, name-defined]
    """A cell of a user's: its state is a dict."""

    @property
    def state_size(self) -> Any:
        return {"sum": 2, "steps": tf.TensorShape([1])}

    @property
    def output_size(self) -> int:
        return 2

    def call(self, inputs: Any, state: Any) -> Any:
        scale = tf.get_variable("scale", [2], initializer=tf.ones_initializer())
        total = state["sum"] + inputs * scale
        return total, {"sum": total, "steps": state["steps"] + 1.0}


@TARGETS
@pytest.mark.parametrize("lengths", [[1], [1, 2], [1, 2, 3, 4]])
def test_there_are_as_many_lengths_as_sequences(target: str, lengths: Any) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32, [None, None, D])
        ends = tf.placeholder(tf.int64, [None])
        y, _ = tf.nn.dynamic_rnn(cells.GRUCell(2), x, ends, dtype=tf.float32)
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {x: X, ends: lengths})


@TARGETS
def test_a_cell_of_a_users(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        y, last = tf.nn.dynamic_rnn(Counting(), np.float32(X), dtype=tf.float32)
        assert [v.op.name for v in tf.trainable_variables()] == ["rnn/counting/scale"]
        session.run(tf.global_variables_initializer())
        outputs, state = session.run([y, last])
    np.testing.assert_allclose(outputs, np.cumsum(X, 1), rtol=1e-5)
    assert state["steps"].ravel().tolist() == [T] * B


@TARGETS
def test_raw_rnn_does_what_dynamic_rnn_does(target: str) -> None:
    ends = [4, 2, 1]
    with tf.Graph().as_default(), tf.Session(target) as session:
        cell, x = cells.BasicLSTMCell(H), tf.TensorArray(tf.float64, T)
        x = x.unstack(X.transpose(1, 0, 2))

        def steer(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
            following = cell.zero_state(B, tf.float64) if output is None else state
            finished = time >= tf.constant(ends)
            blank = lambda: tf.zeros([B, D], tf.float64)  # noqa: E731
            read = tf.cond(tf.reduce_all(finished), blank, lambda: x.read(time))
            return finished, read, following, output, None

        emitted, last, none = tf.nn.raw_rnn(cell, steer)
        y, end = tf.nn.dynamic_rnn(cell, X, ends, dtype=tf.float64)
        session.run(tf.global_variables_initializer())
        raw, state, outputs, expected = session.run([emitted.stack(), last, y, end])
        slope = session.run(
            [tf.gradients(t, tf.trainable_variables()[0]) for t in (emitted.stack(), y)]
        )
    assert none is None
    np.testing.assert_allclose(raw.transpose(1, 0, 2), outputs, rtol=1e-10)
    np.testing.assert_allclose(state.c, expected.c, rtol=1e-10)
    np.testing.assert_allclose(slope[0], slope[1], rtol=1e-8, atol=1e-12)


def refused(build: Callable[[Any], Any], kind: type[Exception], words: str) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, T, D], name="x")
        with pytest.raises(kind, match=words):
            build(x)
        assert [op.name for op in graph.get_operations()] == ["x"] and not tf.global_variables()


def test_refusals_leave_the_graph_as_it_was() -> None:
    rnn = tf.nn.dynamic_rnn
    lstm_cell = lambda: cells.BasicLSTMCell(3)  # noqa: E731
    refused(lambda x: rnn(lstm_cell(), x), ValueError, "you must give a dtype")
    refused(lambda x: rnn("lstm", x, dtype=tf.float32), TypeError, "not a RNNCell")
    refused(
        lambda x: rnn(lstm_cell(), x, [[1, 2]], dtype=tf.float32), ValueError, "sequence_length"
    )
    refused(lambda x: rnn(lstm_cell(), np.zeros(3), dtype=tf.float32), ValueError, "batch, time")
    refused(lambda x: cells.MultiRNNCell([]), ValueError, "at least one cell")
    refused(lambda x: cells.DropoutWrapper(lstm_cell(), 0.0), ValueError, "input_keep_prob")
    refused(lambda x: tf.nn.static_rnn(lstm_cell(), [], dtype=tf.float32), ValueError, "empty")


def test_a_cell_of_a_failed_build_says_so() -> None:
    with tf.Graph().as_default():
        cell, x = cells.BasicRNNCell(3, activation=lambda y: y[:, :2]), tf.ones([2, 4, 3])
        with pytest.raises(ValueError, match="keep dtype and shape"):
            tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
        with pytest.raises(ValueError, match="failed, and was rolled back"):
            tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)


@TARGETS
def test_a_saved_net_runs_as_before(target: str, tmp_path: Any) -> None:
    x = X.astype(np.float32)
    with tf.Graph().as_default(), tf.Session(target) as session:
        xs = tf.placeholder(tf.float32, [None, None, D], name="x")
        ends = tf.placeholder(tf.int32, [None], name="ends")
        y, _ = tf.nn.bidirectional_dynamic_rnn(
            cells.LSTMCell(H), cells.GRUCell(H), xs, ends, dtype=tf.float32
        )
        y = tf.concat(y, 2, name="y")
        session.run(tf.global_variables_initializer())
        feeds = {"x": x, "ends": np.int32([4, 2, 1])}
        expected = session.run(y, {xs: x, ends: feeds["ends"]})
        tf.saved_model.save(tmp_path / "m", session, {"run": ({"x": xs, "ends": ends}, {"y": y})})
        model = tf.onnx.export(None, session, {"x": xs, "ends": ends}, {"y": y})
    engine = tf.cinfer if target == "cinfer" else tf.runtime
    loaded = engine.load((tmp_path / "m").read_bytes())
    np.testing.assert_array_equal(loaded.signature("run")(**feeds)["y"], expected)
    onnxruntime = pytest.importorskip("onnxruntime")
    other = onnxruntime.InferenceSession(model.SerializeToString())
    np.testing.assert_allclose(other.run(None, feeds)[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("units", "kind"),
    [(None, TypeError), (float("inf"), TypeError), (2.5, TypeError), (0, ValueError)],
)
def test_a_cell_has_a_whole_number_of_units(units: Any, kind: type[Exception]) -> None:
    for cell in (tf.nn.rnn_cell.LSTMCell, tf.nn.rnn_cell.GRUCell, tf.nn.rnn_cell.BasicRNNCell):
        with pytest.raises(kind, match="num_units is .*, expected an integer"):
            cell(units)


class _Counter(tf.nn.rnn_cell.RNNCell):
    """Gives its input again and counts its steps in a scalar, whatever the batch is."""

    state_size = tf.TensorShape([])
    output_size = 1

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        return tf.zeros([], tf.int32)

    def call(self, inputs: Any, state: Any) -> Any:
        return inputs, state + 1


@TARGETS
def test_a_state_without_rows_goes_on_past_the_end_of_sequences(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant(np.ones([2, 4, 1]), tf.float32)
        outputs, state = tf.nn.dynamic_rnn(_Counter(), x, [4, 2], dtype=tf.float32)
        found, count = session.run([outputs, state])
    assert count.shape == () and count == 4
    assert found[:, :, 0].tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"batch_size": 50}, "batch size from input"),
        ({"batch_size": np.int32(3)}, "batch size from input"),
        ({"dtype": tf.int16}, "dtype from input"),
    ],
)
def test_a_first_state_is_of_the_inputs_batch_and_dtype(arguments: Any, words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        cells.GRUCell(2).get_initial_state(tf.placeholder(tf.float32, [2, 4, 1]), **arguments)


@pytest.mark.parametrize(
    "kind", [cells.BasicRNNCell, cells.GRUCell, cells.BasicLSTMCell, cells.LSTMCell]
)
def test_cells_take_floating_inputs(kind: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="only supports floating"):
        x = tf.placeholder(tf.int32, [2, 3, 4])
        tf.nn.dynamic_rnn(kind(2, dtype=tf.int32), x, dtype=tf.int32)


class Remembering(cells.RNNCell):
    """Sums its inputs, and keeps each in a TensorArray of its state."""

    @property
    def output_size(self) -> Any:
        return D

    @property
    def state_size(self) -> Any:
        return (tf.TensorShape([]), D, ())

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        seen = tf.TensorArray(dtype, 0, dynamic_size=True)
        return tf.constant(0), tf.zeros([batch_size, D], dtype), seen

    def call(self, inputs: Any, state: Any) -> Any:
        count, total, seen = state
        total = total + inputs
        return total, (count + 1, total, seen.write(count, inputs))


@TARGETS
@pytest.mark.parametrize("time_major", [False, True])
def test_a_state_may_hold_a_tensor_array(target: str, time_major: bool) -> None:
    lengths, values = np.array([4, 2, 0]), away(B, T, D)
    given = values.transpose(1, 0, 2) if time_major else values
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float64, given.shape)
        outputs, (count, total, seen) = tf.nn.dynamic_rnn(
            Remembering(), x, lengths, dtype=tf.float64, time_major=time_major
        )
        assert outputs.shape.as_list() == list(given.shape)
        gradient = tf.gradients(tf.square(total) + tf.reduce_sum(outputs), x)[0]
        found = session.run([outputs, count, total, seen.stack(), gradient], {x: given})
    live = (np.arange(T) < lengths[:, None])[:, :, None]
    sums = np.cumsum(values, 1) * live
    last = (values * live).sum(1)
    after = np.cumsum(live[:, ::-1], 1)[:, ::-1]  # outputs that an input is part of
    dx = (2 * last[:, None] + B * D * after) * live
    expected_values = [sums, T, last, values.transpose(1, 0, 2), dx]
    for i in (0, 4):
        found[i] = found[i].transpose(1, 0, 2) if time_major else found[i]
    for one, other in zip(found, expected_values, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@TARGETS
def test_the_backward_net_has_a_tensor_array_as_well(target: str) -> None:
    values = away(B, T, D)
    with tf.Graph().as_default(), tf.Session(target) as session:
        (there, back), (_, last) = tf.nn.bidirectional_dynamic_rnn(
            Remembering(), Remembering(), tf.constant(values), dtype=tf.float64
        )
        found = session.run([there, back, last[2].stack()])
    np.testing.assert_allclose(found[0], np.cumsum(values, 1))
    np.testing.assert_allclose(found[1], np.cumsum(values[:, ::-1], 1)[:, ::-1])
    np.testing.assert_allclose(found[2], values.transpose(1, 0, 2)[::-1])
