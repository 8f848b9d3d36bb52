"""cinfer.hpp: the library from C++."""

from __future__ import annotations

import subprocess
from pathlib import Path

import c_programs
import pytest
from command_line import trained
from folders import CINFER

import graphio as tf
from graphio.engine import custom
from graphio.schema import operators

FLAGS_CPP = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]
PROGRAM = """
#include <cinfer.hpp>
#include <cstdio>
#include <utility>

template <typename F> static int status_of(F&& call) {
  try {
    call();
  } catch (const cinfer::Error& error) {
    return error.what()[0] == 0 ? -2 : error.status();
  }
  return -1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  cinfer::Model opened(argv[1]);
  cinfer::Model model = std::move(opened);
  cinfer::Session session(model);
  const std::vector<float> x = {1, 2, 3, -1, 0, 1};
  const auto found = session.run("predict", {cinfer::view(x, {2, 3})});
  for (float p : cinfer::copy<float>(found[0])) std::printf("%.9g\\n", static_cast<double>(p));
  std::vector<float> loss(1);
  const std::vector<float> y = {1, 0, 0, 1};
  const std::vector<ci_tensor> fed = {cinfer::view(x, {2, 3}), cinfer::view(y, {2, 2})};
  session.run("train", fed, {cinfer::view(loss, {})});
  session.save(argv[2], 7);
  cinfer::State shared;
  cinfer::Session other(model, shared);
  const bool right = model.signatures().size() == 2 && model.inputs("train").size() == 2 &&
                     loss[0] > 0 && other.restore(argv[2]) == 7 && other.state() == shared.get() &&
                     status_of([] { cinfer::Model nowhere("/nowhere.gio"); }) == CI_NOT_FOUND &&
                     status_of([&] { session.run("nothing", {}); }) == CI_NOT_FOUND &&
                     status_of([&] { session.run("predict", {}); }) == CI_INVALID_ARGUMENT &&
                     status_of([&] { cinfer::view(x, {3, 3}); }) == CI_INVALID_ARGUMENT &&
                     status_of([&] { cinfer::view(x, {-1}); }) == CI_INVALID_ARGUMENT &&
                     status_of([&] { cinfer::copy<double>(found[0]); }) == CI_INVALID_ARGUMENT;
  return right ? 0 : 1;
}
"""


def built(compiler: str, source: Path, program: Path) -> Path:
    """A program without a warning; skips without the compiler."""
    command = [c_programs.compiler(compiler), *FLAGS_CPP, "-Werror", f"-I{CINFER / 'include'}"]
    command += ["-DCI_STATIC", str(source), str(c_programs.library()), "-lm", "-pthread"]
    subprocess.run([*command, "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_program_in_cpp_predicts_trains_saves_and_catches_errors(
    compiler: str, tmp_path: Path
) -> None:
    trained(tmp_path)
    (tmp_path / "program.cc").write_text(PROGRAM)
    program = built(compiler, tmp_path / "program.cc", tmp_path / "program")
    arguments = [program, tmp_path / "net.gio", tmp_path / "saved"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    from graphio import cinfer

    expected = cinfer.load(tmp_path / "net.gio").signature("predict")
    values = expected(x=[[1, 2, 3], [-1, 0, 1]])["p"].ravel().tolist()
    assert [float(line) for line in done.stdout.split()] == pytest.approx(values, rel=1e-8)


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with an operator and a host function that the program has."""
    path = tmp_path_factory.mktemp("called") / "called.gio"
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        own = tf.register_operator(
            "com.example", "Own", inputs=["x: float32"], outputs=["y: float32"],
            shape=lambda shapes: shapes, kernel=lambda x: 2 * x,
        )  # fmt: skip
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.py_func(lambda value: value, [own(x)], tf.float32)
        y.set_shape([None])
        tf.saved_model.save(path, session, {"run": ({"x": x}, {"y": y})})
    del custom._registered["com.example", "Own"]
    operators.table()._rows.pop(("com.example", "Own"), None)
    return path


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_what_operators_and_host_functions_throw_is_the_error_of_the_run(
    compiler: str, called: Path, tmp_path: Path
) -> None:
    source = Path(__file__).with_name("cpp_callbacks.cc")
    program = built(compiler, source, tmp_path / "program")
    done = subprocess.run([program, called], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
