"""cinfer.hpp: the library from C++."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from c_programs import CINFER, library
from command_line import trained

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


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_program_in_cpp_predicts_trains_saves_and_catches_errors(
    compiler: str, tmp_path: Path
) -> None:
    found = shutil.which(compiler)
    if found is None:
        pytest.skip(f"{compiler} is not installed")
    trained(tmp_path)
    (tmp_path / "program.cc").write_text(PROGRAM)
    command = [found, *FLAGS_CPP, "-Werror", f"-I{CINFER / 'include'}", "-DCI_STATIC"]
    command += [str(tmp_path / "program.cc"), str(library()), "-lm", "-pthread"]
    subprocess.run([*command, "-o", str(tmp_path / "program")], check=True)
    arguments = [tmp_path / "program", tmp_path / "net.gio", tmp_path / "saved"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    from graphio import cinfer

    expected = cinfer.load(tmp_path / "net.gio").signature("predict")
    values = expected(x=[[1, 2, 3], [-1, 0, 1]])["p"].ravel().tolist()
    assert [float(line) for line in done.stdout.split()] == pytest.approx(values, rel=1e-8)
