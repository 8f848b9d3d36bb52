"""The machines, compilers and flags of tools/bits_matrix.py: how a program is made and run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CINFER = ROOT / "cinfer"
TESTS = CINFER / "tests"
C11 = ("-std=c11", "-ffp-contract=off")

X86 = ("portable", "avx2", "avx512")
ARM = ("portable", "neon")
WASM = ("portable", "simd128")
PLAIN = ("portable",)
ROUNDINGS = ("usual", "up", "down", "zero")
ALL_MODES = ("usual", "flush", "up", "down", "zero")
#: leaves out files, which a microcontroller lacks, and so checkpoints, which need them
BOARD_FLAGS = ("-DCI_NO_FILES", "-DCI_NO_THREADS", "-ffunction-sections", "-fdata-sections")
BOARD_LINK = ("-nostartfiles", "--specs=nosys.specs", "-Wl,--gc-sections",
              f"-T{TESTS / 'board.ld'}", "-lm")  # fmt: skip
QEMU_BOARD = ("qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none",
              "-serial", "none", "-chardev", "stdio,id=said",
              "-semihosting-config", "enable=on,target=native,chardev=said", "-kernel")  # fmt: skip
CORTEX_M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")


class Build(NamedTuple):
    """A row: its compiler and flags, what runs the program, and what must be there."""

    name: str
    compiler: str
    flags: tuple[str, ...]
    one_file: bool = True
    runner: tuple[str, ...] = ()
    isas: tuple[str, ...] = PLAIN
    modes: tuple[str, ...] = ALL_MODES
    threads: int = 2
    libraries: tuple[str, ...] = ("-lm", "-pthread")
    suffix: str = ""
    board: bool = False

    @property
    def tools(self) -> set[str]:
        return {self.compiler, *self.runner[:1]}


def linux(name: str, target: str, emulator: str, **more: object) -> Build:
    """A Linux machine in an emulator of its processor."""
    flags = ("-Os", "-static", *more.pop("flags", ()))  # type: ignore[misc]
    return Build(name, f"{target}-gcc", flags, runner=(emulator,), **more)  # type: ignore[arg-type]


def wasm(name: str, *flags: str, isas: tuple[str, ...] = PLAIN) -> Build:
    """WebAssembly has neither threads nor environments; node runs it."""
    return Build(
        name, "clang-14", ("--target=wasm32-wasi", "-O2", *flags),
        runner=("node", "--no-warnings", str(TESTS / "wasi.mjs")),
        modes=("usual",), threads=1, libraries=("-lm",), suffix=".wasm", isas=isas,
    )  # fmt: skip


BUILDS = (
    Build("x86-64 gcc", "gcc", ("-O2", *C11), False, isas=X86),
    Build("x86-64 gcc -O3, contraction on", "gcc", ("-O3", "-ffp-contract=fast"), False, isas=X86),
    Build("x86-64 clang", "clang", ("-O2", *C11), False, isas=X86),
    Build("x86-64 clang, one file", "clang", ("-O2",), isas=X86),
    Build("x86-64 cc, one file", "cc", ("-O2",), isas=X86),
    Build("x86-64 musl", "musl-gcc", ("-Os", "-static"), isas=X86),
    Build("x86-64 tcc", "tcc", (), threads=1, libraries=("-lm",)),
    Build("i686 gcc, SSE2", "i686-linux-gnu-gcc", ("-O2", "-static", "-msse2", "-mfpmath=sse")),
    linux("aarch64 gcc", "aarch64-linux-gnu", "qemu-aarch64", isas=ARM),
    linux("armhf gcc", "arm-linux-gnueabihf", "qemu-arm"),
    linux("riscv64 gcc", "riscv64-linux-gnu", "qemu-riscv64", modes=ROUNDINGS),
    linux("s390x gcc", "s390x-linux-gnu", "qemu-s390x", modes=ROUNDINGS),
    linux("s390x gcc -std=c11", "s390x-linux-gnu", "qemu-s390x", modes=ROUNDINGS, one_file=False,
          flags=C11),
    wasm("wasm32 clang"),
    wasm("wasm32 clang, simd128", "-msimd128", isas=WASM),
    Build("Windows x64 mingw", "x86_64-w64-mingw32-gcc", ("-O2", "-static", "-fno-math-errno"),
          runner=("wine",), isas=X86, threads=1, libraries=("-lbcrypt",), suffix=".exe"),
    Build("Cortex-M4 gcc", "arm-none-eabi-gcc", ("-Os", *CORTEX_M4, *BOARD_FLAGS),
          runner=QEMU_BOARD,
          threads=1, suffix=".elf", board=True, libraries=BOARD_LINK),
)  # fmt: skip


#: Defects of a compiler's own library, by build and signature: reported, but not compared.
DEFECTS = {
    ("Cortex-M4 gcc", "families/functions_of_double"): "libgcc for ARM without doubles in hardware "
    "rounds about half of the sums wrongly whose terms' exponents differ by 33"
}


class Data(NamedTuple):
    """A model and its inputs, both in the folder where programs run."""

    name: str
    model: Path
    inputs: Path
    modes: bool = False


def chosen(only: Sequence[str] | None) -> list[Build]:
    """The builds to make; one whose compiler or emulator is not there is an error."""
    builds = [b for b in BUILDS if not only or any(word in b.name for word in only)]
    missing = sorted(tool for b in builds for tool in b.tools if not shutil.which(tool))
    if missing:
        raise SystemExit(
            f"bits_matrix: {', '.join(dict.fromkeys(missing))} not found; .ci/run shows the "
            "packages. --only leaves builds out"
        )
    return builds


def sources(one_file: bool) -> list[str]:
    """Files to compile: the parts, or the file that includes them."""
    if one_file:
        return [str(CINFER / "cinfer.c")]
    return sorted(map(str, CINFER.glob("src/**/*.c")))


def command_of(build: Build, *more: str) -> list[str]:
    defines = [f"-I{CINFER / 'include'}", "-DCI_STATIC"]
    return [build.compiler, *build.flags, *defines, *more]


def compile_program(build: Build, folder: Path, data: Sequence[Data], repeats: int) -> Path:
    """The program of a build; a failing compiler ends everything."""
    stem = "".join(c if c.isalnum() else "_" for c in build.name)
    program = folder / f"{stem}{build.suffix}"
    inputs = [str(TESTS / ("bits_board.c" if build.board else "bits.c")), *sources(build.one_file)]
    objects = [str(folder / f"{stem}_{i}.o") for i in range(len(inputs))]
    for source, made in zip(inputs, objects, strict=True):
        subprocess.run(command_of(build, "-c", source, "-o", made), check=True)
    if build.board:
        table = folder / "board_models.s"
        table.write_text(board_table(data, repeats))
        objects.append(str(table))
    subprocess.run(command_of(build, *objects, *build.libraries, "-o", str(program)), check=True)
    return program


def board_table(data: Sequence[Data], repeats: int) -> str:
    """The arrays of bits_board.c, as an assembler takes them in."""
    text = [".section .rodata"]
    rows = []
    for i, one in enumerate(data):
        for kind, path in (("model", one.model), ("inputs", one.inputs)):
            text += [".balign 64", f"{kind}{i}:", f'.incbin "{path}"', f"{kind}{i}_end:"]
        text += [f'name{i}: .asciz "{one.name}"']
        rows += [f".word model{i}, model{i}_end, inputs{i}, inputs{i}_end, name{i}"]
        rows += [f".word {5 if one.modes else 1}"]
    text += [".balign 4", ".global board_models, board_model_count, board_repeats"]
    text += ["board_models:", *rows, f"board_model_count: .word {len(data)}"]
    return "\n".join([*text, f"board_repeats: .word {repeats}", ""])


def run_program(build: Build, program: Path, folder: Path, arguments: Sequence[str]) -> str:
    """The output of a program; ends this process if it fails."""
    command = [*build.runner, str(program), *([] if build.board else arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        output = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise SystemExit(f"{build.name}: {output or done.returncode}")
    return done.stdout


def versions(build: Build) -> str:
    """Compiler, and emulator if there is one, as they name themselves."""
    found = []
    for tool in dict.fromkeys((build.compiler, *build.runner[:1])):
        flag = "-v" if tool == "tcc" else "--version"
        printed = subprocess.run([tool, flag], capture_output=True, text=True)
        found.append((printed.stdout or printed.stderr).splitlines()[0].strip())
    return "; ".join(found)
