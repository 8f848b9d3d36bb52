"""R29, object stores: kills of a process that saves to S3; writers that come between each other.

python -m proofs.remote --count 1000

S3: a server runs in another process; a child saves one step after another and acknowledges each
through a pipe; SIGKILL comes after a random time. Then the newest checkpoint must be complete and
of the last acknowledged step or a later one.

Turns: two writers and a reader share a folder of memory; before each call to the store one of them
is drawn to go on, so every order of calls can come up, and in every second trial one writer stops
for ever at some call. A reader must never find a partial checkpoint, and at the end there is a
complete one of those saved.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import fsspec
import numpy as np
import object_stores
from object_stores import newest

from graphio.schema.checkpoint import write_checkpoint
from graphio.storage import remote, stores
from graphio.support import errors
from graphio.train.checkpoints.checkpoint_state import update_checkpoint_state
from proofs.slices import Mode, Result, main

Save = Callable[[str, int], None]

# ---- kills ----

#: Starts a process that saves in a loop for each line of its input, without the seconds that
#: imports take: it has not used fsspec itself, so a fork is clean.
STARTER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import object_stores, s3fs
for line in sys.stdin:
    folder, step, save = line.split()
    pid = os.fork()
    if not pid:
        break
    print("pid", pid, flush=True)
    os.waitpid(pid, 0)
    print("end", flush=True)
else:
    sys.exit()
step = int(step)
while True:
    getattr(object_stores, save)(folder, step)
    print("saved", step, flush=True)
    step += 1
"""


def kills(folder: str, endpoint: str, save: Save, seed: int, count: int) -> Result:
    """Kills a process that saves to a folder of a server that runs."""
    chance, result, acknowledged = random.Random(seed), Result(), -1
    environment = {**os.environ, **object_stores.environment(endpoint)}
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(Path(object_stores.__file__).parent)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment,
    ) as starter:  # fmt: skip
        assert starter.stdin is not None and starter.stdout is not None
        for trial in range(count):
            starter.stdin.write(f"{folder} {newest(folder) + 1} {save.__name__}\n")
            word, pid = starter.stdout.readline().split()
            assert word == "pid"
            announced = [starter.stdout.readline()]  # the first, which connects, takes its time
            time.sleep(chance.uniform(0, 0.3))
            os.kill(int(pid), signal.SIGKILL)
            announced += iter(starter.stdout.readline, "end\n")
            acknowledged = max(acknowledged, *(int(line.split()[1]) for line in announced))
            result.count("trials")
            result.count("steps saved", len(announced))
            try:
                found = newest(folder)
            except (errors.OpError, AssertionError) as error:
                result.lost.append(f"trial {trial}: {error!r}")
                break
            if found < acknowledged:
                result.lost.append(f"trial {trial}: {found} was found, {acknowledged} saved")
                break
        starter.stdin.close()
    return result


def _s3(name: str, save: Save, seed: int, count: int, data: Path) -> Result:
    with object_stores.server(name, data) as endpoint:
        options = object_stores.options(endpoint)
        with mock.patch.dict(fsspec.config.conf, {"s3": options}):
            bucket = "b" + uuid.uuid4().hex
            fsspec.filesystem("s3", use_listings_cache=False).mkdir(bucket)
            return kills(f"s3://{bucket}/run", endpoint, save, seed, count)


# ---- turns ----


class Stopped(BaseException):
    """The process that called is no more."""


class Turns:
    """Lets threads go on one at a time, drawn by chance whenever all of them wait.

    Args:
        seed: of the draws.
        victim: the thread that stops for ever; None: none does.
        last: how many calls the victim still makes.
    """

    def __init__(self, seed: int, victim: int | None, last: int) -> None:
        self._chance, self._victim, self._last = random.Random(seed), victim, last
        self._changed = threading.Condition()
        self._waiting: set[int] = set()
        self._threads: dict[int, threading.Thread] = {}
        self._turn: int | None = None
        self._me = threading.local()

    def run(self, actors: list[Callable[[], None]]) -> None:
        """Runs all actors to their ends."""
        for number, actor in enumerate(actors):
            self._threads[number] = threading.Thread(target=self._body, args=(number, actor))
        running = set(self._threads)
        for thread in self._threads.values():
            thread.start()
        while running:
            with self._changed:
                self._changed.wait_for(lambda now=running: self._waiting == now)
                self._turn = self._chance.choice(sorted(running))
                self._waiting.discard(self._turn)
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._turn is None)
                running &= self._waiting
        for thread in self._threads.values():
            thread.join()

    def _body(self, number: int, actor: Callable[[], None]) -> None:
        self._me.number = number
        try:
            self._pause()
            with contextlib.suppress(Stopped):
                actor()
        finally:
            with self._changed:
                self._turn = None
                self._changed.notify_all()

    def _pause(self) -> None:
        with self._changed:
            self._waiting.add(self._me.number)
            if self._turn == self._me.number:
                self._turn = None
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._turn == self._me.number)

    def call(self, do: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """A call to the store: others may come before it."""
        if not hasattr(self._me, "number"):
            return do(*arguments, **options)
        self._pause()
        if self._me.number == self._victim:
            self._last -= 1
            if self._last < 0:
                raise Stopped
        return do(*arguments, **options)


class InTurns:
    """fsspec's memory, called in turns."""

    def __init__(self, turns: Turns) -> None:
        self._real, self._turns = fsspec.filesystem("memory"), turns

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        return functools.partial(self._turns.call, found) if callable(found) else found


def _turns(save: Save, before: list[int], seed: int, count: int, _: Path) -> Result:
    """Two writers of two steps each."""
    chance, result = random.Random(seed), Result()
    for trial in range(count):
        folder = f"memory://{uuid.uuid4().hex}/run"
        for step in before:
            save(folder, step)
        victim = chance.choice([0, 1]) if trial % 2 else None
        turns = Turns(chance.getrandbits(64), victim, chance.randrange(60))
        try:
            _trial(turns, save, folder, result)
        except (errors.OpError, AssertionError) as error:
            result.lost.append(f"trial {trial}: {error!r}")
    return result


def _one_name(folder: str, step: int) -> None:
    """A control that must lose: the data files of every save have the same names."""
    values = {"w": np.full(20, step, np.float32)}
    write_checkpoint(f"{folder}/m", values, step=step, meta=b"graph", save_id=1)
    update_checkpoint_state(folder, f"{folder}/m")


def _trial(turns: Turns, save: Save, folder: str, result: Result) -> None:
    saved, refused, trouble = [], [], []

    def writer(steps: tuple[int, int]) -> None:
        try:
            for step in steps:
                save(folder, step)
                saved.append(step)
        except errors.AlreadyExistsError:
            refused.append(step)

    def reader() -> None:
        for _ in range(4):
            with contextlib.suppress(errors.NotFoundError):  # deleted between two looks
                newest(folder)

    def reported(actor: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                actor()
            except Exception as error:
                trouble.append(error)

        return run

    actors = [functools.partial(writer, (11, 12)), functools.partial(writer, (21, 22)), reader]
    with mock.patch.object(remote, "_file_system", lambda protocol, kind: InTurns(turns)):
        turns.run([reported(actor) for actor in actors])
    result.count("trials")
    result.count("saves", len(saved))
    result.count("refused", len(refused))
    if trouble:
        raise trouble[0]
    if saved:
        assert newest(folder) in (11, 12, 21, 22), "what was saved is not found"
    for name in stores.of_folder(folder).names():
        if name.endswith(".index"):
            object_stores.whole(stores.join(folder, name.removesuffix(".index")))


def _modes() -> Iterator[tuple[str, Mode]]:
    saves = {"by step": object_stores.save_by_step, "in place": object_stores.save_in_place}
    for how, save in saves.items():
        for server in object_stores.SERVERS:
            yield f"kills, {server}, {how}", Mode(functools.partial(_s3, server, save))
        yield f"turns, new folder, {how}", Mode(functools.partial(_turns, save, []))
        yield f"turns, old folder, {how}", Mode(functools.partial(_turns, save, [0, 1]))
    yield (
        "control: turns, one name",
        Mode(functools.partial(_turns, _one_name, [0, 1]), control=True),
    )


MODES = dict(_modes())

if __name__ == "__main__":
    sys.exit(main("R29", __doc__ or "", MODES, count=1000, slice_count=100))
