"""The command graphio: what it converts, draws and exports."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
from c_programs import CINFER, library
from command_line import Command, small_onnx, trained

import graphio as tf
from graphio import runtime
from graphio.command_line import exits
from graphio.model import c_source
from graphio.train import load_values

X = np.float32([[1, 2, 3], [-1, 0, 1]])


@pytest.fixture
def graphio(capfd: pytest.CaptureFixture[str]) -> Command:
    return Command(capfd)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = trained(tmp_path_factory.mktemp("files"))
    small_onnx(folder / "net.onnx")
    return folder


def predicted(path: Path, **inputs: Any) -> np.ndarray[Any, Any]:
    """The only, or the first, output of `predict`."""
    return next(iter(runtime.load(path).signature("predict")(**inputs).values()))


# ---- convert ----


def test_onnx_becomes_a_model_and_a_model_onnx(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    graphio("convert", files / "net.onnx", tmp_path / "net.gio")
    graphio("convert", tmp_path / "net.gio", tmp_path / "again.onnx")
    assert onnx.load(tmp_path / "again.onnx").graph.input[0].name == "image"
    graphio("convert", tmp_path / "again.onnx", tmp_path / "again.gio")
    assert np.array_equal(
        predicted(tmp_path / "net.gio", image=X), predicted(tmp_path / "again.gio", image=X)
    )


def test_one_signature_frozen_and_stripped_gives_the_same_numbers(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    small = tmp_path / "small.gio"
    graphio("convert", files / "net.gio", small, "-s", "predict", "--freeze", "--strip")
    assert np.array_equal(predicted(files / "net.gio", x=X), predicted(small, x=X))
    facts = graphio("inspect", small, "--json").json
    assert facts["variables"] == [] and [s["name"] for s in facts["signatures"]] == ["predict"]
    assert small.stat().st_size < (files / "net.gio").stat().st_size / 3


def test_a_signature_that_trains_keeps_its_variables(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    graphio("convert", files / "net.gio", tmp_path / "same.gio", "--freeze")
    models = [runtime.load(path) for path in (files / "net.gio", tmp_path / "same.gio")]
    y = np.float32([[1, 0], [0, 1]])
    losses = [[float(m.signature("train")(x=X, y=y)["loss"]) for _ in range(3)] for m in models]
    assert losses[0] == losses[1] and losses[0][0] > losses[0][2]


@pytest.mark.parametrize("kind, nearness", [("float16", 2e-3), ("bfloat16", 2e-2)])
def test_weights_of_half_the_size_are_near(
    graphio: Command, tmp_path: Path, kind: str, nearness: float
) -> None:
    weights = np.random.RandomState(0).randn(3, 400).astype(np.float32)
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [info("x", 1, [None, 3])],
        [info("y", 1, [None, 400])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    onnx.save(onnx.helper.make_model(graph, ir_version=9), tmp_path / "wide.onnx")
    narrow = tmp_path / "narrow.gio"
    graphio("convert", tmp_path / "wide.onnx", narrow, "--weights", kind)
    found = predicted(narrow, x=X)
    assert narrow.stat().st_size < 0.7 * weights.nbytes
    assert 0 < np.abs(found - X @ weights).max() < nearness * np.abs(X @ weights).max() * 3


def test_a_checkpoint_with_its_graph_becomes_a_model(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    made = tmp_path / "two.gio"
    graphio("convert", files / "net-2", made, "--input", "x", "--output", "p=predicted")
    assert np.array_equal(predicted(made, x=X), predicted(files / "net.gio", x=X))
    done = graphio("convert", files / "net-2", made, code=exits.USAGE)
    assert "--output NAME=TENSOR" in done.err


@pytest.mark.parametrize("name", ["new", "new.ckpt", "new.ckpt-100", "new-7", "new-1.5"])
def test_names_of_checkpoints_are_prefixes(
    graphio: Command, files: Path, tmp_path: Path, name: str
) -> None:
    graphio("convert", files / "net.gio", tmp_path / name)
    assert (tmp_path / f"{name}.index").exists()
    assert np.array_equal(
        load_values(str(tmp_path / name))["w"], load_values(str(files / "net-2"))["w"]
    )


def test_weights_become_a_checkpoint_under_other_names(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    graphio("convert", files / "net-2", tmp_path / "w.safetensors")
    (tmp_path / "names.json").write_text(json.dumps({"w": "dense/kernel"}))
    new = tmp_path / "new"
    graphio("convert", tmp_path / "w.safetensors", new, "--names", tmp_path / "names.json")
    values = load_values(str(new))
    assert np.array_equal(values["dense/kernel"], load_values(str(files / "net-2"))["w"])
    (tmp_path / "names.json").write_text(json.dumps({"v": "dense/kernel"}))
    arguments = [tmp_path / "w.safetensors", new, "--names", tmp_path / "names.json"]
    assert "'v'" in graphio("convert", *arguments, code=exits.FILE).err
    (tmp_path / "names.json").write_text("{broken")
    assert "names.json' is not JSON" in graphio("convert", *arguments, code=exits.FILE).err


@pytest.mark.parametrize(
    "target, options, text",
    [
        ("x.pt", [], "x.pt' ends in '.pt', expected .gio, .onnx, "),
        ("x.xyz", [], "or a checkpoint's prefix such as name.ckpt"),
        ("x.gio", ["--optimize", "much"], "expected one of none, exact, approximate"),
        (
            "x.gio",
            ["-s", "nothing"],
            "there is no signature 'nothing': the model has predict, train",
        ),
        ("x.gio", ["--weights", "float8"], "expected one of float16, bfloat16"),
        ("x.onnx", ["-s", "nothing"], "there is no signature 'nothing'"),
        ("x.onnx", [], "name a signature with -s: the model has predict, train"),
        ("x.onnx", ["-s", "predict", "--opset", "29"], "--opset is 29, expected 18 to 28"),
    ],
)
def test_what_cannot_be_made_is_reported_and_nothing_is_left(
    graphio: Command, files: Path, tmp_path: Path, target: str, options: list[str], text: str
) -> None:
    done = graphio("convert", files / "net.gio", tmp_path / target, *options, code=exits.USAGE)
    assert text in done.err
    assert list(tmp_path.iterdir()) == []


def test_weights_alone_do_not_become_a_model(graphio: Command, tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", a=np.zeros(3, np.float32))
    done = graphio("convert", tmp_path / "w.npz", tmp_path / "w.gio", code=exits.FILE)
    assert "without a graph" in done.err


# ---- show ----


def test_the_picture_of_a_graph_has_a_box_for_each_node(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    graphio("show", files / "net.onnx", "--svg", tmp_path / "net.svg")
    root = ElementTree.parse(tmp_path / "net.svg").getroot()
    strings = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"image", "score", "Relu", "MatMul [3,4]"} <= set(strings)
    boxes = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("rx")]
    assert len(boxes) == 4
    done = graphio(
        "show", files / "net.gio", "--svg", tmp_path / "x.svg", "-s", "no", code=exits.USAGE
    )
    assert "the model has predict, train" in done.err


def test_the_viewer_serves_the_graph_and_says_where_alone(files: Path) -> None:
    pytest.importorskip("netron")
    import sys

    command = [sys.executable, "-u", "-m", "graphio", "show", str(files / "net.onnx")]
    process = subprocess.Popen(
        [*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("http://")
        address = line.split()[0]
        with urllib.request.urlopen(address, timeout=30) as page:
            assert b"netron" in page.read().lower()
        with urllib.request.urlopen(f"{address}/data/net.onnx", timeout=30) as file:
            assert file.read() == (files / "net.onnx").read_bytes()
    finally:
        process.kill()
        process.wait()


# ---- export-c ----


def built(folder: Path, *sources: Path) -> Path:
    """A program of exported sources, without a warning."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    flags = ["-std=c11", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]
    objects = []
    for source in sources:
        objects.append(source.with_suffix(".o"))
        command = [compiler, *flags, "-Werror", f"-I{folder}", f"-I{CINFER / 'include'}", "-c"]
        subprocess.run([*command, str(source), "-o", str(objects[-1])], check=True)
    made = folder / "program"
    linked = [compiler, *map(str, objects), str(library()), "-lm", "-pthread", "-o", str(made)]
    subprocess.run(linked, check=True)
    return made


def test_the_example_runs_the_model_from_its_file(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    facts = graphio("export-c", files / "net.gio", "-o", tmp_path, "--json").json
    names = [Path(file).name for file in facts["files"]]
    assert names == ["net.h", "net_example.c", "net.mk"]
    program = built(tmp_path, tmp_path / "net_example.c")
    done = subprocess.run([program, files / "net.gio"], capture_output=True, text=True, check=True)
    value = float(predicted(files / "net.gio", x=np.zeros((1, 3), np.float32))[0, 0])
    assert done.stdout == f"p: {value:g} ...\n"


def test_the_model_can_be_part_of_the_program(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    graphio("export-c", files / "net.gio", "-o", tmp_path, "--name", "my-net", "--embed")
    program = built(tmp_path, tmp_path / "my_net_example.c", tmp_path / "my_net_model.c")
    done = subprocess.run([program], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.startswith("p: ")


def test_the_line_that_builds_is_quoted_and_links_the_installed_library(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "my code"
    build = graphio("export-c", files / "net.gio", "-o", folder, "--embed", "--json").json["build"]
    words = shlex.split(build)
    assert words == ["make", "-C", str(folder), "-f", "net.mk"]
    subprocess.run([*words, f"PYTHON={sys.executable}"], check=True, capture_output=True)
    done = subprocess.run([folder / "net_example"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("p: ")
    again = subprocess.run([*words, f"PYTHON={sys.executable}"], capture_output=True, text=True)
    assert "up to date" in again.stdout


def test_the_makefile_compiles_the_sources_of_the_library_once(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    """`make -n` lists the commands: each part, the library, the program."""
    graphio("export-c", files / "net.gio", "-o", tmp_path)
    command = ["make", "-n", "-C", tmp_path, "-f", "net.mk", f"CINFER={CINFER}"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    compiled = re.findall(r"-c (\S+\.c) -o", listed)
    assert sorted(map(Path, compiled)) == sorted(CINFER.glob("src/**/*.c"))
    assert "net_example.c cinfer-objects/libcinfer.a -lm -pthread" in listed


@pytest.mark.parametrize(
    ("variable", "reason"),
    [
        ("PYTHON=false", "PYTHON names the Python"),
        ("CINFER=/nowhere", "expected the folder cinfer"),
    ],
)
def test_the_makefile_says_what_it_needs(
    variable: str, reason: str, graphio: Command, files: Path, tmp_path: Path
) -> None:
    graphio("export-c", files / "net.gio", "-o", tmp_path)
    command = ["make", "-C", tmp_path, "-f", "net.mk", variable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and reason in done.stderr


def test_no_code_is_written_for_a_damaged_model(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    damaged = bytearray((files / "net.gio").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "net.gio").write_bytes(damaged)
    done = graphio("export-c", tmp_path / "net.gio", "-o", tmp_path / "c", code=exits.FILE)
    assert "checksum" in done.err
    assert not (tmp_path / "c").exists()


def test_what_is_no_model_of_ours_is_refused_with_how_to_convert_it(
    graphio: Command, files: Path
) -> None:
    assert "graphio convert" in graphio("export-c", files / "net.onnx", code=exits.FILE).err


@pytest.mark.parametrize(
    "file, prefix",
    [
        ("模型.gio", "model"),
        ("模型_v2.gio", "v2"),
        ("Modèle-été.gio", "Modele_ete"),
        ("3d.gio", "_3d"),
        ("net.gio", "net"),
    ],
)
def test_files_have_names_that_people_and_c_can_read(
    graphio: Command, files: Path, tmp_path: Path, file: str, prefix: str
) -> None:
    shutil.copy(files / "net.gio", tmp_path / file)
    graphio("export-c", tmp_path / file, "-o", tmp_path / "c")
    assert {f"{prefix}.h", f"{prefix}_example.c"} <= {p.name for p in (tmp_path / "c").iterdir()}
    header = (tmp_path / "c" / f"{prefix}.h").read_text()
    assert f"{prefix}_predict(" in header and f"{prefix}_train(" in header


def test_signatures_and_inputs_of_any_letters_have_names_in_c(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2])
        y, z = x * 2.0, x * 3.0
        tf.saved_model.save(
            tmp_path / "m.gio",
            session,
            {
                "预测": ({"图像": x}, {"标签": y, "inputs": z}),
                "größe": ({"inputs": x}, {"outputs": y, "NULL": z}),
            },
        )
    made = c_source.sources((tmp_path / "m.gio").read_bytes(), "模型", "模型.gio")
    header = made["model.h"]
    assert "model_grosse(" in header or "model_groe(" in header
    assert re.search(r"model_signature\d\(ci_session \*session, .*const float \*input,", header)
    assert not re.search(r"\b_+\b", header)
    for name, text in made.items():
        (tmp_path / name).write_text(text)
    compiler = shutil.which("cc")
    if compiler is not None:
        flags = [
            "-std=c11",
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Wshadow",
            "-Werror",
        ]
        paths = [f"-I{tmp_path}", f"-I{CINFER / 'include'}", str(tmp_path / "model_example.c")]
        subprocess.run([compiler, *flags, *paths], check=True)
