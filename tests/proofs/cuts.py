"""R3: the power of a real file system is cut at random moments; nothing acknowledged is lost.

python -m proofs.cuts          (as root, with loop devices)

A process saves in a loop on a file system in a loop-mounted image. At a random moment the file
system is shut down as fstests do it: nothing that is not on the disk gets there any more, with the
log written before (flag 1) or not (flag 2). It is unmounted, mounted again, which replays its log,
and the newest checkpoint must be of the last acknowledged step or a later one, complete, with its
graph file. The controls write in TensorFlow's way, without fsync, and must lose something.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from graphio.storage.files import FileLayer
from proofs import workload
from proofs.kills import Child, saving, survivor
from proofs.layers import through
from proofs.slices import Mode, Result, Slice, main
from proofs.workload import Lost, Trainer

SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN
FLAGS = {"log written": 1, "log lost": 2}
MEBIBYTES = {"ext4": 64, "xfs": 320, "tmpfs": 1}  # mkfs.xfs makes none below 300
QUIET = {"ext4": ["-F", "-q", "-m", "0"], "xfs": ["-f", "-q"]}
KINDS = ("ext4", "xfs")
ROUND = 50  # trials on one file system
SPAN = 0.15  # seconds, the longest time before a cut


class NoSync(FileLayer):
    """Renames, and never waits for the disk."""

    def fsync(self, handle: int) -> None:
        """Nothing."""

    def sync_folder(self, path: str) -> None:
        """Nothing."""


class Disk:
    """A file system in an image on a loop device, or in memory, and where it is mounted."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.image, self.point = kind, folder / f"{kind}.image", folder / kind
        self.point.mkdir()
        self._device = ""

    @contextlib.contextmanager
    def mounted(self) -> Iterator[Path]:
        """A new file system, mounted."""
        if self.kind != "tmpfs":
            with open(self.image, "wb") as file:
                file.truncate(MEBIBYTES[self.kind] << 20)
            self._device = _run("losetup", "--find", "--show", self.image).strip()
        try:
            if self.kind != "tmpfs":
                _run(f"mkfs.{self.kind}", *QUIET[self.kind], self._device)
            self.mount()
            try:
                yield self.point
            finally:
                self.unmount()
        finally:
            if self.kind != "tmpfs":
                _run("losetup", "--detach", self._device)

    def mount(self) -> None:
        """Mounts it; its log is replayed."""
        if self.kind == "tmpfs":
            size = f"size={MEBIBYTES[self.kind]}m"
            _run("mount", "-t", "tmpfs", "-o", size, "none", self.point)
        else:
            _run("mount", "-t", self.kind, self._device, self.point)

    def unmount(self) -> None:
        """Unmounts it; the system may need a moment to let go of what a killed process held."""
        for _ in range(100):
            with contextlib.suppress(OSError):
                _run("umount", self.point)
                return
            time.sleep(0.05)
        _run("umount", self.point)

    def shut_down(self, flag: int) -> None:
        """Cuts its power."""
        handle = os.open(self.point, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, SHUTDOWN, struct.pack("<I", flag))
        finally:
            os.close(handle)


def _run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


@functools.cache
def why_not(kind: str) -> str | None:
    """Why this proof cannot run here; None: it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "power cuts need root"
    if kind != "tmpfs" and shutil.which(f"mkfs.{kind}") is None:
        return f"there is no mkfs.{kind}"
    with tempfile.TemporaryDirectory() as folder:
        disk = Disk(kind, Path(folder))
        try:
            with disk.mounted():
                if kind != "tmpfs":
                    disk.shut_down(2)
        except OSError as error:
            return f"no {kind} can be mounted and shut down here: {error}"
    return None


def cuts(kind: str, flag: int, unsafe: bool = False) -> Slice:
    """Trials on one kind of file system; the way of saving goes with the seed."""

    def run(seed: int, count: int, folder: Path) -> Result:
        trouble = why_not(kind)
        if trouble:
            raise SystemExit(f"R3: {trouble}")
        options = list(workload.MODES.values())
        trainer = Trainer(options[seed % len(options)])
        chance, result, disk = random.Random(seed), Result(), Disk(kind, folder)
        while result.counts.get("cuts", 0) < count:
            with disk.mounted() as point:
                for _ in range(min(ROUND, count - result.counts.get("cuts", 0))):
                    result.count("cuts")
                    try:
                        _trial(trainer, disk, point / "run", flag, unsafe, chance)
                    except Lost as lost:
                        result.lost.append(f"{trainer.options}: {lost}")
                        shutil.rmtree(point / "run", ignore_errors=True)
        return result

    return run


def _trial(
    trainer: Trainer, disk: Disk, folder: Path, flag: int, unsafe: bool, chance: random.Random
) -> None:
    """One cut; raises Lost."""
    folder.mkdir(exist_ok=True)
    with Child(_writing(trainer, unsafe), folder) as child:
        if unsafe or chance.random() < 0.5:
            child.await_first()
        time.sleep(chance.uniform(0, SPAN))
        # A machine without power acknowledges nothing: stopped, it cannot see the fsync of XFS that
        # says yes of a folder whose log has just been given up.
        child.stop()
        disk.shut_down(flag)
        child.kill()
    disk.unmount()
    disk.mount()
    if not folder.exists() and child.acknowledged < 0:
        return
    with Child(lambda where, tell: tell(survivor(trainer, where)), folder) as reader:
        pass
    if reader.trouble:
        raise Lost(reader.trouble)
    if reader.acknowledged < child.acknowledged:
        raise Lost(
            f"step {reader.acknowledged} was found, step {child.acknowledged} was acknowledged"
        )


def _writing(trainer: Trainer, unsafe: bool) -> Callable[[Path, Callable[[int], None]], None]:
    loop = saving(trainer)
    if not unsafe:
        return loop

    def without_sync(folder: Path, acknowledge: Callable[[int], None]) -> None:
        with through(NoSync()):
            loop(folder, acknowledge)

    return without_sync


MODES = {
    **{f"{kind}, {name}": Mode(cuts(kind, flag)) for kind in KINDS for name, flag in FLAGS.items()},
    **{
        f"control: {kind}, {name}, nothing synced": Mode(cuts(kind, flag, True), control=True)
        for kind in KINDS
        for name, flag in FLAGS.items()
    },
}

if __name__ == "__main__":
    sys.exit(main("R3", __doc__ or "", MODES, count=500, slice_count=100))
