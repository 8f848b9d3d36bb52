"""Builds the page that reads digits drawn by hand: cinfer as WebAssembly, and a model.

    python examples/browser/build.py [FOLDER] [--model demo/digits.gio] [--clang clang-14]
    python -m http.server -d FOLDER

Without a model it trains the one of examples/digits, which takes seconds. On Debian the compiler is
the packages clang, lld, wasi-libc and libclang-rt-14-dev-wasm32.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from graphio.model.size_reduction import reduced

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CINFER = ROOT / "cinfer"
PAGE = ("index.html", "digits.js")
#: A library, not a program, without threads and files; -Os measures as fast as -O2. All browsers of
#: today have the vector instructions, so the code for others stays out.
FLAGS = (
    "--target=wasm32-wasi", "-mexec-model=reactor", "-Os", "-msimd128", "-Wl,--strip-all",
    "-DCI_NO_PORTABLE", "-DCI_STATIC", "-DCI_SMALL", "-DCI_NO_FILES", "-DCI_NO_THREADS",
    "-DCI_FAMILIES=CI_INFERENCE", f"-I{CINFER / 'include'}",
)  # fmt: skip


def compile_command(clang: str) -> list[str]:
    """The command that compiles digits.c and the library to one .wasm file, without "-o NAME"."""
    sources = (HERE / "digits.c", CINFER / "cinfer.c")
    return [clang, *FLAGS, *map(str, sources), "-lm"]


def write_model(target: Path, source: Path | None) -> None:
    """Writes the signature "predict" of a trained model, its variables as constants."""
    with tempfile.TemporaryDirectory() as folder:
        trained = source or train(Path(folder))
        model = reduced(trained.read_bytes(), signatures=["predict"], freeze=True, strip=True)
    target.write_bytes(model)


def train(folder: Path) -> Path:
    """The model of examples/digits."""
    program = ROOT / "examples" / "digits" / "train.py"
    command = [sys.executable, str(program), str(folder), "--engine", "cinfer"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "digits.gio"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build" / "browser")
    parser.add_argument("--model", type=Path, help="a digits.gio; none: one is trained")
    parser.add_argument("--clang", default="clang", help="the compiler")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    program = given.folder / "digits.wasm"
    subprocess.run([*compile_command(given.clang), "-o", str(program)], check=True)
    write_model(given.folder / "digits.gio", given.model)
    for name in PAGE:
        shutil.copy(HERE / name, given.folder)
    print(f"python -m http.server -d {given.folder}")


if __name__ == "__main__":
    main()
