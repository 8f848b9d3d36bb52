"""The command graphio: what it says of files, how it runs them, what it says of mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from command_line import Command, small_onnx, trained

from graphio.command_line import engines, exits
from graphio.command_line.commands import run
from graphio.schema import container
from graphio.support import installation
from graphio.support.version import graphio_version


@pytest.fixture
def graphio(capfd: pytest.CaptureFixture[str]) -> Command:
    return Command(capfd)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = trained(tmp_path_factory.mktemp("files"))
    small_onnx(folder / "net.onnx")
    return folder


# ---- help and mistakes ----


def test_every_command_has_help_with_an_example_of_its_arguments(graphio: Command) -> None:
    listed = graphio("--help").out
    names = ("inspect ls verify diff convert run bench profile show export-c selftest").split()
    for name in names:
        assert f"  {name} " in listed
        assert f"Usage: graphio {name} " in graphio(name, "--help").out


def test_the_version(graphio: Command) -> None:
    assert graphio("--version").out == f"graphio {graphio_version}\n"


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        (["inspect", "nowhere.gio"], exits.FILE, "no file, folder or checkpoint 'nowhere.gio'"),
        (["inspect"], exits.USAGE, "Missing argument"),
        (["inspekt"], exits.USAGE, "No such command"),
        (
            ["run", "{net.gio}"],
            exits.USAGE,
            "name a signature with -s: the model has predict, train",
        ),
        (
            ["bench", "{net.gio}", "-s", "x"],
            exits.USAGE,
            "there is no signature 'x': the model has predict, train",
        ),
        (["profile", "{net.gio}"], exits.USAGE, "name a signature with -s"),
        (["inspect", "{net.gio}", "--cost"], exits.USAGE, "name a signature with -s"),
        (
            ["run", "{net.gio}", "-s", "train", "--size", "z=3"],
            exits.USAGE,
            "z, expected among: x, y",
        ),
        (["run", "{net.gio}", "-s", "predict", "--size", "x=3"], exits.USAGE, "contradicts"),
        (["run", "{net.gio}", "-s", "predict", "--size", "x"], exits.USAGE, "NAME=SIZES"),
        (
            ["run", "{net.onnx}", "--size", "batch=100000000000"],
            exits.USAGE,
            "input 'image' of sizes 100000000000,3 does not fit into memory",
        ),
        (["bench", "{net.onnx}", "--size", f"batch={10**22}"], exits.USAGE, "does not fit into"),
        (["run", "{net.gio}", "-s", "predict", "-i", "a.npy"], exits.FILE, "no file 'a.npy'"),
        (["run", "{net.onnx}", "-i", "x.txt"], exits.FILE, "no file 'x.txt'"),
        (["run", "{net.onnx}", "-o", "x.txt"], exits.USAGE, "ends in none of .npz"),
        (["run", "{net.onnx}", "--compare", "caffe"], exits.USAGE, "no engine 'caffe'"),
        (
            ["run", "{net.gio}", "-s", "predict", "--compare", "onnxruntime"],
            exits.FILE,
            "ONNX files",
        ),
        (["bench", "{net.onnx}", "--engine", "caffe"], exits.USAGE, "no engine 'caffe'"),
        (["verify", "{net.gio}.nothing"], exits.FILE, "no file"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_a_mistake_is_one_message_and_a_code(
    graphio: Command, files: Path, arguments: list[str], code: int, text: str
) -> None:
    names = {"{net.gio}": "net.gio", "{net.onnx}": "net.onnx", "{net-1}": "net-1"}
    for key, name in names.items():
        arguments = [word.replace(key, str(files / name)) for word in arguments]
    done = graphio(*arguments, code=code)
    assert text in done.err and "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    "file, content, text",
    [
        ("text.npz", np.array(["a"]), "input 'image' is text, expected float32"),
        ("objects.npz", np.array([{}], object), "'objects.npz': 'image' holds O0: pickled"),
        ("wide.npz", np.zeros((2, 5), np.float32), "is float32[2,5], expected float32[?,3]"),
        ("broken.npz", b"PK nonsense", "broken.npz': it is none of"),
        ("broken.csv", b"a,b\n1\n2,3,4\n", "broken.csv' cannot be read: CSV parse error"),
    ],
)
def test_inputs_that_cannot_be_taken_are_reported_with_their_file_or_name(
    graphio: Command,
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    content: Any,
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if isinstance(content, bytes):
        Path(file).write_bytes(content)
    else:
        np.savez(file, image=content)
    done = graphio("run", files / "net.onnx", "-i", file, code=exits.FILE)
    assert text in done.err


@pytest.mark.parametrize(
    "content, text", [(b"", "is empty"), (b"nothing", "does not begin as one")]
)
def test_a_file_that_is_not_a_model_is_reported(
    graphio: Command, tmp_path: Path, content: bytes, text: str
) -> None:
    (tmp_path / "x.gio").write_bytes(content)
    assert text in graphio("inspect", tmp_path / "x.gio", code=exits.FILE).err


def test_a_pipe_is_not_read(graphio: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = graphio("inspect", tmp_path / "pipe", code=exits.FILE)
    assert "is not a regular file: pipes and devices are not read" in done.err


def test_weights_are_no_model(graphio: Command, tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", a=np.zeros(2, np.float32))
    done = graphio("profile", tmp_path / "w.npz", code=exits.FILE)
    assert "w.npz' is not a model but weights, expected one (.gio, .onnx" in done.err


def test_an_empty_array_file_is_reported(graphio: Command, files: Path, tmp_path: Path) -> None:
    (tmp_path / "x.npy").touch()
    given = f"image={tmp_path / 'x.npy'}"
    assert "it is empty" in graphio("run", files / "net.onnx", "-i", given, code=exits.FILE).err


def test_the_help_says_what_a_cost_is_measured_on(graphio: Command) -> None:
    assert "on random numbers" in " ".join(graphio("inspect", "--help").out.split())


def test_inspect_tells_of_damaged_weights(graphio: Command, files: Path, tmp_path: Path) -> None:
    data = bytearray((files / "net.gio").read_bytes())
    data[-1] ^= 1
    (tmp_path / "bad.gio").write_bytes(data)
    assert "checksum" in graphio("inspect", tmp_path / "bad.gio", code=exits.FILE).err


def test_a_file_of_another_kind_is_reported(graphio: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    done = graphio("inspect", tmp_path / "notes.txt", code=exits.FILE)
    assert "neither a model nor a checkpoint" in done.err


@pytest.mark.parametrize("arguments", [["{}"], ["{}", "--json"], ["--help"]], ids=" ".join)
def test_a_reader_that_has_seen_enough_is_no_error(files: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [word.format(files / "net.gio") for word in arguments]
    command = [sys.executable, "-m", "graphio", "inspect", *words]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (exits.DONE, b"")


def test_a_model_without_signatures_is_of_the_wrong_kind(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    model, arrays = container.read(files / "net.gio")
    del model.signature[:]
    (tmp_path / "none.gio").write_bytes(container.pack(model, arrays))
    done = graphio("run", tmp_path / "none.gio", code=exits.FILE)
    assert "the model has no signatures" in done.err


def test_an_engine_that_is_not_installed_is_wrong_usage(
    graphio: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "installed", lambda engine: engine not in engines.OTHERS)
    for words in (["bench", "--engine"], ["run", "--compare"]):
        done = graphio(words[0], files / "net.onnx", words[1], "openvino", code=exits.USAGE)
        assert done.err == "graphio: openvino is not installed: pip install openvino\n"


def test_debug_shows_where_an_error_comes_from(graphio: Command) -> None:
    assert "Traceback" in graphio("--debug", "inspect", "nowhere.gio", code=exits.FILE).err


@pytest.mark.parametrize(
    "words",
    ["inspect", "ls", "run", "bench", "profile", "show --svg {}.svg", "export-c", "diff {}",
     "convert {}.npz", "convert {}.onnx"],
)  # fmt: skip
def test_the_error_of_a_damaged_model_names_the_file(
    graphio: Command, files: Path, tmp_path: Path, words: str
) -> None:
    bad = tmp_path / "bad.gio"
    data = bytearray((files / "net.gio").read_bytes())
    data[200] ^= 1
    bad.write_bytes(data)
    command, *more = words.format(
        files / "net.gio" if "diff" in words else tmp_path / "out"
    ).split()
    done = graphio(command, bad, *more, code=exits.FILE)
    assert done.err.startswith(f"graphio: {bad}: the model file is damaged: ")
    assert "graph section" in done.err or "sections" in done.err


def test_a_damaged_model_is_refused(graphio: Command, files: Path, tmp_path: Path) -> None:
    data = bytearray((files / "net.gio").read_bytes())
    data[200] ^= 1
    (tmp_path / "bad.gio").write_bytes(data)
    assert "damaged" in graphio("inspect", tmp_path / "bad.gio", code=exits.FILE).err
    done = graphio("verify", tmp_path / "bad.gio", "--json", code=exits.NO)
    assert done.json[0]["whole"] is False


def test_the_command_can_be_called_as_a_module(files: Path) -> None:
    command = [sys.executable, "-m", "graphio", "inspect", str(files / "net.gio"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["signatures"][0]["name"] == "predict"


def test_control_characters_of_a_file_do_not_reach_the_terminal(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    evil = tmp_path / "a\x1b[31m.npz"
    np.savez(evil, **{"w\x1b]0;title\x07": np.zeros(2, np.float32)})
    out = graphio("ls", evil).out
    assert "\x1b" not in out and "\\x1b]0;title\\x07" in out


# ---- inspect, ls, verify, diff ----


def test_inspect_tells_signatures_operators_and_parameters(graphio: Command, files: Path) -> None:
    facts = graphio("inspect", files / "net.gio", "--json").json
    predict = facts["signatures"][0]
    assert predict["inputs"] == [{"name": "x", "type": "float32", "shape": [None, 3], "value": "x"}]
    assert facts["parameters"]["trainable"] == 6
    assert facts["operators"]["Softmax"] == 1
    assert {"name": "w", "slot_of": ""}.items() <= next(
        v for v in facts["variables"] if v["name"] == "w"
    ).items()
    assert facts["engines"] == {"cinfer": {"runs": True}, "runtime": {"runs": True}}
    text = graphio("inspect", files / "net.gio").out
    assert "input x: float32[?,3]" in text and "1 Softmax" in text


def test_inspect_names_the_operators_that_are_missing(graphio: Command, tmp_path: Path) -> None:
    path = small_onnx(tmp_path / "odd.onnx", "Odd", "com.example")
    done = graphio("inspect", path, "--json", code=exits.NO)
    assert "Odd" in done.json["engines"]["cinfer"]["why"]


def test_inspect_lists_problems_line_by_line(graphio: Command, tmp_path: Path) -> None:
    """Line ends and control characters of a file are escaped."""
    path = small_onnx(tmp_path / "odd.onnx", "Odd\x1b", "com.example")
    model = onnx.load(path)
    model.graph.node[1].name = "a\nb"
    model.graph.node.append(onnx.helper.make_node("Odder", ["h"], ["c"], domain="com.example"))
    onnx.save(model, path)
    out = graphio("inspect", path, code=exits.NO).out
    lines = [line.strip("│├└─ ") for line in out.splitlines()]
    assert sum(line.endswith("cannot be imported, 2 problems:") for line in lines) == 1
    assert sum(line.startswith("Odd\\x1b 'a\\nb': operator com.example.Odd") for line in lines) == 1
    assert sum(line.startswith("Odder that makes 'c': operator") for line in lines) == 1
    assert lines[1].startswith("cinfer and runtime: ")


def test_inspect_counts_operations_and_memory(graphio: Command, files: Path) -> None:
    path = files / "net.onnx"
    cost = graphio("inspect", path, "--cost", "--size", "batch=5", "--json").json["cost"]
    assert cost["inputs"] == {"image": [5, 3]}
    assert cost["operations"] == 2 * 5 * 3 * 4 + 5 * 4
    assert cost["arena_bytes"] > 0


def test_ls_lists_checkpoints_weights_and_models(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    facts = graphio("ls", files / "net-2", "--json").json
    assert facts["step"] == 2
    rows = {row["name"]: row for row in facts["tensors"]}
    assert rows["w"]["shape"] == [3, 2] and rows["w/Momentum"]["kind"] == "slot"
    np.savez(tmp_path / "w.npz", a=np.zeros((2, 3), np.float32))
    assert "a     variable  float32  [2,3]     24" in graphio("ls", tmp_path / "w.npz").out
    assert "constant" in graphio("ls", files / "net.onnx").out
    assert graphio("ls", files / "net-2.index").out.count("\n") == len(rows) + 2


def test_verify_checks_every_byte(graphio: Command, files: Path, tmp_path: Path) -> None:
    out = graphio("verify", files / "net.gio", files / "net-1", files / "net.onnx").out
    assert out.count("as they were written") == 2 and "no checksums" in out
    assert "2 checkpoints" in graphio("verify", "--all", files).out


def test_diff_tells_what_differs_the_largest_first(graphio: Command, files: Path) -> None:
    assert graphio("diff", files / "net-1", files / "net-1").out.startswith("3 of 3")
    facts = graphio("diff", files / "net-1", files / "net-2", "--json", code=exits.NO).json
    assert facts["values"][0]["name"] == "global_step"
    assert {row["name"] for row in facts["values"]} >= {"w", "global_step"}


def test_diff_tells_how_the_structure_of_models_differs(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    other = small_onnx(tmp_path / "other.onnx", "Softmax")
    out = graphio("diff", files / "net.onnx", other, code=exits.NO).out
    assert "1 of 1 tensors have the same bits" in out
    assert any(line.startswith("+ Softmax") for line in out.splitlines()), out


def test_diff_of_a_model_and_a_checkpoint_compares_variables(graphio: Command, files: Path) -> None:
    assert graphio("diff", files / "net.gio", files / "net-2").out.startswith("3 of 3")


# ---- run, bench, profile, selftest ----


def test_run_takes_arrays_and_writes_arrays(graphio: Command, files: Path, tmp_path: Path) -> None:
    x = np.float32([[1, 0, 0], [0, 1, 0]])
    np.savez(tmp_path / "in.npz", image=x)
    np.save(tmp_path / "in.npy", x)
    weights = np.arange(12, dtype=np.float32).reshape(3, 4) - 6
    for given in (["-i", tmp_path / "in.npz"], ["-i", f"image={tmp_path / 'in.npy'}"]):
        graphio("run", files / "net.onnx", *given, "-o", tmp_path / "out.npz")
        assert np.array_equal(np.load(tmp_path / "out.npz")["score"], np.maximum(weights[:2], 0))
    graphio("run", files / "net.onnx", "-i", tmp_path / "in.npy", "-o", tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy").shape == (2, 4)


def test_run_in_batches_gives_the_same(graphio: Command, files: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.random.RandomState(0).rand(7, 3).astype(np.float32))
    given = [files / "net.onnx", "-i", tmp_path / "in.npy", "-o"]
    graphio("run", *given, tmp_path / "all.npy")
    graphio("run", *given, tmp_path / "some.npy", "--batch", 3)
    assert (tmp_path / "all.npy").read_bytes() == (tmp_path / "some.npy").read_bytes()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_run_takes_and_gives_tables(
    graphio: Command, files: Path, tmp_path: Path, ending: str
) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "in.csv").write_text("a,b,c\n1,0,0\n0,1,0\n")
    graphio("run", files / "net.onnx", "-i", tmp_path / "in.csv", "-o", tmp_path / f"out.{ending}")
    if ending == "csv":
        head, first, _ = (tmp_path / "out.csv").read_text().splitlines()
        assert head == '"score.0","score.1","score.2","score.3"' and first == "0,0,0,0"
        return
    from pyarrow import parquet

    assert parquet.read_table(tmp_path / "out.parquet").num_columns == 4


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("way", ["-i", "-o"])
def test_tables_without_pyarrow_are_refused_before_the_run(
    graphio: Command,
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    ending: str,
) -> None:
    path = tmp_path / f"x.{ending}"
    if way == "-i":
        path.write_text("a,b,c\n1,0,0\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(run, "_run", lambda *_: pytest.fail("it ran"))
    done = graphio("run", files / "net.onnx", way, path, code=exits.USAGE)
    assert done.err == f"graphio: tables need pyarrow: {installation.hint('tables')}\n"
    assert done.out == "" and path.exists() == (way == "-i")


def mean_of_pictures(folder: Path) -> Path:
    """A model that gives the mean colour of pictures."""
    import graphio as tf

    graph = tf.Graph()
    with graph.as_default(), tf.Session(graph=graph) as session:
        x = tf.placeholder(tf.float32, [None, 4, 4, 3], name="x")
        mean = tf.reduce_mean(x, axis=[1, 2])
        tf.saved_model.save(str(folder / "mean.gio"), session, {"mean": ({"x": x}, {"y": mean})})
    return folder / "mean.gio"


def test_pictures_without_pillow_are_refused(
    graphio: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    done = graphio("run", mean_of_pictures(tmp_path), "-i", "a.png", code=exits.USAGE)
    assert f"pictures need Pillow: {installation.hint('images')}" in done.err


def test_run_takes_pictures(graphio: Command, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    model = mean_of_pictures(tmp_path)
    for name, colour in (("a", (255, 0, 0)), ("b", (0, 255, 0))):
        image.new("RGB", (9, 7), colour).save(tmp_path / f"{name}.png")
    given = f"x={tmp_path / '*.png'}"
    graphio("run", model, "-i", given, "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").tolist() == [[1, 0, 0], [0, 1, 0]]


def test_one_input_is_a_file_and_the_other_random(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", np.ones((5, 3), np.float32))
    given = ["-i", f"x={tmp_path / 'x.npy'}", "-i", "y=random", "--size", "y=5,2"]
    facts = graphio("run", files / "net.gio", "-s", "train", *given, "--json").json
    assert facts["inputs"] == {"x": [5, 3], "y": [5, 2]}
    named = graphio("run", files / "net.onnx", "-i", "image=random", "--json").json
    assert named == graphio("run", files / "net.onnx", "--json").json
    done = graphio("run", files / "net.onnx", "-i", "z=random", code=exits.USAGE)
    assert "'z' is none of its inputs" in done.err


def test_run_compares_engines_and_expected_outputs(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    facts = graphio("run", files / "net.onnx", "--compare", "runtime", "--json").json
    assert facts["compared"]["agrees"] and facts["compared"]["with"] == "runtime"
    np.savez(tmp_path / "wrong.npz", score=np.full((1, 4), 99, np.float32))
    done = graphio("run", files / "net.onnx", "--expect", tmp_path / "wrong.npz", code=exits.NO)
    assert "differs from" in done.out


def test_run_agrees_with_onnx_runtime(graphio: Command, files: Path) -> None:
    pytest.importorskip("onnxruntime")
    path, size = files / "net.onnx", "batch=3"
    facts = graphio("run", path, "--compare", "onnxruntime", "--size", size, "--json").json
    assert facts["compared"]["agrees"]


@pytest.mark.parametrize("kind", ["BFLOAT16", "FLOAT8E5M2", "UINT4"])
def test_a_type_that_onnx_runtime_does_not_give_is_reported(
    graphio: Command, tmp_path: Path, kind: str
) -> None:
    pytest.importorskip("onnxruntime")
    path = small_onnx(tmp_path / "net.onnx")
    model = onnx.load(path)
    model.opset_import[0].version, model.ir_version = 21, 10
    number = onnx.TensorProto.DataType.Value(kind)
    cast = onnx.helper.make_node("Cast", ["score"], ["narrow"], to=number)
    model.graph.node.append(cast)
    model.graph.output.append(onnx.helper.make_tensor_value_info("narrow", number, None))
    onnx.save(model, path)
    done = graphio("run", path, "--compare", "onnxruntime", code=exits.FILE)
    assert f"onnxruntime exchanges no tensor({kind.lower()})" in done.err
    assert "'narrow'" in done.err and done.err.count("\n") == 1


def test_what_onnx_runtime_cannot_run_is_no_fault_of_graphios(
    graphio: Command, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    path = small_onnx(tmp_path / "net.onnx")
    model = onnx.load(path)
    model.opset_import[0].version = 99
    onnx.save(model, path)
    done = graphio("run", path, "--compare", "onnxruntime", code=exits.FILE)
    assert "graphio: onnxruntime cannot run the model: " in done.err


def test_bench_times_every_engine(graphio: Command, files: Path) -> None:
    facts = graphio("bench", files / "net.gio", "-s", "predict", "--seconds", 0.05, "--json").json
    assert [row["engine"] for row in facts["engines"]] == ["cinfer", "runtime"]
    assert all(0 < row["least"] <= row["median"] for row in facts["engines"])


@pytest.mark.parametrize("engine", ["cinfer", "runtime"])
def test_profile_tells_what_each_operation_takes(
    graphio: Command, files: Path, tmp_path: Path, engine: str
) -> None:
    trace = tmp_path / "trace.json"
    arguments = ["-s", "train", "--engine", engine, "--trace", trace, "--json"]
    facts = graphio("profile", files / "net.gio", *arguments).json
    assert abs(sum(row["share"] for row in facts["operations"]) - 1) < 1e-9
    assert all(row["op"] for row in facts["operations"])
    assert json.loads(trace.read_text())["traceEvents"]


def test_a_trace_that_cannot_be_written_is_reported(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "none" / "r.json"
    done = graphio("profile", files / "net.onnx", "--runs", 1, "--trace", trace, code=exits.FILE)
    assert done.err == f"graphio: cannot write '{trace}': No such file or directory\n"


def test_selftest_finds_the_same_bits(graphio: Command) -> None:
    facts = graphio("selftest", "--json").json
    assert facts["passed"] and len({row["sha256"] for row in facts["runs"]}) == 1
    assert len(facts["runs"]) >= 4
