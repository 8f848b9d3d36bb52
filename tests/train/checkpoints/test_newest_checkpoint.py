"""The newest checkpoint of a folder without its list; checkpoints and models of newer versions."""

from __future__ import annotations

import errno
import itertools
import os
import struct
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import c_programs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio import cinfer
from graphio.schema import checkpoint, checkpoint_index, container
from graphio.schema.checkpoint_pb2 import CheckpointIndex
from graphio.schema.crc32c import crc32c
from graphio.schema.model_pb2 import Model
from graphio.support import errors


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.Variable([1.0], name="v")
        yield


def put(folder: Path, name: str, step: int | None, time: int = 1000, mtime: int = 0) -> Path:
    """A checkpoint whose index has this step and time, and whose file this time in nanoseconds."""
    checkpoint.write_checkpoint(folder / name, {}, step=step, time=time)
    os.utime(folder / f"{name}.index", ns=(mtime, mtime))
    return folder / name


def latest(folder: Path) -> str:
    """The name of the newest, without the warning that the list is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = tf.train.latest_checkpoint(folder)
    assert found is not None
    return os.path.basename(found)


def latest_in_c(folder: Path) -> str:
    """Likewise, what the C library restores; "" for none."""
    program = c_programs.build(Path(__file__).with_name("newest_checkpoint.c"))
    done = subprocess.run([program, folder], capture_output=True, text=True, check=True)
    status, _, text = done.stdout.rstrip("\n").partition(" ")
    if status != "0":
        raise errors.from_code(int(status), text)
    return text


def of_later_version(prefix: Path, *, major: int = 1, minor: int = 0, flags: int = 0) -> None:
    """Makes a checkpoint's header that of a later version, complete and with its checksum."""
    path = Path(f"{prefix}.index")
    data = bytearray(path.read_bytes())
    struct.pack_into("<HHI", data, 8, major, minor, flags)
    struct.pack_into("<I", data, 28, crc32c(bytes(data[:28])))
    path.write_bytes(data)


LATER = [{"major": 2}, {"flags": 1}, {"major": 9, "minor": 9, "flags": 8}]


# ---- which is the newest ----


def test_the_step_decides_before_the_time(tmp_path: Path) -> None:
    put(tmp_path, "late", 3, time=9000)
    put(tmp_path, "far", 20, time=1000)
    put(tmp_path, "near", 4, time=5000)
    assert latest(tmp_path) == "far"


def test_one_without_a_step_comes_before_step_0(tmp_path: Path) -> None:
    put(tmp_path, "none", None, time=9000)
    put(tmp_path, "first", 0, time=1000)
    assert latest(tmp_path) == "first"


def test_within_one_second_the_time_of_the_file_decides(tmp_path: Path) -> None:
    for order in itertools.permutations(range(3)):
        for number, moment in enumerate(order):
            put(tmp_path, f"m{number}", 7, mtime=1_000_000_000_000_000_000 + moment * 10**6)
        assert latest(tmp_path) == f"m{order.index(2)}"


class Lying(NamedTuple):
    """A checkpoint of a folder: what is wrong with it, and its age."""

    state: str
    step: int | None
    time: int
    mtime: int

    def put(self, folder: Path, name: str) -> None:
        prefix = put(folder, name, self.step, self.time, self.mtime)
        if self.state == "newer":
            of_later_version(prefix, major=2)
        if self.state == "damaged":
            damage(prefix)
        if self.state == "of another program":
            Path(f"{prefix}.index").write_bytes(b"abc")


def outcome(look: Any, folder: Path) -> str:
    """The result of looking for the newest: a name, or the class of its error."""
    try:
        return str(look(folder))
    except errors.OpError as error:
        return type(error).__name__


def expected(lying: dict[str, Lying]) -> str:
    """The rule of schema/README.md for a folder that has data files."""
    if any(one.state == "newer" for one in lying.values()):
        return "UnimplementedError"
    ages = {
        (-1 if one.step is None else one.step, one.time, one.mtime, name): name
        for name, one in lying.items()
        if one.state == "whole"
    }
    return ages[max(ages)] if ages else "DataLossError"


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.builds(
            Lying,
            st.sampled_from(["whole", "whole", "whole", "damaged", "newer", "of another program"]),
            st.sampled_from([None, 0, 1, 2]),
            st.sampled_from([5, 6]),
            st.sampled_from([10**18, 10**18 + 10**7]),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_both_engines_choose_the_same(lying: list[Lying]) -> None:
    named = {f"m{number}": one for number, one in enumerate(lying)}
    with tempfile.TemporaryDirectory() as folder:
        for name, one in named.items():
            one.put(Path(folder), name)
        found = [outcome(look, Path(folder)) for look in (latest, latest_in_c)]
        assert found == [expected(named)] * 2


# ---- checkpoints of newer versions ----


@pytest.mark.parametrize("header", LATER)
def test_a_checkpoint_of_a_later_version_is_distinguished_from_damage(
    header: dict[str, int], tmp_path: Path
) -> None:
    prefix = put(tmp_path, "m", 1)
    of_later_version(prefix, **header)
    model = cinfer.load(container.pack(Model(), []))
    saver, session = tf.train.Saver(), tf.Session()
    readers = [
        lambda: tf.train.verify(prefix),
        lambda: tf.train.verify(tmp_path, all=True),
        lambda: tf.train.list_checkpoint(prefix),
        lambda: tf.train.list_variables(str(prefix)),
        lambda: tf.train.list_variables(str(tmp_path)),
        lambda: tf.train.load_checkpoint(str(prefix)),
        lambda: tf.train.latest_checkpoint(tmp_path),
        lambda: tf.train.restore_latest(saver, session, tmp_path, fall_back=True),
        lambda: saver.restore(session, str(prefix)),
        lambda: model.state.restore(prefix),
        lambda: latest_in_c(tmp_path),
        lambda: tf.train.diff_checkpoints(prefix, prefix),
    ]
    for number, read in enumerate(readers):
        with pytest.raises(
            errors.UnimplementedError, match=r"written by a newer graphio"
        ) as reported:
            read()
        assert "damaged" not in str(reported.value).replace("not damaged", ""), number


def test_what_a_later_minor_version_has_added_is_no_damage(tmp_path: Path) -> None:
    prefix = put(tmp_path, "m", 1)
    index = CheckpointIndex.FromString(
        checkpoint_index.unwrap(Path(f"{prefix}.index").read_bytes())
    )
    index.resource.add(name="x")  # of a kind that this version does not know
    Path(f"{prefix}.index").write_bytes(checkpoint_index.wrap(index.SerializeToString()))
    with pytest.raises(errors.DataLossError, match="has no state"):
        tf.train.verify(prefix)
    of_later_version(prefix, minor=7)
    model = cinfer.load(container.pack(Model(), []))
    for read in (tf.train.verify, model.state.restore):
        with pytest.raises(errors.UnimplementedError, match=r"newer graphio.* 1\.7"):
            read(prefix)


def test_a_later_minor_version_that_adds_nothing_is_read(tmp_path: Path) -> None:
    prefix = put(tmp_path, "m", 1)
    of_later_version(prefix, minor=7)
    assert tf.train.verify(prefix).files == 2


def test_damage_and_newer_versions_are_listed_apart(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        put(tmp_path, f"m-{step}", step)
    of_later_version(tmp_path / "m-2", major=2)
    damage(tmp_path / "m-3")
    with pytest.raises(errors.DataLossError) as reported:
        tf.train.verify(tmp_path, all=True)
    lines = str(reported.value).splitlines()
    assert lines[0] == "1 of 3 checkpoints damaged:" and "m-3" in lines[1]
    assert lines[2] == "1 of 3 checkpoints not checked:" and "m-2" in lines[3]


def test_a_model_of_a_later_minor_version_that_does_not_fit_is_no_damage() -> None:
    model = Model()
    model.tensor.add(stored=False)
    with pytest.raises(errors.UnimplementedError, match=r"newer graphio.* 1\.3"):
        container.unpack(model_file(model.SerializeToString(), 3))


def model_file(graph: bytes, minor: int) -> bytes:
    """A model file of version 1 with this graph section, whose checksums are right."""
    start = (container.HEADER + len(graph) + 63) // 64 * 64
    numbers = (1, minor, 0, len(graph), start, 0, crc32c(graph), b"")
    fields = struct.pack("<8sHHIQQQI16s", container.MAGIC, *numbers)
    whole = fields + struct.pack("<I", crc32c(fields)) + graph
    return whole + bytes(start - len(whole))


def test_c_tells_what_a_later_minor_version_of_models_has_added_from_damage() -> None:
    two = Model()
    two.graph.SetInParent()
    two.signature.add(name="s", input=[])
    graph = two.SerializeToString() + two.SerializeToString()  # two graphs, which no writer makes
    for minor, kind in ((0, errors.DataLossError), (3, errors.UnimplementedError)):
        with pytest.raises(kind):
            cinfer.load(model_file(graph, minor))


def test_a_list_of_a_newer_graphio_is_reported_as_such(tmp_path: Path) -> None:
    put(tmp_path, "m-1", 1)
    text = b'model_checkpoint_path: "m-1"\nruns { name: "a" }\n'
    (tmp_path / "checkpoint").write_bytes(text + b"# crc32c: %08x\n" % crc32c(text))
    with pytest.warns(UserWarning, match="a newer graphio wrote"):
        assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "m-1")


# ---- never from the beginning over what is there ----


def damage(prefix: Path) -> None:
    """Changes a byte of an index."""
    path = Path(f"{prefix}.index")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def trained(folder: Path, steps: int) -> list[float]:
    """The variable's value after tf.train.train."""
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=0.0)
        tf.train.train(v.assign_add(1.0), folder, steps, progress=False, asynchronous=False)
        saver, session = tf.train.Saver([v]), tf.Session()
        saver.restore(session, tf.train.latest_checkpoint(folder))
        return float(session.run(v))


def monitored(folder: Path) -> None:
    """Begins a training as MonitoredTrainingSession does."""
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=0.0)
        tf.train.get_or_create_global_step()
        with tf.train.MonitoredTrainingSession(checkpoint_dir=str(folder)) as session:
            session.run(v)


@pytest.mark.parametrize("begin", [lambda folder: trained(folder, 5), monitored])
@pytest.mark.parametrize("listed", [True, False])
def test_no_training_begins_anew_over_a_newer_checkpoint(
    begin: Any, listed: bool, tmp_path: Path
) -> None:
    assert trained(tmp_path, 3) == 3.0
    of_later_version(tmp_path / "model.ckpt-3", major=2)
    if not listed:
        (tmp_path / "checkpoint").unlink()
    before = sorted((path.name, path.read_bytes()) for path in tmp_path.glob("model*"))
    with pytest.raises(errors.UnimplementedError, match="newer graphio"):
        begin(tmp_path)
    assert sorted((path.name, path.read_bytes()) for path in tmp_path.glob("model*")) == before


def test_checkpoints_that_are_all_damaged_are_an_error_in_both_engines(tmp_path: Path) -> None:
    put(tmp_path, "m-1", 1)
    put(tmp_path, "m-2", 2)
    damage(tmp_path / "m-2")
    assert latest(tmp_path) == latest_in_c(tmp_path) == "m-1"
    (tmp_path / "m-1.index").write_bytes(b"")
    with pytest.raises(errors.DataLossError, match=r"m-1'.*m-2'.*To start again"):
        tf.train.latest_checkpoint(tmp_path)
    with pytest.raises(errors.DataLossError, match="damaged"):
        latest_in_c(tmp_path)


def test_files_of_others_that_are_called_like_an_index_are_no_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "words.index").write_bytes(b"abc")
    (tmp_path / "folder.index").mkdir()
    assert tf.train.latest_checkpoint(tmp_path) is None and latest_in_c(tmp_path) == ""


def test_a_folder_that_cannot_be_looked_at_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "m-1", 1)
    system = os.listdir

    def refused(path: str) -> list[str]:
        if str(path) == str(tmp_path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return system(path)

    monkeypatch.setattr(os, "listdir", refused)
    with pytest.raises(errors.UnavailableError, match="Permission denied"):
        tf.train.latest_checkpoint(tmp_path)
