"""The Windows half of the C library: what it calls, and what it does under wine."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import c_programs
from folders import CINFER

COMPILER = "x86_64-w64-mingw32-gcc"
FLAGS = ("-fno-math-errno", "-DCI_STATIC")
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror".split()
#: calls that take a path in the code page of the machine: of the C library, of Windows
NARROW = re.compile(
    r"(?:__imp_)?(?:_?(?:open|sopen|sopen_s|fopen|fopen_s|unlink|remove|rename|stat|stat64|access)"
    r"|(?:CreateFile|MoveFile|MoveFileEx|FindFirstFile|FindNextFile|DeleteFile)A)"
)


def test_no_call_of_windows_takes_a_path_in_a_code_page(tmp_path: Path) -> None:
    made = tmp_path / "file.o"
    command = [c_programs.compiler(COMPILER), *c_programs.FLAGS, *FLAGS, *WARNINGS, "-c"]
    source = CINFER / "src" / "system" / "file.c"
    subprocess.run([*command, str(source), "-o", str(made)], check=True)
    listed = subprocess.run(
        [c_programs.compiler("x86_64-w64-mingw32-nm"), "-u", str(made)],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert {"__imp_MoveFileExW", "__imp__wsopen_s"} <= set(listed)
    assert [name for name in listed if NARROW.fullmatch(name)] == []


def test_names_of_all_scripts_reach_windows_whatever_its_code_page_is(tmp_path: Path) -> None:
    wine = c_programs.compiler("wine")
    library = c_programs.library(COMPILER, *FLAGS)
    source, program = Path(__file__).with_name("windows_paths.c"), tmp_path / "windows_paths.exe"
    command = [c_programs.compiler(COMPILER), *c_programs.FLAGS, *FLAGS, *WARNINGS, "-static"]
    subprocess.run(
        [*command, str(source), str(library), "-lbcrypt", "-o", str(program)], check=True
    )
    (tmp_path / "files").mkdir()
    home = {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [wine, program, "files"], cwd=tmp_path, env={**os.environ, **home},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-1000:]
    written = {path.name for path in (tmp_path / "files" / "模型-äж").iterdir()}
    assert {"模型-äж.gio", "模型-äж-2.index", "模型-äж-3.index", "checkpoint"} <= written
