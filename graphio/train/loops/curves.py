"""Curves of trainings as pictures, by matplotlib."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.support import api_guard, installation

if TYPE_CHECKING:
    from graphio.train.loops.history import Curve, History

__all__ = ["plot_curves"]

Array = np.ndarray[Any, Any]
_WIDTH, _HEIGHT, _DOTS = 8.0, 3.5, 120  # inches a picture and a name, dots an inch
_STYLES = ("-", ":", "--", "-.")  # distinguish histories that may overlap


@api_guard.guarded
def plot_curves(
    histories: History | Mapping[str, History],
    path: str | os.PathLike[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    smooth: int = 1,
    log_scale: bool = False,
    marks: Mapping[int, str] | None = None,
    title: str = "",
) -> Any:
    """Draws the curves of one training or of several in one picture, one below the other.

    Args:
        histories: a History, or several by what to call them.
        path: a file to be written, of a kind that matplotlib knows (.png, .svg, .pdf); None: none.
        names: what to draw; None: all.
        smooth: so many values are one point, their mean; what they were is drawn thin.
        log_scale: whether the values' axis is logarithmic.
        marks: labels at steps, such as where a training went on.
        title: above all.

    Returns:
        The matplotlib figure.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: there are no values to draw, or smooth is less than 1.
        KeyError: a name that is in none of the histories.
    """
    if smooth < 1:
        raise ValueError(f"smooth is {smooth}, expected 1 or more")
    runs = histories if isinstance(histories, Mapping) else {"": histories}
    every = list(dict.fromkeys(name for run in runs.values() for name in run.names))
    chosen = every if names is None else list(names)
    for name in chosen:
        if name not in every:
            raise KeyError(f"there is no {name!r} in the histories; there are {every}")
    if not chosen:
        raise ValueError("plot_curves: the histories hold no numbers")
    figure = _figure_class()(figsize=(_WIDTH, _HEIGHT * len(chosen)), layout="constrained")
    grid = figure.subplots(len(chosen), squeeze=False)[:, 0]
    for axes, name in zip(grid, chosen, strict=True):
        for (label, run), style in zip(runs.items(), _STYLES * len(runs), strict=False):
            if name in run.names:
                _draw(axes, run[name], smooth, label, style)
        _dress(axes, name, log_scale, marks or {}, legend=any(runs))
    grid[0].set_title(title)
    if path is not None:
        figure.savefig(os.fspath(path), dpi=_DOTS)
    return figure


def _figure_class() -> Any:
    """matplotlib's Figure, which needs no window and changes nothing of the program's."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(f"pictures need matplotlib: {installation.hint('plots')}") from None
    return Figure


def _draw(axes: Any, curve: Curve, smooth: int, label: str, style: str) -> None:
    width = min(smooth, len(curve.values))
    means = np.convolve(curve.values, np.ones(width) / width, "valid")
    (line,) = axes.plot(curve.steps[width - 1 :], means, style, lw=2, label=label or None)
    if width > 1:
        axes.plot(curve.steps, curve.values, color=line.get_color(), lw=0.7, alpha=0.3)


def _dress(axes: Any, name: str, log_scale: bool, marks: Mapping[int, str], legend: bool) -> None:
    axes.set(xlabel="step", ylabel=name, yscale="log" if log_scale else "linear")
    for step, text in marks.items():
        axes.axvline(step, color="gray", lw=1)
        style = {"xycoords": axes.get_xaxis_transform(), "rotation": 90, "color": "gray"}
        axes.annotate(text, (step, 0.03), va="bottom", ha="right", **style)
    if legend:
        axes.legend()


def svg_of(history: History) -> str:
    """The curves as an SVG element for a notebook; "" without matplotlib."""
    try:
        figure = plot_curves(history)
    except ImportError:
        return ""
    text = io.StringIO()
    figure.savefig(text, format="svg")
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]
