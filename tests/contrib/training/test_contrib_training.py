"""tf.contrib.training: hyperparameters, steps, evaluation, resampling, placement."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

training = tf.contrib.training
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


# ---- hyperparameters ----


def made() -> Any:
    return training.HParams(rate=0.5, units=10, name="net", on=True, sizes=[1, 2], odd=None)


def test_hyperparameters_are_attributes_with_types() -> None:
    params = made()
    assert (params.rate, params.units, params.sizes) == (0.5, 10, [1, 2])
    assert params.values()["name"] == "net" and "units" in params and "other" not in params
    assert repr(training.HParams(b=1, a="x")) == "HParams([('a', 'x'), ('b', 1)])"
    assert str(training.HParams(b=1, a="x")) == "b=1,a=x"


def test_text_changes_hyperparameters() -> None:
    params = made().parse("rate=1e-3,units=7,name=deep net,on=false,sizes=[3,4 5]")
    assert params.values() == {
        "rate": 1e-3, "units": 7, "name": "deep net", "on": False, "sizes": [3, 4, 5], "odd": None,
    }  # fmt: skip
    assert params.parse("on=1,rate=2").rate == 2.0 and params.on is True
    assert params.parse("") is params


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("units=1.5", "Could not parse hparam 'units' of type 'int' with value '1.5'"),
        ("on=maybe", "Could not parse hparam 'on'"),
        ("width=3", "Unknown hyperparameter type for width"),
        ("units=1,units=2", "Multiple assignments to variable 'units'"),
        ("units", "Malformed hyperparameter value: units"),
        ("sizes=3", "Must pass a list for multi-valued parameter: sizes"),
        ("units=[3]", "Must not pass a list for single-valued parameter: units"),
        ("sizes=[1,x]", "Could not parse hparam 'sizes'"),
    ],
)
def test_text_of_another_kind_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(")):
        made().parse(text)


def test_values_are_parsed_by_index() -> None:
    found = training.parse_values("a[1]=3,a[0]=4,b=x", {"a": int, "b": str})
    assert found == {"a": {1: 3, 0: 4}, "b": "x"}
    assert training.parse_values("a=1,c=2", {"a": int}, ignore_unknown=True) == {"a": 1}
    for text in ("a[1]=3,a[1]=4", "a[1]=3,a=4", "a=4,a[1]=3", "a[1]=[3]"):
        with pytest.raises(ValueError, match="Multiple assignments|Assignment of a list"):
            training.parse_values(text, {"a": int})


@pytest.mark.parametrize(
    ("name", "value"), [("units", 1.5), ("units", True), ("on", 1), ("name", 3), ("rate", "0.1")]
)
def test_a_value_of_another_type_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"Could not cast hparam '{name}'"):
        made().set_hparam(name, value)


def test_hyperparameters_can_be_added_removed_and_looked_up() -> None:
    params = made()
    params.set_hparam("rate", 2)
    assert params.rate == 2.0 and isinstance(params.rate, float)
    params.add_hparam("extra", "x")
    assert params.get("extra") == "x" and params.get("none", 4) == 4
    params.del_hparam("extra")
    assert "extra" not in params and not hasattr(params, "extra")
    with pytest.raises(ValueError, match="Hyperparameter name is reserved: units"):
        params.add_hparam("units", 3)
    with pytest.raises(ValueError, match="cannot be empty: some"):
        params.add_hparam("some", [])
    with pytest.raises(ValueError, match="is incompatible with default=x"):
        params.get("units", "x")
    with pytest.raises(TypeError, match="expected a HParamDef"):
        training.HParams(hparam_def=object())


def test_json_keeps_hyperparameters() -> None:
    text = made().to_json(sort_keys=True)
    other = training.HParams(rate=0.1, units=0, name="", on=False, sizes=[0], odd=None)
    assert other.parse_json(text).values() == made().values()
    assert other.override_from_dict({"units": 3}).units == 3
    assert other.set_from_map({"units": 4}).units == 4
    other.set_model_structure("graph")
    assert other.get_model_structure() == "graph"


# ---- steps ----


def slope(target: str, build: Any) -> Any:
    """A line's slope and the loss before it, after some steps."""
    x = np.float32([1.0, 2.0, 3.0])
    with tf.Graph().as_default():
        w = tf.get_variable("w", [], initializer=tf.constant_initializer(0.5))
        loss = tf.reduce_mean((w * x - 2.0 * x) ** 2)
        train_op = build(loss, w)
        with tf.Session(target=target) as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run(train_op) for _ in range(3)]
            return losses, session.run([w, tf.train.get_global_step()])


@TARGETS
def test_a_train_op_gives_the_loss_of_its_step(target: str) -> None:
    def build(loss: Any, w: Any) -> Any:
        return training.create_train_op(loss, tf.train.GradientDescentOptimizer(0.05))

    losses, (w, steps) = slope(target, build)
    value, expected, second = 0.5, [], 14.0 / 3
    for _ in range(3):
        expected.append(second * (value - 2) ** 2)
        value -= 0.05 * 2 * second * (value - 2)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(w, value, rtol=1e-5)
    assert steps == 3


@TARGETS
def test_gradients_are_clipped_and_multiplied_on_their_way(target: str) -> None:
    def build(loss: Any, w: Any) -> Any:
        def change(pairs: Any) -> Any:
            halved = training.multiply_gradients(pairs, {"w": 0.5})
            return training.clip_gradient_norms_fn(2.0)(halved)

        return training.create_train_op(
            loss, tf.train.GradientDescentOptimizer(0.1), transform_grads_fn=change,
            summarize_gradients=True,
        )  # fmt: skip

    _, (w, _) = slope(target, build)
    value = 0.5
    for _ in range(3):
        gradient = 0.5 * 2 * 14.0 / 3 * (value - 2)
        value -= 0.1 * np.clip(gradient, -2.0, 2.0)
    np.testing.assert_allclose(w, value, rtol=1e-5)


def test_updates_run_before_the_loss_and_summaries_have_names() -> None:
    with tf.Graph().as_default():
        count = tf.get_variable("count", [], trainable=False, initializer=tf.zeros_initializer())
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(count, 1.0))
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        loss = tf.reduce_sum(w * w)
        train_op = training.create_train_op(
            loss, tf.train.GradientDescentOptimizer(0.1), None, summarize_gradients=True
        )
        names = [s.op.name for s in tf.get_collection(tf.GraphKeys.SUMMARIES)]
        assert names == ["summarize_grads/w_gradient", "summarize_grads/w_gradient_norm"]
        assert tf.get_collection(tf.GraphKeys.TRAIN_OP)[-1] is train_op
        assert tf.train.get_global_step() is None
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train_op)
            assert session.run(count) == 1.0


def test_a_loss_that_is_not_a_number_is_an_error() -> None:
    with tf.Graph().as_default():
        w = tf.get_variable("w", [], initializer=tf.constant_initializer(-1.0))
        train_op = training.create_train_op(tf.log(w), tf.train.GradientDescentOptimizer(0.1))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            with pytest.raises(tf.errors.InvalidArgumentError, match="LossTensor is inf or nan"):
                session.run(train_op)


def test_gradients_without_a_variable_or_a_factor_are_refused() -> None:
    with tf.Graph().as_default():
        w = tf.get_variable("w", [])
        with pytest.raises(ValueError, match="`gradient_multipliers` is empty"):
            training.multiply_gradients([(w, w)], {})
        with pytest.raises(ValueError, match="must be a list"):
            training.multiply_gradients(((w, w),), {w: 1.0})
        with pytest.raises(ValueError, match="Requested multiple of `None` gradient: w"):
            training.multiply_gradients([(None, w)], {w: 1.0})
        rows = tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]))
        (changed, _), (none, _) = training.clip_gradient_norms([(rows, w), (None, w)], 1.0)
        assert none is None
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(changed.values), [[0.6, 0.8]], rtol=1e-6)


# ---- loops and evaluation ----


def model() -> tuple[Any, Any]:
    w = tf.get_variable("w", [], initializer=tf.constant_initializer(8.0))
    return w, w * w


def trained(folder: Path, steps: int) -> Any:
    with tf.Graph().as_default():
        _, loss = model()
        train_op = training.create_train_op(loss, tf.train.GradientDescentOptimizer(0.25))
        hooks = [tf.train.StopAtStepHook(num_steps=steps)]
        return training.train(train_op, str(folder), hooks=hooks, save_summaries_steps=None)


def test_training_saves_and_evaluation_reads(tmp_path: Path) -> None:
    assert trained(tmp_path, 2) == pytest.approx(16.0)
    with tf.Graph().as_default():
        w, _ = model()
        tf.summary.scalar("w", w)
        tf.train.get_or_create_global_step()
        seen = tf.get_local_variable("seen", [], initializer=tf.zeros_initializer())
        hooks = [
            training.StopAfterNEvalsHook(3, log_progress=False),
            training.SummaryAtEndHook(log_dir=str(tmp_path / "eval")),
        ]
        path = training.wait_for_new_checkpoint(str(tmp_path), timeout=5)
        values = training.evaluate_once(
            path, eval_ops=tf.assign_add(seen, w), final_ops={"w": w, "seen": seen}, hooks=hooks
        )
        assert values == {"w": 2.0, "seen": 6.0}
        assert training.get_or_create_eval_step().dtype == tf.int64
    (file,) = (tmp_path / "eval").iterdir()
    events = list(tf.train.summary_iterator(str(file)))
    assert [v.simple_value for e in events for v in e.summary.value] == [2.0]
    assert events[-1].step == 2


def test_evaluation_is_repeated_until_a_number_or_a_time(tmp_path: Path) -> None:
    trained(tmp_path, 1)
    with tf.Graph().as_default():
        w, _ = model()
        tf.train.get_or_create_global_step()
        found = training.evaluate_repeatedly(
            str(tmp_path), final_ops=w, max_number_of_evaluations=1, eval_interval_secs=0
        )
        assert found == 4.0
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert training.wait_for_new_checkpoint(str(tmp_path), latest, 0.01, timeout=0.0) is None
    paths = training.checkpoints_iterator(str(tmp_path), timeout=0)
    assert list(paths) == [latest]


def test_training_without_a_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="save_checkpoint_secs"):
        training.train(None, None, save_summaries_steps=None)
    with pytest.raises(ValueError, match="One of log_dir or summary_writer"):
        training.SummaryAtEndHook()


# ---- resampling and placement ----


@TARGETS
def test_rows_are_resampled_at_their_rates(target: str) -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        rows = tf.range(4)
        (chosen,) = training.resample_at_rate([rows], tf.constant([0.0, 1.0, 2.0, 5.0]), seed=3)
        with tf.Session(target=target) as session:
            drawn = [session.run(chosen) for _ in range(300)]
    assert all((np.diff(rows) >= 0).all() for rows in drawn)
    counts = np.array([np.bincount(rows, minlength=4) for rows in drawn])
    rates = np.array([0.0, 1.0, 2.0, 5.0])
    assert (np.abs(counts.mean(0) - rates) <= 5 * np.sqrt(rates / 300)).all()


@TARGETS
def test_rows_are_resampled_by_weight(target: str) -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        weights = np.float32([1.0, 3.0])
        (rows,), rates = training.weighted_resample(
            [tf.range(2)], weights, 2.0, mean_decay=0.5, seed=5
        )
        with tf.Session(target=target) as session:
            session.run(tf.local_variables_initializer())
            for mean in (1.0, 1.5, 1.75):
                found, given = session.run([rows, rates])
                np.testing.assert_allclose(given, (weights * 2.0 / mean)[found], rtol=1e-5)


def test_operations_are_placed() -> None:
    with tf.Graph().as_default():
        ops = [tf.get_variable(name, [n]).op for name, n in (("a", 4), ("b", 1), ("c", 2))]
        greedy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
        assert [greedy(op) for op in ops] == [0, 1, 1]
        assert training.byte_size_load_fn(ops[0]) == 16
        drawn = training.RandomStrategy(3, seed=5)
        expected = int(hashlib.md5(b"a_5").hexdigest(), 16) % 3
        assert drawn(ops[0]) == expected


def test_a_name_that_needs_queues_says_what_to_use() -> None:
    with pytest.raises(AttributeError, match="batch_sequences_with_states is not part of graphio"):
        _ = training.batch_sequences_with_states


#: an HParamDef of TensorFlow 1.15.5: a=1, b=0.5, c="x", d=True, e=[1, 2], f=["p", "q"], g=[True]
STORED = (
    "0a070a0161120208010a0a0a016212051500 00003f0a080a016312031a01780a070a016412023801"
    "0a0b0a0165120622040a020102 0a0d0a016612083206 0a01700a01710a0a0a0167120542030a0101"
)


def test_hyperparameters_are_a_message_of_tensorflow():
    training = tf.contrib.training
    given = training.HParams(a=1, b=0.5, c="x", d=True, e=[1, 2], f=["p", "q"], g=[True])
    message = given.to_proto()
    stored = training.HParamDef.FromString(bytes.fromhex(STORED.replace(" ", "")))
    assert message == stored
    assert training.HParams.from_proto(stored).values() == given.values()
    again = training.HParams(hparam_def=message)
    assert isinstance(again.d, bool) and again.parse("a=3,f=[r]").f == ["r"] and again.a == 3
    with pytest.raises(ValueError, match="mutually exclusive"):
        training.HParams(hparam_def=message, a=1)
    with pytest.raises(ValueError, match="a is None"):
        given.a = None
        given.to_proto()
