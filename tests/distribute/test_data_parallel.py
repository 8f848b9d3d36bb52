"""DataParallel: one training on any number of ranks has the same bits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trainings
from ranks_in_threads import Rank, on_ranks
from trainings import SHARDS, trained

import graphio as tf
from graphio.support import errors


def results(size: int, name: str, *arguments: Any, **options: Any) -> list[Any]:
    return on_ranks(size, lambda rank: trained(name, rank, *arguments, **options))


@pytest.mark.parametrize("name", trainings.ALL)
def test_the_bits_do_not_depend_on_the_number_of_ranks_nor_on_threads(name: str) -> None:
    expected = trained(name, "none")
    assert expected[1].keys() >= {"loss"} and np.isfinite(expected[1]["loss"])
    assert trained(name, "none", threads=2) == expected
    for size in (2, 3, 4):
        for found in results(size, name, threads=size % 2 + 1):
            assert found == expected


@pytest.mark.parametrize("name", trainings.ALL)
def test_the_runtime_engine_has_one_result_too(name: str) -> None:
    assert results(2, name, steps=3, target="") == [trained(name, "none", steps=3, target="")] * 2


def test_a_step_is_that_of_the_whole_batch_but_for_the_order_of_the_sum() -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        loss, optimizer, _, feed = trainings.recurrent()
        pairs = optimizer.compute_gradients(loss)
        pairs = [(g, v) for (g, _), (_, v) in zip(pairs, pairs, strict=True)]
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        values = [session.run([g for g, _ in pairs], feed(0, shard)) for shard in range(SHARDS)]
        means = [np.mean(np.array(each, np.float64), 0) for each in zip(*values, strict=True)]
        norm = np.sqrt(sum((mean**2).sum() for mean in means))
        before = session.run([v for _, v in pairs])
        expected = [
            value - 0.1 * mean * min(1.0, 0.1 / norm)
            for value, mean in zip(before, means, strict=True)
        ]
        names = [v.op.name for _, v in pairs]
    seen: dict[str, Any] = {}

    class Look(tf.train.SessionRunHook):
        def end(self, session: Any) -> None:
            seen.update({name: session.state.get(name) for name in names})

    trained("recurrent", "none", steps=1, hooks=[Look()])
    for name, value in zip(names, expected, strict=True):
        np.testing.assert_allclose(seen[name], value, rtol=1e-5, atol=1e-7)


def test_moving_averages_are_means_of_those_of_the_shards() -> None:
    seen: dict[str, Any] = {}

    class Look(tf.train.SessionRunHook):
        def end(self, session: Any) -> None:
            for name in ("moving_mean", "moving_variance"):
                seen[name] = session.state.get(f"batch_normalization/{name}")
            seen["kernel"] = session.state.get("conv2d/kernel")

    with tf.Graph().as_default():
        tf.set_random_seed(7)
        x = tf.placeholder(tf.float32, (None, 6, 6, 1))
        tf.layers.conv2d(x, 4, 3, padding="same", use_bias=False)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            out = tf.get_default_graph().get_tensor_by_name("conv2d/Conv2D:0")
            maps = [session.run(out, {x: trainings.IMAGES[shard]}) for shard in range(SHARDS)]
    means = np.mean([m.astype("f8").mean((0, 1, 2)) for m in maps], 0)
    count = trainings.ROWS * 36
    variances = np.mean([m.astype("f8").var((0, 1, 2)) * count / (count - 1) for m in maps], 0)
    trained("network", "none", steps=1, hooks=[Look()])
    np.testing.assert_allclose(seen["moving_mean"], 0.1 * means, rtol=1e-5, atol=1e-8)
    near = [0.9 + 0.1 * variances, 0.9 + 0.1 * variances * (count - 1) / count]
    assert any(np.allclose(seen["moving_variance"], each, rtol=1e-5) for each in near)


def test_metrics_of_integers_are_counts_over_all_shards() -> None:
    _, metrics = trained("network", "none", steps=2)
    assert isinstance(metrics["right"], int)
    assert 0 <= metrics["right"] <= SHARDS * trainings.ROWS


@pytest.mark.parametrize("name", ["network", "pipeline"])
def test_a_training_goes_on_with_another_number_of_ranks(name: str, tmp_path: Path) -> None:
    expected = trained(name, "none", tmp_path / "whole")
    for before, after in ((1, 3), (3, 1), (2, 4)):
        folder = tmp_path / f"{before}_{after}"
        results(before, name, folder, steps=4)
        for found in results(after, name, folder):
            assert found == expected
    files = {each.name: each.read_bytes() for each in (tmp_path / "whole").glob("*.meta")}
    assert files
    for other in tmp_path.iterdir():
        for file, data in files.items():
            if (other / file).exists():
                assert (other / file).read_bytes() == data


def test_a_failure_at_any_step_costs_no_bit(tmp_path: Path) -> None:
    expected = trained("network", "none", tmp_path / "whole")

    def failing(step: int, rank: int) -> Any:
        def change(feed: Any) -> Any:
            def fails(at: int, shard: int) -> Any:
                if at == step and shard == rank * SHARDS // 2:
                    raise OSError("the disk is gone")
                return feed(at, shard)

            return fails

        return change

    for step in range(6):
        folder = tmp_path / str(step)
        found = results(2, "network", folder, change=failing(step, step % 2))
        kinds = {type(each) for each in found}
        assert kinds == {OSError, errors.AbortedError}, found
        assert results(step % 3 + 1, "network", folder)[0] == expected


# ---- refusals ----


def test_a_checkpoint_of_other_shards_or_another_seed_is_refused(tmp_path: Path) -> None:
    trained("recurrent", "none", tmp_path, steps=2, seed=5)
    with pytest.raises(errors.FailedPreconditionError, match=r"seed=5.*seed=6"):
        trained("recurrent", "none", tmp_path, seed=6)
    trainings.SHARDS = 8
    try:
        with pytest.raises(errors.FailedPreconditionError, match=r"shards=4.*shards=8"):
            trained("recurrent", "none", tmp_path, seed=5)
    finally:
        trainings.SHARDS = SHARDS


def test_ranks_with_different_programs_are_refused() -> None:
    def work(rank: Rank) -> Any:
        return trained("network" if rank.rank else "recurrent", rank)

    for found in on_ranks(2, work):
        assert isinstance(found, errors.FailedPreconditionError)
        assert "rank 1 has" in str(found) and "different programs" in str(found)


def test_ranks_with_different_arguments_are_refused() -> None:
    for found in on_ranks(2, lambda rank: trained("network", rank, steps=3 + rank.rank)):
        assert isinstance(found, errors.FailedPreconditionError)
        assert "steps 4, rank 0 3" in str(found)


def test_a_folder_that_a_rank_does_not_see_is_named(tmp_path: Path) -> None:
    trained("recurrent", "none", tmp_path / "seen", steps=2)

    def work(rank: Rank) -> Any:
        if rank.rank == 1:
            received = rank.broadcast
            rank.broadcast = lambda value: received(value).replace(  # type: ignore[method-assign]
                b"/seen/", b"/other/"
            )
        return trained("recurrent", rank, tmp_path / "seen")

    found = on_ranks(2, work)
    assert isinstance(found[1], errors.FailedPreconditionError), found
    assert "rank 1 does not see" in str(found[1]) and "all ranks share" in str(found[1])
    assert isinstance(found[0], errors.AbortedError)
    assert "rank 1 does not see" in str(found[0])


def test_two_trainings_in_one_folder_are_refused(tmp_path: Path) -> None:
    seen: list[BaseException] = []

    class Second(tf.train.SessionRunHook):
        def after_run(self, context: Any, values: Any) -> None:
            if not seen:
                try:
                    trained("recurrent", "none", tmp_path)
                except errors.FailedPreconditionError as error:
                    seen.append(error)

    trained("recurrent", "none", tmp_path, steps=2, hooks=[Second()])
    assert f"process {os.getpid()}" in str(seen[0])
    trained("recurrent", "none", tmp_path, steps=3)  # the folder is free again


def test_not_a_number_on_one_rank_ends_the_training_on_all(tmp_path: Path) -> None:
    def change(feed: Any) -> Any:
        def spoiled(step: int, shard: int) -> Any:
            found = dict(feed(step, shard))
            if (step, shard) == (3, 2):
                found = {key: value * np.float32(np.nan) for key, value in found.items()}
            return found

        return spoiled

    for found in results(2, "recurrent", tmp_path, change=change):
        assert isinstance(found, tf.train.NanLossDuringTrainingError)
    assert tf.train.latest_checkpoint(tmp_path).endswith("-2")


def pipelines(rank: Rank, folder: Any, **how: Any) -> Any:
    """Trains on a pipeline; how: seed of its shuffle, number and index of its shard."""
    with tf.Graph().as_default():
        rows = tf.data.Dataset.from_tensor_slices(trainings.ENDS[:, 0])
        if "index" in how:
            rows = rows.shard(how["number"], how["index"])
        rows = rows.shuffle(20, seed=how.get("seed")).repeat()
        loss = tf.reduce_mean(tf.layers.dense(rows.make_one_shot_iterator().get_next()[None], 1))
        trainer = tf.distribute.DataParallel(
            loss, tf.train.GradientDescentOptimizer(0.1), SHARDS, engine=rank
        )
        return trainer.train(folder, steps=how.get("steps", 2), progress=False)


def test_pipelines_that_differ_between_ranks_are_refused() -> None:
    """By their seed, or by their rank."""
    for work in (
        lambda rank: pipelines(rank, None, seed=None),
        lambda rank: pipelines(rank, None, seed=3, number=2, index=rank.rank),
    ):
        for found in on_ranks(2, work):
            assert isinstance(found, errors.FailedPreconditionError), found
            assert "OneShotIterator differ between the ranks at step 0" in str(found)


@pytest.mark.filterwarnings("ignore:the iterators OneShotIterator")
def test_a_pipeline_of_another_number_of_ranks_is_refused_at_the_restore(tmp_path: Path) -> None:
    on_ranks(1, lambda rank: pipelines(rank, tmp_path, seed=3, number=2, index=0))
    assert tf.train.latest_checkpoint(tmp_path) is not None
    for size in (1, 2):
        found = on_ranks(
            size, lambda rank: pipelines(rank, tmp_path, seed=3, number=3, index=0, steps=4)
        )
        for each in found:
            assert isinstance(each, (errors.FailedPreconditionError, errors.AbortedError)), each
            assert "pipelines were others" in str(each) and "shard(size, rank)" in str(each)


def test_variables_that_differ_between_ranks_are_named() -> None:
    class Change(tf.train.SessionRunHook):
        def after_run(self, context: Any, values: Any) -> None:
            state = context.session.state
            state.set("rnn/basic_lstm_cell/bias", state.get("rnn/basic_lstm_cell/bias") + 1)

    def work(rank: Rank) -> Any:
        return trained("recurrent", rank, hooks=[Change()] if rank.rank else [])

    for found in on_ranks(2, work):
        assert isinstance(found, errors.DataLossError)
        assert "rnn/basic_lstm_cell/bias" in str(found) and "at step 2" in str(found)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shards": 0}, "shards is 0"),
        ({"shards": 2.0}, "shards is 2.0"),
        ({"check_steps": 0}, "check_steps is 0"),
        ({"reduction": "max"}, "'mean' or 'sum'"),
        ({"engine": "nccl"}, "none, mpi, torch"),
        ({"timeout": 0, "engine": "none"}, "seconds above 0"),
    ],
)
def test_arguments_that_make_no_training_are_refused(options: Any, words: str) -> None:
    with tf.Graph().as_default():
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        with pytest.raises((TypeError, ValueError), match=words):
            tf.distribute.DataParallel(
                v * v, tf.train.GradientDescentOptimizer(0.1), **{"shards": 2, **options}
            )


def test_a_loss_that_changes_state_is_refused_by_the_names_of_the_operations() -> None:
    with tf.Graph().as_default():
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        counted = tf.get_variable("counted", [], trainable=False)
        loss = v * counted.assign_add(1.0, name="count")
        with pytest.raises(ValueError, match=r"rank would have another: 'count' .AssignAdd"):
            tf.distribute.DataParallel(loss, tf.train.GradientDescentOptimizer(0.1), 2)


def test_the_engine_is_that_which_started_the_process() -> None:
    from graphio.distribute.communicators.finding import engine_of

    assert engine_of({}) == "none"
    assert engine_of({"PMI_SIZE": "2"}) == engine_of({"OMPI_COMM_WORLD_SIZE": "2"}) == "mpi"
    torch = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    assert engine_of(torch) == "torch"
    assert engine_of({"RANK": "0"}) == "none"


def test_an_engine_without_its_library_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    from graphio.distribute.communicators.finding import communicator

    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ImportError, match=r"needs mpi4py .*pip install.*\[mpi\]"):
        communicator("mpi", 1.0)
