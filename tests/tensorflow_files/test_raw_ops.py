"""tf.raw_ops against what TensorFlow's own gave, in both engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import raw_op_cases
from value_cases import TARGETS

import graphio as tf

CASES = raw_op_cases.cases()
STORED = json.loads(raw_op_cases.STORED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=TARGETS)
def found(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The values of all cases, from one graph; of one that isn't built, the error."""
    made: dict[str, Any] = {}
    with tf.Graph().as_default():
        for name, case in CASES.items():
            try:
                made[name] = raw_op_cases.Built(
                    tf, case, lambda v, is_resource: v, lambda op: getattr(tf.raw_ops, op)
                )
            except Exception as error:
                made[name] = error
        with tf.Session(request.param) as session:
            for name, built in made.items():
                if isinstance(built, Exception):
                    continue
                try:
                    session.run(built.initializers)
                    made[name] = built.values(session)
                except Exception as error:
                    made[name] = error
    return made


@pytest.mark.parametrize("name", CASES)
def test_a_raw_operation_gives_the_values_of_tensorflow(found: dict[str, Any], name: str) -> None:
    if isinstance(found[name], Exception):
        raise found[name]
    assert len(found[name]) == len(STORED[name])
    for ours, theirs in zip(found[name], STORED[name], strict=True):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert ours.shape == theirs.shape
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=3e-5, atol=3e-6)
        else:
            np.testing.assert_array_equal(ours, theirs)


def test_every_case_is_recorded() -> None:
    assert list(STORED) == list(CASES)


#: arguments, and of the distribution the mean and the standard deviation
DRAWS: dict[str, tuple[dict[str, Any], float, float]] = {
    "RandomStandardNormal": ({"shape": [4000], "dtype": "float32"}, 0.0, 1.0),
    "RandomUniform": ({"shape": [4000], "dtype": "float32"}, 0.5, 12**-0.5),
    "RandomUniformInt": ({"shape": [4000], "minval": 2, "maxval": 12}, 6.5, 99**0.5 / 12**0.5),
    "TruncatedNormal": ({"shape": [4000], "dtype": "float32"}, 0.0, 0.8796),
    "RandomGamma": ({"shape": [4000], "alpha": np.float32(4)}, 4.0, 2.0),
    "RandomPoissonV2": ({"shape": [4000], "rate": np.float32(4)}, 4.0, 2.0),
    "RandomPoisson": ({"shape": [4000], "rate": np.float32(4)}, 4.0, 2.0),
    "StatelessRandomNormal": ({"shape": [4000], "seed": [3, 5]}, 0.0, 1.0),
    "StatelessRandomUniform": ({"shape": [4000], "seed": [3, 5]}, 0.5, 12**-0.5),
    "StatelessTruncatedNormal": ({"shape": [4000], "seed": [3, 5]}, 0.0, 0.8796),
    "StatelessRandomUniformInt": (
        {"shape": [4000], "seed": [3, 5], "minval": 2, "maxval": 12},
        6.5,
        99**0.5 / 12**0.5,
    ),
    "StatelessMultinomial": (
        {"logits": np.log([[0.25, 0.75]]), "num_samples": 4000, "seed": [3, 5]},
        0.75,
        0.1875**0.5,
    ),
    "Multinomial": ({"logits": np.log([[0.25, 0.75]]), "num_samples": 4000}, 0.75, 0.1875**0.5),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", DRAWS)
def test_a_raw_operation_draws_from_its_distribution(op: str, target: str) -> None:
    given, mean, deviation = DRAWS[op]
    with tf.Graph().as_default(), tf.Session(target) as session:
        drawn = session.run(getattr(tf.raw_ops, op)(**{"seed": 3, **given}))
    assert drawn.size == 4000
    np.testing.assert_allclose(drawn.mean(), mean, atol=4 * deviation / 4000**0.5)
    np.testing.assert_allclose(drawn.std(), deviation, rtol=0.06)


@pytest.mark.parametrize("target", TARGETS)
def test_raw_operations_sample_classes_and_shuffle_rows(target: str) -> None:
    raw = tf.raw_ops
    classes = np.array([[1]], np.int64)
    settings = {"num_true": 1, "num_sampled": 5, "unique": True, "range_max": 9}
    with tf.Graph().as_default(), tf.Session(target) as session:
        uniform = raw.UniformCandidateSampler(true_classes=classes, **settings)
        zipf = raw.LogUniformCandidateSampler(true_classes=classes, **settings)
        rows = session.run(raw.RandomShuffle(value=np.arange(20)))
        for made in (uniform, zipf):
            sampled = session.run(made.sampled_candidates)
            assert len(set(sampled.tolist())) == 5 and 0 <= sampled.min() and sampled.max() < 9
    assert sorted(rows.tolist()) == list(range(20)) != rows.tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_raw_operations_read_and_write_files(target: str, tmp_path: Path) -> None:
    raw = tf.raw_ops
    path = str(tmp_path / "a.txt")
    with tf.Graph().as_default(), tf.Session(target) as session:
        session.run(raw.WriteFile(filename=path, contents="words"))
        assert session.run(raw.ReadFile(filename=path)) == b"words"
        matching = raw.MatchingFiles(pattern=str(tmp_path / "*.txt"))
        assert session.run(matching).tolist() == [path.encode()]
        assert session.run(raw.Timestamp()) > 1e9


@pytest.mark.parametrize("target", TARGETS)
def test_raw_placeholders_and_lists_of_tensors(target: str) -> None:
    raw = tf.raw_ops
    value = np.arange(6, dtype=np.float32).reshape(3, 2)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = raw.Placeholder(dtype="float32", shape=[3, 2])
        y = raw.PlaceholderWithDefault(input=value, shape=[None, 2])
        held = raw.TensorListFromTensor(tensor=x, element_shape=[2])
        last = raw.TensorListGetItem(
            input_handle=held, index=2, element_shape=[2], element_dtype="float32"
        )
        whole = raw.TensorListStack(
            input_handle=held, element_shape=[2], element_dtype="float32", num_elements=3
        )
        fetched = session.run(
            [x + y, last, whole, raw.TensorListLength(input_handle=held)], {x: value}
        )
        q, r = session.run(raw.Qr(input=value))
    np.testing.assert_array_equal(fetched[0], 2 * value)
    np.testing.assert_array_equal(fetched[1], value[2])
    np.testing.assert_array_equal(fetched[2], value)
    assert fetched[3] == 3
    np.testing.assert_allclose(q @ r, value, atol=1e-6)
    np.testing.assert_allclose(q.T @ q, np.eye(2), atol=1e-6)


def test_arguments_of_raw_operations_are_checked() -> None:
    raw = tf.raw_ops
    with tf.Graph().as_default():
        for call, words in (
            (lambda: raw.Add(1.0, 2.0), "only takes keyword args"),
            (lambda: raw.Add(x=1.0), "missing required argument 'y'"),
            (lambda: raw.Add(x=1.0, y=2.0, z=3.0), "unexpected keyword argument 'z'"),
            (lambda: raw.Cast(x=1.0), "missing required argument 'DstT'"),
            (lambda: raw.AddN(inputs=1.0), "Expected list for 'inputs'"),
            (lambda: raw.Add(x=tf.constant(1.0), y=tf.constant(1)), "does not match"),
        ):
            with pytest.raises(TypeError, match=words):
                call()
    with pytest.raises(AttributeError, match="tf.raw_ops.TPUReplicatedInput is not part"):
        raw.TPUReplicatedInput  # noqa: B018
