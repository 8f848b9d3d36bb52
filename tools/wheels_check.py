"""Builds what is published and tries the wheel in an empty environment of every Python there is.

python tools/wheels_check.py            dist/: source archive, wheel; then all Pythons, as a table
python tools/wheels_check.py --sbom     and dist/graphio_ml-<version>.cdx.json: all that it installs

Pythons are those of PATH, of pyenv and of uv, 3.10 to 3.14; --need names versions that must be
among them. What runs is `graphio selftest`: both engines, all instruction sets, one hash. The first
row has the oldest versions of numpy and other packages that graphio says it works with.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
INSTALLATIONS = ("~/.pyenv/versions/*/bin", "~/.local/share/uv/python/*/bin")
#: lines of a wheel's metadata
NEEDED = r'^Requires-Dist: ([\w-]+)>=([\d.]+)(?:; extra == "cli")?$'
ROW = "{:<8} {:<8} {:<9} {:<8} {:<6} {}"
ASK = "import sys; print('%d.%d' % sys.version_info[:2])"


def run(*command: object, cwd: Path | None = None) -> str:
    words = list(map(str, command))
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def candidates(version: str) -> Iterator[str]:
    if found := shutil.which(f"python{version}"):
        yield found
    for pattern in INSTALLATIONS:
        home = Path(pattern).expanduser()
        for folder in Path(home.anchor).glob(str(home.relative_to(home.anchor))):
            yield str(folder / f"python{version}")


def pythons() -> dict[str, str]:
    """The first interpreter of each version that starts; pyenv's shims may not."""
    found = {}
    for version in VERSIONS:
        for path in candidates(version):
            if not Path(path).exists():
                continue
            done = subprocess.run([path, "-c", ASK], capture_output=True, text=True, check=False)
            if done.stdout.strip() == version:
                found[version] = path
                break
    return found


def build() -> tuple[Path, Path]:
    """Source archive, and the wheel made from it and from nothing else."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "-o", DIST, ROOT)
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    run(sys.executable, "-m", "abi3audit", "--strict", wheel)
    return sdist, wheel


def lowest(wheel: Path) -> list[str]:
    """The oldest versions that the wheel says it works with."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    needed = re.findall(NEEDED, metadata, re.MULTILINE)
    return [f"{package}=={version}" for package, version in needed]


def try_wheel(python: str, wheel: Path, versions: list[str]) -> set[str]:
    """Prints a row: the packages of a fresh environment, and the hash of all runs there."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", folder)
        inside = Path(folder) / "bin"
        run(inside / "python", "-m", "pip", "install", "-q", f"{wheel}[cli]", *versions)
        report = json.loads(run(inside / "graphio", "selftest", "--json", cwd=Path(folder)))
    cells = [report["versions"][name] for name in ("python", "numpy", "protobuf", "onnx")]
    hashes = {row["sha256"] for row in report["runs"]}
    cells += [f"{time.monotonic() - start:.0f} s", min(hashes)[:16]]
    print(ROW.format(*cells), flush=True)
    return hashes


def sbom(python: str, wheel: Path) -> Path:
    """Parts of an installation without extras, as CycloneDX."""
    made = DIST / (re.sub(r"-cp.*", "", wheel.name) + ".cdx.json")
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", "--without-pip", folder)
        inside = Path(folder) / "bin" / "python"
        run(sys.executable, "-m", "pip", "--python", inside, "install", "-q", wheel)
        options = ["--output-reproducible", "--mc-type", "library", "-o", made]
        options += ["--pyproject", ROOT / "pyproject.toml"]
        run(sys.executable, "-m", "cyclonedx_py", "environment", *options, inside)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--need", nargs="*", default=(), help="versions that must be here")
    parser.add_argument("--sbom", action="store_true")
    arguments = parser.parse_args()
    found = pythons()
    absent = [version for version in arguments.need if version not in found]
    if absent or not found:
        raise SystemExit(f"no Python {', '.join(absent or VERSIONS)}; found {list(found)}")
    sdist, wheel = build()
    for path in (sdist, wheel):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes", flush=True)
    print(ROW.format("python", "numpy", "protobuf", "onnx", "time", "sha256"))
    oldest, newest = list(found.values())[0], list(found.values())[-1]
    hashes = try_wheel(oldest, wheel, lowest(wheel))
    for python in found.values():
        hashes |= try_wheel(python, wheel, [])
    if arguments.sbom:
        print(sbom(newest, wheel).relative_to(ROOT))
    print("not here: " + (", ".join(v for v in VERSIONS if v not in found) or "none"))
    if len(hashes) != 1:
        print("DIFFERENT BITS", file=sys.stderr)
    return len(hashes) != 1


if __name__ == "__main__":
    sys.exit(main())
