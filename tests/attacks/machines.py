"""The same attacks on every build and machine: cinfer/tests/attack.c prints the same lines (S11).

    cd tests && python -m attacks.machines [--share N] [--only NAME ...]

The pack holds the named attacks and the generated ones, or one in N. The first build is what the
others are compared with. The exit status is 1 if a program fails or prints another line; but one of
32 bits may refuse sizes of 2^41 next to 0 (RESOURCE_EXHAUSTED), which it cannot even count.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attacks import changes, generated, graphs, values, wire  # noqa: F401 - they register attacks
from attacks.named import NAMED
from graphio.schema import dtypes

Array = np.ndarray[Any, Any]
CINFER = Path(__file__).resolve().parent.parent.parent / "cinfer"
CLANG = next((c for c in ("clang-14", "clang", "clang-19") if shutil.which(c)), "clang")
#: runs a program of wasm32-wasi with the folder of its pack
WASI = """
const { WASI } = require('node:wasi'), fs = require('node:fs'), path = require('node:path');
const [program, pack] = process.argv.slice(1);
const wasi = new WASI({ version: 'preview1', args: ['attack', '/pack/' + path.basename(pack)],
                        preopens: { '/pack': path.dirname(pack) } });
(async () => {
  const made = await WebAssembly.instantiate(fs.readFileSync(program), wasi.getImportObject());
  process.exitCode = wasi.start(made.instance);
})();
"""


class Build(NamedTuple):
    """How the program is built, what runs it, and the bits of its addresses."""

    compiler: str
    flags: tuple[str, ...]
    runner: tuple[str, ...] = ()
    bits: int = 64


STATIC = ("-O2", "-static")
BUILDS = {
    "plain": Build("cc", ("-O1",)),
    "NDEBUG -O3": Build("cc", ("-O3", "-DNDEBUG", "-ffp-contract=off")),
    "clang": Build(CLANG, ("-O2",)),
    "i686": Build("i686-linux-gnu-gcc", (*STATIC, "-msse2", "-mfpmath=sse"), ("qemu-i386",), 32),
    "armhf": Build("arm-linux-gnueabihf-gcc", STATIC, ("qemu-arm",), 32),
    "aarch64": Build("aarch64-linux-gnu-gcc", STATIC, ("qemu-aarch64",)),
    "s390x": Build("s390x-linux-gnu-gcc", STATIC, ("qemu-s390x",)),
    "wasm32": Build(
        CLANG,
        (
            "--target=wasm32-wasi",
            "--sysroot=/usr",
            "-O1",
            "-Wl,-z,stack-size=1048576",
            "-Wl,--initial-memory=536870912",
        ),
        ("node", "--no-warnings", "-e", WASI, "--"),
        32,
    ),
}


def available(name: str) -> bool:
    """Whether compiler and runner are there."""
    build = BUILDS[name]
    return all(shutil.which(tool) for tool in (build.compiler, *build.runner[:1]))


def compiled(name: str, folder: Path) -> Path:
    """The program of a build."""
    build, program = BUILDS[name], folder / name.replace(" ", "_")
    command = [build.compiler, *build.flags, f"-I{CINFER / 'include'}", "-o", str(program)]
    command += [str(CINFER / "tests" / "attack.c"), str(CINFER / "cinfer.c")]
    threads = [] if "wasm" in name else ["-pthread"]
    subprocess.run([*command, *threads, "-lm"], check=True)
    return program


def lines(name: str, program: Path, pack: Path) -> list[str]:
    """The lines that the program of a build prints for a pack."""
    command = [*BUILDS[name].runner, str(program), str(pack)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.returncode} {done.stderr[-2000:].decode()}")
    return done.stdout.decode("utf-8", "replace").splitlines()


# ---- the pack ----


def named() -> Iterator[tuple[str, bytes, list[Array]]]:
    """Name, file and feeds of the named attacks."""
    for attack in NAMED.values():
        yield attack.name, attack.file(), list(attack.feeds.values())


def sampled(share: int) -> Iterator[tuple[str, bytes, list[Array]]]:
    """One in so many of the generated attacks."""
    for number, each in enumerate(generated.chosen(generated.arguments(["--share", str(share)]))):
        changed = each.subject.copy()
        each.attack.change(changed)
        order = [binding.key for binding in changed.builder.model.signature[0].input]
        feeds = [changed.feeds[key] for key in order]
        yield f"{number} {each}", changed.builder.bytes(), feeds


def packed(attacks: Iterable[tuple[str, bytes, list[Array]]]) -> bytes:
    """The pack that attack.c reads."""
    parts = []
    for name, file, feeds in attacks:
        text = name.encode()
        parts.append(struct.pack("<I", len(text)) + text + struct.pack("<Q", len(file)) + file)
        parts.append(struct.pack("<I", len(feeds)) + b"".join(map(_feed, feeds)))
    return b"GIOATTAK" + struct.pack("<I", len(parts) // 2) + b"".join(parts)


def _feed(x: Array) -> bytes:
    head = struct.pack(f"<ii{x.ndim}q", dtypes.of_numpy(x.dtype).number, x.ndim, *x.shape)
    if x.dtype == object:
        strings = x.reshape(-1).tolist()
        data = b"".join(struct.pack("<Q", len(text)) + text for text in strings)
    else:
        data = np.ascontiguousarray(x, x.dtype.newbyteorder("<")).tobytes()
    return head + struct.pack("<Q", len(data)) + data


# ---- the comparison ----


def _is_size(name: str, line: str) -> bool:
    """Whether a machine of 32 bits says that what has no elements is too large for it."""
    huge = BUILDS[name].bits == 32 and str(changes.MANY) in line
    return huge and line.split(" ")[2] == "8"


def differences(found: Mapping[str, list[str]]) -> list[str]:
    """Lines that are not those of the first build."""
    first, *others = found
    wrong = []
    for name in others:
        for a, b in itertools.zip_longest(found[first], found[name], fillvalue="nothing"):
            if a != b and not _is_size(name, b):
                wrong.append(f"{first}: {a}\n{name}: {b}")
    return wrong


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--share", type=int, default=1, help="generated attacks: one in so many")
    parser.add_argument("--only", nargs="+", default=list(BUILDS), help="these builds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pack = Path(folder) / "pack"
        pack.write_bytes(packed(itertools.chain(named(), sampled(options.share))))
        found = {}
        for name in options.only:
            if not available(name):
                print(f"{name}: no compiler or emulator here", flush=True)
                continue
            found[name] = lines(name, compiled(name, Path(folder)), pack)
            print(f"{name}: {len(found[name])} models", flush=True)
    wrong = differences(found)
    print("\n".join(wrong[:20]))
    print(f"{len(found)} builds, {len(wrong)} lines differ")
    return 1 if wrong or len(found) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
