"""Proofs R5 and R6 in short: damaged and forged files are errors, in Python and in C."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import engines
import pytest
from proofs import flips, positions, programs, slices, truncations, untrusted, victims

from graphio.support import errors

#: every bit where that is fast; in Python each byte, another of its bits each time
STEP = {"cinfer": 1, "runtime": 9}


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory: files are written and truncated thousands of times."""
    with tempfile.TemporaryDirectory(dir=slices.memory()) as made:
        yield Path(made)


@pytest.fixture
def prefix(folder: Path) -> Path:
    """A checkpoint of everything."""
    victims.write(folder / "c")
    return folder / "c"


@pytest.fixture(params=engines.NAMES)
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    engines.module(name)
    return name


def all_refused(tally: victims.Tally, least: int) -> None:
    assert tally.taken == []
    assert tally.refused == tally.tried >= least


@pytest.mark.parametrize("reader", victims.READERS)
def test_flipped_bits_of_a_checkpoint_are_refused(reader: str, prefix: Path) -> None:
    engines.module("cinfer")
    step = STEP.get(reader, 41)
    all_refused(flips.of_a_checkpoint(reader, prefix, step), 40_000 // step)


def test_flipped_bits_of_a_checkpoint_written_by_c_are_refused(engine: str, folder: Path) -> None:
    engines.module("cinfer")
    flips.written_by_c(folder / "c", 3)
    all_refused(flips.of_a_checkpoint(engine, folder / "c", 23), 1_500)


def test_every_flipped_bit_of_a_model_is_refused(engine: str) -> None:
    all_refused(flips.of_a_bundle(engine, victims.bundle(1)), 40_000)


def test_every_flipped_bit_of_a_state_file_leaves_the_newest_checkpoint(folder: Path) -> None:
    tally = flips.of_the_state_file(folder)
    assert tally.taken == []
    assert 2_000 < tally.refused < tally.tried


def test_flipped_bits_of_large_files_are_refused(folder: Path) -> None:
    engines.module("cinfer")
    for mode, readers in ((flips.large, victims.READERS), (flips.large_bundle, engines.NAMES)):
        found = mode(1, 1, folder)
        assert found.lost == []
        assert {found.counts[f"by {name}"] for name in readers} == {100}
        assert found.counts["refused"] == found.counts["flips"] == 100 * len(readers)


def test_truncations_and_trailing_bytes_of_a_checkpoint_are_refused(
    engine: str, prefix: Path
) -> None:
    all_refused(truncations.of_a_checkpoint(engine, prefix, 1, STEP[engine]), 1_000)


def test_every_truncation_and_trailing_bytes_of_a_model_are_refused(engine: str) -> None:
    all_refused(truncations.of_a_bundle(engine, victims.bundle(1), 1), 4_000)


def test_every_truncation_of_a_state_file_leaves_the_newest_checkpoint(folder: Path) -> None:
    tally = truncations.of_the_state_file(folder, 1)
    assert tally.taken == []
    assert 300 < tally.refused < tally.tried


def test_splices_of_two_checkpoints_are_refused(engine: str, folder: Path) -> None:
    for _, a, b in truncations.pairs(folder, 1):
        all_refused(truncations.spliced(engine, a, b), 50)


@pytest.mark.parametrize("case", [*untrusted.CASES, *untrusted.VALUES])
def test_a_forged_checkpoint_is_refused(engine: str, case: str, prefix: Path) -> None:
    all_refused(untrusted.case(engine, prefix, case), 1)


def test_both_engines_take_the_same_changed_indexes(prefix: Path) -> None:
    engines.module("cinfer")
    tally = untrusted.mutated(prefix, 1, 500)
    assert tally.taken == []
    assert 400 < tally.refused < tally.tried


@pytest.mark.parametrize("pipeline", programs.PIPELINES)
def test_changed_positions_of_an_iterator_neither_hang_nor_escape(pipeline: str) -> None:
    """They are refused with words, or the iterator goes on; never a bare error of Python's."""
    tally = positions.of_pipeline(pipeline, 1, 20)
    assert tally.taken == []
    assert 0 < tally.refused < tally.tried == 20


def test_a_file_that_loads_in_spite_of_its_damage_is_reported(prefix: Path) -> None:
    tally = flips.of_a_file(lambda: None, prefix.with_suffix(".index"), [0, 9])
    assert (tally.tried, tally.refused, tally.taken) == (2, 0, [".index, bit 0", ".index, bit 9"])


def test_a_missing_file_says_so(engine: str, tmp_path: Path) -> None:
    load = engines.module(engine).load
    with pytest.raises(errors.NotFoundError, match="nowhere"):
        load(str(tmp_path / "nowhere.gio"))
    (tmp_path / "folder.gio").mkdir()
    with pytest.raises(errors.OpError, match=r"folder\.gio"):
        load(str(tmp_path / "folder.gio"))
