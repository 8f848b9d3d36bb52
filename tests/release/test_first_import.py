"""The first import after an installation: from a checkout's root, and next to other packages.

A child runs without the `site` module, so that it meets packages as an ordinary installation lays
them out, not by the finder of an editable one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT

from graphio.cinfer import _native, compiled
from graphio.support import installation

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
WHERE = "import graphio, graphio.cinfer._native as n; print(graphio.__file__); print(n.__file__)"
#: a foreign package's file, as PyPI's project graphio has one
FOREIGN = "class NodeSet:\n    pass\n"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that graphio needs, but no graphio."""
    folder = tmp_path_factory.mktemp("packages")
    for entry in sys.path:
        if entry.endswith("-packages") and Path(entry).is_dir():
            for found in Path(entry).iterdir():
                link = folder / found.name
                if "graphio" not in found.name and not link.exists():
                    link.symlink_to(found)
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled module as an installation from this checkout has it."""
    folder = tmp_path_factory.mktemp("installed")
    inside = folder / "graphio" / "cinfer"
    inside.mkdir(parents=True)
    (inside / Path(_native.__file__).name).symlink_to(_native.__file__)
    (inside / compiled.FINGERPRINT).write_text(compiled.fingerprint(ROOT))
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose C sources may be changed."""
    folder = tmp_path / "check out"
    folder.mkdir()
    for name in ("graphio", "runtime", "schema", "tools"):
        (folder / name).symlink_to(ROOT / name)
    for name in ("include", "src"):
        shutil.copytree(ROOT / "cinfer" / name, folder / "cinfer" / name)
    shutil.copy(ROOT / "cinfer" / "cinfer.c", folder / "cinfer")
    return folder


def run(code: str, folder: Path, *path: Path) -> subprocess.CompletedProcess[str]:
    """Python in a folder, whose packages come first, then those of path."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    arguments = code.split() if code.startswith("-m ") else ["-c", code]
    command = [sys.executable, "-S", *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode != 0, done.stdout
    assert "During handling" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_python_in_the_checkout_takes_the_installed_module(
    checkout: Path, installed: Path, packages: Path
) -> None:
    done = run(WHERE, checkout, installed, packages)
    assert done.returncode == 0, done.stderr
    package, module = map(Path, done.stdout.splitlines())
    assert package.is_relative_to(checkout) and module.is_relative_to(installed)


def test_a_module_of_other_sources_is_never_loaded(
    checkout: Path, installed: Path, packages: Path
) -> None:
    with (checkout / "cinfer" / "src" / "model" / "model.c").open("a") as source:
        source.write("\n")
    line = last_line(run(WHERE, checkout, installed, packages))
    assert f"was not compiled from the sources in {checkout}" in line
    assert str(installed) in line and f"run pip install . in {checkout}" in line


def test_the_first_module_of_the_same_sources_is_taken_however_many_others_there_are(
    checkout: Path, installed: Path, packages: Path, tmp_path: Path
) -> None:
    other = tmp_path / "older"
    shutil.copytree(installed, other, symlinks=True)
    (other / "graphio" / "cinfer" / compiled.FINGERPRINT).write_text("0" * 64)
    done = run(WHERE, checkout, other, installed, packages)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.splitlines()[1]).is_relative_to(installed)


def test_without_an_installed_module_one_line_says_what_to_do(
    checkout: Path, packages: Path
) -> None:
    line = last_line(run(WHERE, checkout, packages))
    assert "its compiled module is not installed" in line
    assert f"run pip install . in {checkout}" in line
    done = run("import graphio, graphio.runtime", checkout, packages)
    assert done.returncode == 0, done.stderr


#: a program whose threads name no engine: prints their sessions, then its warnings
UNNAMED = """
import threading
import warnings
import graphio as tf

sessions = []

def opened():
    for _ in range(3):
        with tf.Graph().as_default(), tf.Session() as session:
            assert session.run(tf.constant(2.0) * 3) == 6.0
        sessions.append(session)
    tf.saved_model.load("m.gio").signature()()

with tf.Graph().as_default(), tf.Session("runtime") as session:
    tf.saved_model.save("m.gio", session, {"p": ({}, {"y": tf.constant(1.0)})})
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    threads = [threading.Thread(target=opened) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(*sessions, sep="\\n")
for one in found:
    print(one.category.__name__, one.filename, one.message)
"""


def test_without_the_compiled_module_what_names_no_engine_runs_in_python_with_one_warning(
    checkout: Path, packages: Path
) -> None:
    done = run(UNNAMED, checkout, packages)
    assert done.returncode == 0 and not done.stderr, done.stderr
    *ran, warning = done.stdout.splitlines()
    assert len(ran) == 12 and all("in runtime of" in line for line in ran)
    assert warning.startswith(
        "RuntimeWarning <string> models run in the engine 'runtime', which is slower, because "
        "'cinfer' is not there: "
    )
    assert f"run pip install . in {checkout}" in warning and "GRAPHIO_TARGET=runtime" in warning


@pytest.mark.parametrize("named", ["runtime", "cinfer"])
def test_without_the_compiled_module_an_engine_that_is_named_is_that_or_an_error(
    checkout: Path, packages: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHIO_TARGET", named)
    code = "import graphio as tf; print(tf.Session())"
    done = run(code, checkout, packages)
    if named == "runtime":
        assert "in runtime of" in done.stdout and not done.stderr
    else:
        assert "its compiled module is not installed" in last_line(done)


def test_a_copy_without_c_sources_is_not_run_with_a_module_that_may_not_fit(
    installed: Path, packages: Path, tmp_path: Path
) -> None:
    ignored = shutil.ignore_patterns("*.c", "*.h", "__pycache__")
    shutil.copytree(ROOT / "graphio", tmp_path / "graphio", ignore=ignored)
    line = last_line(run(WHERE, tmp_path, installed, packages))
    assert "has no compiled module" in line and "pip install . in the checkout" in line


def test_a_fingerprint_changes_with_names_and_bytes_of_the_c_sources_only(checkout: Path) -> None:
    before = compiled.fingerprint(checkout)
    (checkout / "cinfer" / "README").write_text("x")
    assert compiled.fingerprint(checkout).strip("0123456789abcdef") == ""
    assert compiled.fingerprint(checkout) == before != ""
    source = checkout / "cinfer" / "src" / "model" / "model.c"
    source.rename(source.with_name("other.c"))
    assert compiled.fingerprint(checkout) != before


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder of packages in which another project's graphio was installed, too."""
    (tmp_path / "graphio").mkdir()
    for found in (ROOT / "graphio").iterdir():
        (tmp_path / "graphio" / found.name).symlink_to(found)
    record = tmp_path / "graphio-1.0.2.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: graphio\nVersion: 1.0.2\n")
    (record / "RECORD").write_text("graphio/__init__.py,,\ngraphio/bulk.py,,\n")
    return tmp_path


REPORT = "the distribution 'graphio' 1.0.2 owns files of graphio-ml in"
REMEDY = "run pip uninstall graphio graphio-ml, then pip install . in the checkout"


def test_another_project_in_the_same_folder_is_reported_when_a_graph_is_first_built(
    mixed: Path, packages: Path
) -> None:
    done = run("import graphio as tf; tf.constant", mixed, packages)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("RuntimeWarning") == 1
    assert REPORT in done.stderr and REMEDY in done.stderr


def test_the_command_reports_another_project_that_has_taken_the_package_over(
    mixed: Path, packages: Path
) -> None:
    (mixed / "graphio" / "__init__.py").unlink()
    (mixed / "graphio" / "__init__.py").write_text(FOREIGN)
    done = run("-m graphio --version", mixed, packages)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert REPORT in done.stderr and REMEDY in done.stderr


def test_a_missing_module_next_to_another_project_names_the_cause(
    mixed: Path, packages: Path
) -> None:
    line = last_line(run(WHERE, mixed, packages))
    assert REPORT in line and REMEDY in line


def test_a_module_of_that_name_elsewhere_is_no_conflict(
    mixed: Path, checkout: Path, packages: Path
) -> None:
    ask = "from graphio.support import installation; print(repr(installation.conflict()))"
    done = run(ask, checkout, mixed, packages)
    assert (done.stdout, done.stderr) == ("''\n", "")


@pytest.mark.parametrize(
    ("record", "published", "command"),
    [
        (None, False, "pip install '.[cli]' tqdm in the checkout"),
        (None, True, "pip install 'graphio-ml[cli]' tqdm"),
        ({"dir_info": {}}, False, "pip install '.[cli]' tqdm in the checkout {}"),
        ({"dir_info": {"editable": True}}, True, "pip install -e '.[cli]' tqdm in the checkout {}"),
        ({"archive_info": {}}, False, "pip install '.[cli]' tqdm in the checkout"),
        (
            {"dir_info": {}, "url": "file:///gone"},
            False,
            "pip install '.[cli]' tqdm in the checkout",
        ),
    ],
)
def test_a_hint_fits_the_installation(
    record: dict[str, object] | None,
    published: bool,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = tmp_path / "a b"
    source.mkdir()
    info = tmp_path / "graphio_ml-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: graphio-ml\nVersion: 0.1.0\n")
    if record is not None:
        text = json.dumps({"url": source.as_uri(), **record})
        (info / "direct_url.json").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(installation, "PUBLISHED", published)
    assert installation.hint("cli", "tqdm") == command.format(source)


def test_the_name_for_pip_is_that_of_the_project_file() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert f'\nname = "{installation.DISTRIBUTION}"' in project
    assert '"graphio[' not in project


def test_hints_for_extras_are_made_in_one_module() -> None:
    folders = ("graphio", "runtime", "tools", "examples", "benchmarks")
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    made = {path.name for path in sources if re.search(r"pip install ['.]", path.read_text())}
    # a page's text, comments of what others run, and a checkout that may not be the installed one
    others = {"command_line_page.py", "readme_walk.py", "compiled.py"}
    assert made - others == {"installation.py"}


def test_every_hint_names_an_extra_of_the_project() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    sources = "".join(path.read_text() for path in (ROOT / "graphio").rglob("*.py"))
    extras = set(re.findall(r"hint\([\"'](\w+)[\"']", sources))
    assert len(extras) >= 7
    assert [extra for extra in extras if f"\n{extra} = [" not in project] == []


def test_what_only_hints_need_is_loaded_by_none_of_the_imports() -> None:
    code = "import sys, graphio.runtime, graphio.cinfer; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"graphio.runtime", "graphio.cinfer"} <= loaded
    assert not loaded & {"importlib.metadata", "urllib.request", "graphio.cinfer.compiled"}
