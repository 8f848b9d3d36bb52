"""How a command ends: closed and full outputs, interrupts, errors as JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import Command, small_onnx, trained

from graphio.command_line import app, ending, exits
from graphio.support import errors

MODULE = [sys.executable, "-m", "graphio"]


@pytest.fixture
def graphio(capfd: pytest.CaptureFixture[str]) -> Command:
    return Command(capfd)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = trained(tmp_path_factory.mktemp("files"))
    small_onnx(folder / "net.onnx")
    return folder


@pytest.mark.parametrize(
    "words, buffered", [("inspect {} --json", False), ("inspect {}", True), ("--version", True)]
)
def test_a_full_disk_of_the_output_is_one_line(files: Path, words: str, buffered: bool) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}
    command = [*MODULE, *words.format(files / "net.gio").split()]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment)
    reported = b"graphio: the standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (exits.OUTPUT, reported)


def test_a_closed_output_is_one_line_and_files_are_written_whole(files: Path) -> None:
    made = files / "made.gio"
    words = " ".join([*MODULE, "convert", str(files / "net.onnx"), str(made)])
    done = subprocess.run(f"{words} >&-", shell=True, stderr=subprocess.PIPE)
    reported = b"graphio: the standard output cannot be written: Bad file descriptor\n"
    assert (done.returncode, done.stderr) == (exits.OUTPUT, reported)
    assert made.read_bytes()[:4] == b"\x89GIO" and b"->" not in made.read_bytes()
    every = subprocess.run(f"{words} <&- >&- 2>&-", shell=True)
    assert every.returncode == exits.OUTPUT


def test_an_error_without_a_reader_keeps_its_code(files: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [*MODULE, "inspect", str(files / "nowhere"), "--json"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == exits.FILE and done.stderr.count("\n") == 1


@pytest.mark.parametrize("json_too", [False, True])
def test_an_interrupt_is_one_line(files: Path, json_too: bool) -> None:
    program = (
        "import os, signal, sys\n"
        "from graphio.command_line.commands import bench\n"
        "bench._Row.measure = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "from graphio import __main__\n"
        "sys.exit(__main__.main())\n"
    )
    words = ["bench", str(files / "net.gio"), "-s", "predict", *["--json"] * json_too]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (exits.INTERRUPTED, "graphio: interrupted\n")
    assert ("KeyboardInterrupt" in done.stdout) is json_too


def test_an_interrupt_while_the_command_is_imported_is_one_line() -> None:
    program = (
        "import builtins, os, signal, sys\n"
        "class Late:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Late())\n"
        "from graphio import __main__\n"
        "sys.exit(__main__.main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True)
    assert (done.returncode, done.stderr) == (130, b"graphio: interrupted\n")
    assert signal.Signals.SIGINT + 128 == exits.INTERRUPTED


@pytest.mark.parametrize(
    "words, code, kind, text",
    [
        ("inspect nowhere.gio", exits.FILE, "Refused", "there is no file"),
        ("inspect", exits.USAGE, "MissingParameter", "Missing argument"),
        ("ls {net.gio} --rows", exits.USAGE, "NoSuchOption", "--rows"),
        ("inspekt", exits.USAGE, "UsageError", "No such command"),
        ("run {net.gio}", exits.USAGE, "Refused", "name a signature"),
        ("convert {net.gio} x.onnx --opset 1", exits.USAGE, "Refused", "--opset"),
        ("diff {net.gio} nowhere", exits.FILE, "Refused", "nowhere"),
        ("verify nowhere", exits.FILE, "Refused", "nowhere"),
        ("profile {net.gio} --runs 0", exits.USAGE, "BadParameter", "--runs"),
        ("export-c {net.onnx}", exits.FILE, "Refused", "is not a .gio file"),
        ("inspect {bad.gio}", exits.FILE, "DataLossError", "damaged"),
    ],
)
def test_an_error_is_json_too(
    graphio: Command, files: Path, words: str, code: int, kind: str, text: str
) -> None:
    (files / "bad.gio").write_bytes((files / "net.gio").read_bytes()[:-1])
    given = words.replace("{", f"{files}/").replace("}", "").split()
    done = graphio(*given, "--json", code=code)
    error = done.json["error"]
    assert (error["code"], set(error)) == (code, {"class", "message", "code", "details"})
    assert error["class"] in (kind, "BadParameter") and text in error["message"]
    assert done.err == f"graphio: {error['message']}\n"


def test_the_details_of_an_error_are_what_its_class_knows(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def failing(error: Exception) -> dict[str, object]:
        def call() -> int:
            raise error

        ending.end_of(call, ["ls", "--json"])
        found: dict[str, object] = json.loads(capfd.readouterr().out)["error"]
        return found

    of_run = failing(errors.from_code(errors.OUT_OF_RANGE, "past the end", "next"))
    assert of_run["details"] == {"status": errors.OUT_OF_RANGE, "node": "next"}
    of_system = failing(PermissionError(13, "Permission denied", "x.gio"))
    assert of_system["details"] == {"errno": 13, "file": "x.gio"}
    assert failing(RuntimeError("odd"))["code"] == exits.FAULT


def test_json_behind_two_dashes_is_a_name() -> None:
    assert ending.wants_json(["ls", "a", "--json"])
    assert not ending.wants_json(["ls", "--", "--json"])


def test_every_exit_code_is_in_the_help() -> None:
    codes = [value for name, value in vars(exits).items() if name.isupper()]
    assert len(codes) == 7
    assert all(f"{code} " in app.HELP for code in codes)


@pytest.mark.parametrize(
    "words, named",
    [
        ("show {net.onnx} --svg {x.png}", "x.svg"),
        ("show {net.onnx} --svg {x}", "x.svg"),
        ("profile {net.onnx} --trace {x.html}", "x.json"),
        ("run {net.onnx} -o {x.png}", ".npz, .npy, .csv, .parquet"),
        ("convert {net.onnx} {x.html}", ".gio, .onnx"),
    ],
)
def test_a_file_of_another_ending_is_not_written(
    graphio: Command, files: Path, words: str, named: str
) -> None:
    before = sorted(os.listdir(files))
    given = words.replace("{", f"{files}/").replace("}", "").split()
    assert named in graphio(*given, code=exits.USAGE).err
    assert sorted(os.listdir(files)) == before


def test_json_has_no_numbers_that_other_readers_refuse(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    values = np.float32([[np.nan, np.inf, -np.inf]])
    np.savez(tmp_path / "x.npz", image=values)
    done = graphio("run", files / "net.onnx", "-i", tmp_path / "x.npz", "--json")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    found = json.loads(done.out, parse_constant=refuse)
    assert found["outputs"]["score"]["values"][0] == "NaN"
