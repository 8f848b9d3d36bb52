"""A training handed over between Python and C loses nothing: the same bits, and it trains on."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import c_programs
import engines
import numpy as np
import pytest
from folders import SUPPORT

import graphio as tf
from graphio.schema import checkpoint, dtypes
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.schema.model_pb2 import IteratorState
from graphio.support import errors

BATCH, FEATURES, FIRST, ALL = 8, 5, 4, 9
BLOBS = {"notes": b"\x00bytes of the user\xff", "empty": b""}


class Training(NamedTuple):
    """A graph that trains, its ends, and the same as a model file for C."""

    graph: tf.Graph
    x: Any
    y: Any
    train: Any
    model: Path
    batches: Path

    def batch(self, step: int) -> dict[Any, Any]:
        """The values fed at a step, from 1 on."""
        size = BATCH * (FEATURES + 1) * 4
        record = self.batches.read_bytes()[(step - 1) * size : step * size]
        numbers = np.frombuffer(record, np.float32)
        x, y = numbers[: BATCH * FEATURES], numbers[BATCH * FEATURES :]
        return {self.x: x.reshape(BATCH, FEATURES), self.y: y.reshape(BATCH, 1)}


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """Adam with a schedule, dropout, shuffled data: everything that has a state."""
    folder = tmp_path_factory.mktemp("handover")
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(5)
        table = np.random.RandomState(0).randn(40, FEATURES).astype(np.float32)
        rows = tf.data.Dataset.from_tensor_slices((table, table[:, :1] * 2 - 1))
        rows = rows.shuffle(16, seed=3).repeat().batch(BATCH, drop_remainder=True)
        x, y = rows.make_one_shot_iterator().get_next()
        hidden = tf.nn.dropout(tf.layers.dense(x, 7, tf.nn.tanh), rate=0.3)
        loss = tf.losses.mean_squared_error(y, tf.layers.dense(hidden, 1))
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.05, step, 3, 0.5)
        train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
        init = tf.global_variables_initializer()
    with tf.Session(graph=graph) as session:
        session.run(init)
        signature = {"train": ({"x": x, "y": y}, {"loss": loss}, [train])}
        tf.saved_model.save(str(folder / "model.gio"), session, signature)
    with tf.Session(graph=graph) as session, (folder / "batches").open("wb") as file:
        for _ in range(ALL + 1):
            file.writelines(np.ascontiguousarray(part).tobytes() for part in session.run([x, y]))
    return Training(graph, x, y, train, folder / "model.gio", folder / "batches")


@pytest.fixture(scope="module")
def loop() -> Path:
    """The C program that trains and saves."""
    return c_programs.build(SUPPORT / "checkpoint_loop.c")


def run_c(
    loop: Path, training: Training, prefix: Path, steps: int, *options: int, runner: str = ""
) -> list[str]:
    """Goes on in C from the newest checkpoint of the prefix; the lines that the program prints."""
    sizes = [*map(str, options), *["0"] * (2 - len(options))]
    command = [
        *([runner] if runner else []),
        loop,
        training.model,
        prefix,
        str(steps),
        *sizes,
        training.batches,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def begin(training: Training, target: str) -> tf.Session:
    """A session with the values of the model file and generators where they begin."""
    session = tf.Session(target, graph=training.graph)
    model = tf.runtime.load(str(training.model))
    with training.graph.as_default():
        for variable in tf.global_variables():
            variable.load(model.state.get(variable.op.name), session)
    for name, position in model.state.generators().items():
        session.state.set_generator(name, *position)
    return session


def run_python(session: tf.Session, training: Training, steps: range, fed: bool = False) -> None:
    for step in steps:
        session.run(training.train, training.batch(step) if fed else None)


def save(session: tf.Session, training: Training, folder: Path, step: int) -> str:
    folder.mkdir(exist_ok=True)
    with training.graph.as_default():
        saver = tf.train.Saver()
    return str(saver.save(session, folder / "python", global_step=step, blobs=BLOBS))


def restore(training: Training, target: str, prefix: str | Path) -> tf.Session:
    session = tf.Session(target, graph=training.graph)
    with training.graph.as_default(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an iterator that C does not have
        tf.train.Saver().restore(session, str(prefix))
    return session


def contents(prefix: str | Path) -> dict[str, Any]:
    """All that a checkpoint holds, by name, values as SHA-256 of their bytes."""
    found = read_checkpoint(prefix)
    held: dict[str, Any] = {"step": found.step}
    for row in found.index.variable:
        value = found.variables[row.name]
        digest = hashlib.sha256(value.tobytes()).hexdigest()
        held[row.name] = (row.dtype, tuple(row.dims), digest, row.slot_of, row.slot)
    for resource in found.index.resource:
        held["resource " + resource.name] = resource.SerializeToString(deterministic=True)
    return held


def without_iterators(held: dict[str, Any], *others: str) -> dict[str, Any]:
    return {k: v for k, v in held.items() if "Iterator" not in k and k.split(" ")[-1] not in others}


def assert_close(one: str | Path, other: str | Path) -> None:
    """The variables of two checkpoints agree within what two engines differ; counts exactly."""
    a, b = read_checkpoint(one), read_checkpoint(other)
    assert set(a.variables) == set(b.variables)
    for name in a.variables:
        np.testing.assert_allclose(a.variables[name], b.variables[name], rtol=1e-4, atol=1e-6)
    assert a.variables["global_step"] == b.variables["global_step"]
    assert a.generators == b.generators


# ---- through C without a change ----


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_c_gives_back_every_bit_that_python_saved(
    target: str, training: Training, loop: Path, tmp_path: Path
) -> None:
    with begin(training, target) as session:
        run_python(session, training, range(1, FIRST + 1))
        prefix = save(session, training, tmp_path, FIRST)
    assert run_c(loop, training, tmp_path / "c", FIRST, 100) == [
        f"resumed {FIRST}",
        f"saved {FIRST}",
    ]
    held = contents(prefix)
    assert contents(tmp_path / "c") == held
    assert len(read_checkpoint(tmp_path / "c").index.shard) > 2
    assert {"resource notes", "resource empty"} < set(held)
    assert any("Iterator" in name for name in held)
    assert any(v[3:] == ("dense/kernel", "m") for v in held.values() if isinstance(v, tuple)), held
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "c")


@engines.BOTH
def test_a_state_gives_back_every_bit_that_a_saver_saved(
    engine: str, training: Training, tmp_path: Path
) -> None:
    with begin(training, "") as session:
        run_python(session, training, range(1, FIRST + 1))
        prefix = save(session, training, tmp_path, FIRST)
    alone = engines.module(engine).new_state()
    model = engines.module(engine).load(str(training.model))
    for name, state in {"alone": alone, "model": model.state}.items():
        assert state.restore(prefix) == FIRST
        assert state.blobs() == BLOBS
        state.save(tmp_path / name, step=FIRST, shard_bytes=64)
        assert contents(tmp_path / name) == contents(prefix)


# ---- there and back ----


def test_a_training_goes_from_python_to_c_and_back(
    training: Training, loop: Path, tmp_path: Path
) -> None:
    with begin(training, "") as session:
        run_python(session, training, range(1, FIRST + 1))
        save(session, training, tmp_path, FIRST)
        run_python(session, training, range(FIRST + 1, ALL + 1))
        straight = save(session, training, tmp_path / "straight", ALL)
        run_python(session, training, range(ALL + 1, ALL + 2), fed=True)
        further = save(session, training, tmp_path / "straight", ALL + 1)
    assert run_c(loop, training, tmp_path / "c-", ALL)[-1] == f"saved {ALL}"
    assert_close(tmp_path / f"c-{ALL}", straight)
    with restore(training, "", tmp_path / f"c-{ALL}") as session:
        same = save(session, training, tmp_path / "back", ALL)
        held = without_iterators(contents(tmp_path / f"c-{ALL}"))
        assert without_iterators(contents(same)) == held
        run_python(session, training, range(ALL + 1, ALL + 2), fed=True)
        assert_close(save(session, training, tmp_path / "back", ALL + 1), further)


def test_a_training_goes_from_c_to_python(training: Training, loop: Path, tmp_path: Path) -> None:
    assert run_c(loop, training, tmp_path / "c-", FIRST)[0] == "resumed 0"
    with restore(training, "", tmp_path / f"c-{FIRST}") as session:
        same = save(session, training, tmp_path / "python", FIRST)
        held = without_iterators(contents(tmp_path / f"c-{FIRST}"))
        assert without_iterators(contents(same), *BLOBS) == held
        run_python(session, training, range(FIRST + 1, ALL + 1), fed=True)
        handed = save(session, training, tmp_path / "python", ALL)
    with begin(training, "") as session:
        run_python(session, training, range(1, ALL + 1), fed=True)
        assert_close(handed, save(session, training, tmp_path / "straight", ALL))


def test_a_session_of_cinfer_and_a_c_program_are_one_run(
    training: Training, loop: Path, tmp_path: Path
) -> None:
    with begin(training, "cinfer") as session:
        run_python(session, training, range(1, FIRST + 1))
        save(session, training, tmp_path, FIRST)
        run_python(session, training, range(FIRST + 1, ALL + 1))
        straight = contents(save(session, training, tmp_path / "straight", ALL))
    run_c(loop, training, tmp_path / "c", ALL)
    assert without_iterators(contents(tmp_path / "c")) == without_iterators(straight)


def test_a_c_program_that_resumes_is_the_one_that_was_never_stopped(
    training: Training, loop: Path, tmp_path: Path
) -> None:
    for folder in ("straight", "stopped"):
        (tmp_path / folder).mkdir()
    run_c(loop, training, tmp_path / "straight" / "m", ALL)
    run_c(loop, training, tmp_path / "stopped" / "m", FIRST, 80)
    assert run_c(loop, training, tmp_path / "stopped" / "m", ALL)[0] == f"resumed {FIRST}"
    assert contents(tmp_path / "straight" / "m") == contents(tmp_path / "stopped" / "m")


def test_a_training_goes_between_machines_of_either_byte_order(
    training: Training, loop: Path, tmp_path: Path
) -> None:
    runner = shutil.which("qemu-s390x")
    if runner is None:
        pytest.skip("qemu-s390x is not installed")
    other = c_programs.build(SUPPORT / "checkpoint_loop.c", "s390x-linux-gnu-gcc", "-static")
    for folder in ("straight", "moved"):
        (tmp_path / folder).mkdir()
    run_c(loop, training, tmp_path / "straight" / "m", ALL, 80)
    run_c(loop, training, tmp_path / "moved" / "m", 2)
    run_c(other, training, tmp_path / "moved" / "m", 2, runner=runner)
    assert run_c(loop, training, tmp_path / "moved" / "m", ALL, 80)[0] == "resumed 2"
    assert contents(tmp_path / "moved" / "m") == contents(tmp_path / "straight" / "m")


# ---- files ----


def test_shards_of_c_are_byte_for_byte_those_of_python(tmp_path: Path) -> None:
    values = {
        f"layer{i}/{name}": np.arange(size, dtype=dtype).reshape(-1, 2)
        for i in range(3)
        for name, size, dtype in (("w", 32, "f4"), ("b", 6, "f8"), ("count", 2, "i2"))
    }
    values["word"] = np.array([b"one", b"", b"three"], object)
    values["none"] = np.zeros((0, 3), np.float32)
    resources = {"dice": (3, 4), "it": IteratorState(epoch=1, offset=2, detail=b"x"), "b": b""}
    (tmp_path / "python").mkdir()
    write_checkpoint(tmp_path / "first", values, resources, slots={"none": ("word", "m")})
    state = engines.module("cinfer").new_state()
    state.restore(tmp_path / "first")
    for most in (None, 1, 128, 150, 180, 300, 10_000):
        state.save(tmp_path / "m", step=2, meta=b"graph", shard_bytes=most)
        index = read_checkpoint(tmp_path / "m").index
        write_checkpoint(
            tmp_path / "python" / "m",
            values,
            resources,
            step=2,
            meta=b"graph",
            slots={"none": ("word", "m")},
            shard_bytes=most,
            save_id=index.save_id,
            time=index.time,
        )
        made = {p.name: p.read_bytes() for p in tmp_path.glob("m.*")}
        assert made == {p.name: p.read_bytes() for p in (tmp_path / "python").iterdir()}


def test_python_and_c_keep_one_list_of_checkpoints(
    training: Training, loop: Path, tmp_path: Path
) -> None:
    run_c(loop, training, tmp_path / "m-", 3, 0, 2)
    with training.graph.as_default():
        saver = tf.train.Saver(max_to_keep=2, pad_step_number=True)
    with tf.Session(graph=training.graph) as session:
        saver.restore(session, tf.train.latest_checkpoint(tmp_path))
        assert [Path(p).name for p in saver.last_checkpoints] == ["m-2", "m-3"]
        saver.save(session, tmp_path / "m", global_step=3)
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state is not None and len(state.all_model_checkpoint_timestamps) == 2
    assert sorted(p.stem for p in tmp_path.glob("*.index")) == ["m-00000003", "m-3"]
    run_c(loop, training, tmp_path / "m-", 4, 0, 2)
    assert sorted(p.stem for p in tmp_path.glob("*.index")) == ["m-00000003", "m-4"]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state is not None and len(state.all_model_checkpoint_timestamps) == 2
    assert state.model_checkpoint_path == str(tmp_path / "m-4")


def test_c_deletes_nothing_that_python_keeps(
    training: Training, loop: Path, tmp_path: Path
) -> None:
    run_c(loop, training, tmp_path / "m-", 2, 0, 3)
    tf.train.keep_checkpoint(tmp_path / "m-1")
    with training.graph.as_default():
        saver = tf.train.Saver(best_to_keep=1, best_metric="loss", best_mode="min")
    with tf.Session(graph=training.graph) as session:
        saver.restore(session, tf.train.latest_checkpoint(tmp_path))
        for step, loss in ((3, 0.5), (4, 1.0)):
            saver.save(session, tmp_path / "m", global_step=step, metrics={"loss": loss})
    run_c(loop, training, tmp_path / "m-", 6, 0, 1)
    assert sorted(p.stem for p in tmp_path.glob("*.index")) == ["m-1", "m-3", "m-6"]


# ---- states ----


@pytest.fixture
def state(engine: str) -> Iterator[Any]:
    """An empty state of each engine."""
    yield engines.module(engine).new_state()


@engines.BOTH
def test_blobs_are_kept_listed_and_removed(engine: str, state: Any, tmp_path: Path) -> None:
    state.set_blob("b", b"two")
    state.set_blob("a", b"one")
    state.set_blob("b", b"three")
    assert list(state.blobs().items()) == [("a", b"one"), ("b", b"three")]
    state.save(tmp_path / "m")
    state.set_blob("later", b"")
    state.remove_blob("a")
    with pytest.raises(errors.NotFoundError, match="'a'"):
        state.remove_blob("a")
    state.restore(tmp_path / "m")
    assert state.blobs() == {"a": b"one", "b": b"three"}


@engines.BOTH
def test_blobs_that_cannot_be_kept_are_refused(engine: str, state: Any) -> None:
    state.set_generator("dice", 1, 2)
    for name, kind in {
        "": errors.InvalidArgumentError,
        "a\0b": errors.InvalidArgumentError,
        "a" * 5000: errors.InvalidArgumentError,
        "dice": errors.AlreadyExistsError,
    }.items():
        with pytest.raises(kind):
            state.set_blob(name, b"")
    with pytest.raises(errors.ResourceExhaustedError, match="limit"):
        state.set_blob("large", bytes((1 << 24) + 1))
    assert state.blobs() == {}


@engines.BOTH
def test_a_generator_and_a_blob_never_have_one_name(
    engine: str, state: Any, tmp_path: Path
) -> None:
    state.set_blob("dice", b"x")
    for give in (
        lambda: state.set_generator("dice", 1, 2),
        lambda: state.assign({}, {"dice": (1, 2)}),
    ):
        with pytest.raises(errors.AlreadyExistsError, match="'dice' is a blob of the state"):
            give()
    assert state.generators() == {}
    state.save(tmp_path / "blob")
    other = engines.module(engine).new_state()
    other.set_generator("dice", 1, 2)
    with pytest.raises(errors.InvalidArgumentError, match="'dice' is a blob in the checkpoint"):
        other.restore(tmp_path / "blob")
    assert other.blobs() == {} and other.generators() == {"dice": (1, 2)}
    other.save(tmp_path / "generator")
    state.restore(tmp_path / "generator")
    assert state.blobs() == {} and state.generators() == {"dice": (1, 2)}


@engines.BOTH
def test_a_model_whose_generator_is_called_as_a_blob_is_refused(engine: str, state: Any) -> None:
    state.set_blob("dice", b"x")
    builder = engines.Builder()
    builder.model.resource.add(name="dice").generator.SetInParent()
    x = builder.placeholder("x", np.dtype("f4"), None)
    builder.signature({"x": x}, {"y": x})
    with pytest.raises(errors.AlreadyExistsError, match="'dice' is a blob of the state"):
        engines.module(engine).load(builder.bytes(), state=state)


@engines.BOTH
def test_what_no_model_has_declared_is_restored_and_saved_again(
    engine: str, state: Any, tmp_path: Path
) -> None:
    values = {"any": np.ones(3, np.float32), "other": np.int64(4)}
    slots = {"any": ("other", "momentum")}
    write_checkpoint(tmp_path / "m", values, {"dice": (1, 2)}, slots=slots, step=3)
    assert state.restore(tmp_path / "m") == 3 and state.names() == ["any", "other"]
    state.declare("any", dtypes.of_numpy(np.dtype("f4")).number, [None])
    state.set("any", np.zeros(5, np.float32))  # the shape in a checkpoint is not binding
    with pytest.raises(errors.InvalidArgumentError):
        state.declare("other", dtypes.of_numpy(np.dtype("i8")).number, [2])
    state.restore(tmp_path / "m")
    state.save(tmp_path / "again", step=3)
    assert contents(tmp_path / "again") == contents(tmp_path / "m")


@engines.BOTH
def test_all_that_does_not_fit_is_reported_at_once(engine: str, state: Any, tmp_path: Path) -> None:
    values = {"net/w": np.ones((3, 2), np.float32), "net/b": np.ones(2, np.float64)}
    write_checkpoint(tmp_path / "m", values, {"blob": b"x"})
    number = dtypes.of_numpy(np.dtype("f4")).number
    for name, shape in {"net/w": [2, 3], "net/b": [2], "net2/w": [1], "zz": [1]}.items():
        state.declare(name, number, shape)
    with pytest.raises(errors.NotFoundError) as caught:
        state.restore(tmp_path / "m")
    reported = str(caught.value)
    assert "Key net2/w not found in checkpoint (it has net/w" in reported
    assert "Key zz not found in checkpoint" in reported
    assert "net/b: the variable has dtype float32, the checkpoint float64" in reported
    assert "shapes of both tensors to match. lhs shape= [2,3] rhs shape= [3,2]" in reported
    assert state.blobs() == {} and not any(state.initialized(name) for name in state.names())


@engines.BOTH
def test_a_part_is_restored_when_requested(engine: str, state: Any, tmp_path: Path) -> None:
    values = {"net/w": np.ones((3, 2), np.float32), "net/b": np.ones(2, np.float64)}
    values["net/c"] = np.full(2, 5, np.float32)
    write_checkpoint(tmp_path / "m", values, {"blob": b"x"}, step=4)
    mine = np.full(6, 7, np.float32)
    for name, shape in {"net/w": [2, 3], "net/b": [6], "net/c": [2], "head": [6]}.items():
        state.declare(name, dtypes.of_numpy(mine.dtype).number, shape)
        state.set(name, mine[: np.prod(shape)].reshape(shape))
    assert state.restore(tmp_path / "m", strict=False) == 4
    found = {name: state.get(name).ravel().tolist() for name in state.names()}
    assert found == {"net/w": [7] * 6, "net/b": [7] * 6, "net/c": [5, 5], "head": [7] * 6}
    assert state.blobs() == {"blob": b"x"}


@engines.BOTH
def test_a_checkpoint_of_another_kind_of_resource_is_refused(
    engine: str, state: Any, tmp_path: Path
) -> None:
    write_checkpoint(tmp_path / "m", {}, {"a": b"x"})
    index = read_checkpoint(tmp_path / "m").index
    index.resource[0].ClearField("blob")
    payload = index.SerializeToString(deterministic=True)
    (tmp_path / "m.index").write_bytes(checkpoint.checkpoint_index.wrap(payload))
    with pytest.raises(errors.DataLossError, match="has no state"):
        state.restore(tmp_path / "m")
