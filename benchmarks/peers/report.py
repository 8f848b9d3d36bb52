"""Tables and the chart of what was measured."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .goals import Figures, Verdict, best_peer, verdicts
from .latency import ENGINES, OURS, PEERS
from .models import SUITE

PACKAGES = (
    "numpy",
    "onnx",
    "onnxruntime",
    "openvino",
    "torch",
    "ncnn",
    "ai-edge-litert",
    "scikit-learn",
    "skl2onnx",
    "treelite",
    "tl2cgen",
)
SHORT = {
    "cinfer, C": "cinfer C",
    "cinfer, Python": "Py",
    "cinfer, Python, bound": "Py bound",
    "Python runtime": "runtime",
    "onnxruntime, C": "ORT C",
    "onnxruntime, Python": "ORT Py",
    "onnxruntime, Python, bound": "ORT Py bound",
    "openvino, C": "OpenVINO C",
    "openvino, Python": "OpenVINO Py",
    "tflite, Python": "TFLite",
    "by hand, C": "by hand",
}


_NUMBERS = (
    ("family", "cpu family"),
    ("model", "model"),
)  # as they are called, and in /proc/cpuinfo


def processor(info: str) -> str:
    """The first processor of /proc/cpuinfo, "AMD EPYC, family 25 model 17"; "" if it has no name.

    Hosted machines say no more than "AMD EPYC" of processors that differ by a factor of two.
    """
    lines = (line.partition(":") for line in info.split("\n\n")[0].splitlines())
    fields = {key.strip(): value.strip() for key, _, value in lines}
    numbers = [f"{word} {fields[key]}" for word, key in _NUMBERS if key in fields]
    return ", ".join([x for x in (fields.get("model name", ""), " ".join(numbers)) if x])


def machine() -> dict[str, str]:
    """The machine and what is installed, by name."""
    info = Path("/proc/cpuinfo")
    cpu = processor(info.read_text()) if info.exists() else ""
    cpu = cpu or platform.processor() or platform.machine()
    found = {"cpu": cpu, "cores": str(os.cpu_count()), "system": platform.platform()}
    found["python"] = sys.version.split()[0]
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def duration(seconds: float) -> str:
    """With three digits and a unit."""
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def latency_rows(rows: Mapping[str, Figures], key: str) -> list[str]:
    """Times of ours and the ratios of all engines to the best peer; key "median" or "min"."""
    measured = [name for name in SUITE if name in rows]
    shown = [e for e in ENGINES if any(key in rows[m].get(e, {}) for m in measured)]
    lines = []
    for model in measured:
        engines = rows[model]
        timed = [e for e in PEERS if key in engines.get(e, {})]
        best = min(timed, key=lambda e: engines[e][key], default=None)
        cells = [SUITE[model].title, "-" if best is None else SHORT.get(best, best)]
        cells.append("-" if best is None else duration(engines[best][key]))
        for engine in shown:
            figures = engines.get(engine, {})
            if key not in figures:
                cells.append("" if "note" not in figures else "fails")
                continue
            if best is None:
                cells.append(duration(figures[key]))
                continue
            ratio = f"{figures[key] / engines[best][key]:.2f}"
            cells.append(f"**{ratio}**" if engine == best else ratio)
        lines.append(cells)
    return table(["model", "best peer", key, *(SHORT.get(e, e) for e in shown)], lines)


def _title(row: str) -> str:
    """A row's name for readers; "the same" stands for the model above it."""
    title = SUITE[row].title if row in SUITE else row
    if not title.startswith("the same, "):
        return title
    return f"{SUITE[SUITE[row].family].title.split(', ')[0]}, {title.split(', ')[1]}"


def goal_rows(found: list[Verdict]) -> list[str]:
    """All goals: what was measured and whether it is met."""
    lines = []
    for v in found:
        measured = ["-" if x is None else f"{x:.2f}" for x in (v.median, v.least)]
        goal = f"{v.most:.3g}" if v.must else f"{v.most:.3g} (aim)"
        met = "met" if v.met else "**not met**"
        lines.append([_title(v.row), v.ours, v.reference, goal, *measured, met])
    head = ["row", "ours", "compared with", "goal", "by median", "by least", ""]
    return table(head, lines)


def notes(found: Mapping[str, Any]) -> list[str]:
    """Engines that failed, differ or were not compared."""
    rows = found["models"] | {k: v["engines"] for k, v in found["others"].items()}
    return [
        f"- {row}, {engine}: {figures['note']}"
        for row, engines in rows.items()
        for engine, figures in engines.items()
        if figures.get("note", "same") != "same"
    ]


def page(found: Mapping[str, Any]) -> str:
    """All of it in markdown."""
    parts = found["machine"]
    lines = [
        f"{found['date']}, {found['threads']} thread(s). "
        + ", ".join(v if k == "cpu" else f"{k} {v}" for k, v in parts.items()),
        "",
    ]
    models, others = found["models"], found["others"]
    judged = verdicts({**models, **{k: v["engines"] for k, v in others.items()}}, PEERS)
    if judged:
        lines += ["### Goals", "", *goal_rows(judged), ""]
    for key, title in (("median", "Medians"), ("min", "Least times")):
        if models:
            head = f"### {title}, as multiples of the best peer"
            lines += [head, "", *latency_rows(models, key), ""]
    if models and "peak" in found:
        head = f"### Share of {found['peak']:.0f} GFLOP/s, this processor's best on one core"
        lines += [head, "", *limit_rows(models, found["peak"]), ""]
    for other in others.values():
        lines += [f"### {other['title']}", "", *other_rows(other), ""]
    rest = notes(found)
    return "\n".join(lines + (["Not counted or not compared:", "", *rest, ""] if rest else []))


MARKS = ("<!-- begin: python -m benchmarks.peers -->\n", "<!-- end -->")


def put(text: str, made: str) -> str:
    """A page with what was made between its marks.

    Raises:
        ValueError: it has no marks.
    """
    begin, end = (text.index(mark) for mark in MARKS)
    return f"{text[: begin + len(MARKS[0])]}\n{made}\n{text[end:]}"


def limit_rows(rows: Mapping[str, Figures], peak: float) -> list[str]:
    """Shares of the processor's peak that cinfer and the best peer reach, by least times."""
    lines = []
    for name, model in SUITE.items():
        engines = rows.get(name, {})
        timed = [e for e in PEERS if "min" in engines.get(e, {})]
        best = min(timed, key=lambda e: engines[e]["min"], default=None)
        if not model.flops or best is None or "min" not in engines.get("cinfer, C", {}):
            continue
        rates = [1e-9 * model.flops / engines[e]["min"] for e in ("cinfer, C", best)]
        cells = [f"{rate:.3g} GFLOP/s, {rate / peak:.0%}" for rate in rates]
        lines.append([_title(name), f"{model.flops / 1e6:.3g}", *cells, SHORT.get(best, best)])
    return table(["model", "MFLOP", "cinfer C", "best peer", ""], lines)


def other_rows(other: Mapping[str, Any]) -> list[str]:
    """The table of another row: each engine's times and what else it says."""
    extra = list(dict.fromkeys(k for e in other["engines"].values() for k in e.get("more", {})))
    lines = []
    for engine, figures in other["engines"].items():
        times = [duration(figures[k]) if k in figures else "-" for k in ("median", "min")]
        more = [str(figures.get("more", {}).get(k, "")) for k in extra]
        lines.append([engine, *times, *more, figures.get("note", "")])
    return table(["engine", "median", "least", *extra, ""], lines)


def comparison(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Our ratios to the best peer, then and now."""
    lines = []
    for model, engines in now["models"].items():
        old = before["models"].get(model, {})
        cells = [SUITE[model].title]
        for engine in OURS:
            pair = [_ratio(figures, engine) for figures in (old, engines)]
            cells.append(" -> ".join("-" if r is None else f"{r:.2f}" for r in pair))
        lines.append(cells)
    return "\n".join(table(["model", *OURS], lines))


def _ratio(engines: Figures, engine: str) -> float | None:
    best = best_peer(engines, PEERS)
    if best is None or "median" not in engines.get(engine, {}):
        return None
    return float(engines[engine]["median"] / engines[best]["median"])
