"""A figure's contract: drawn from a tidy table alone, with a caption that can be read alone."""

import functools
import inspect
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from kernlab.lab.engine.rows import OK
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import tidy_log_axis
from kernlab.lab.plots.style import house_style, message_figure
from kernlab.paths import output_dir
from kernlab.runtime import write_whole

_SAFE_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")


@dataclass(frozen=True)
class FigureSpec:
    """One figure of a study.

    Parameters
    ----------
    study : str
        Id of the study whose table it draws.
    name : str
        Together, ``<study>-<name>`` names the files.
    caption : str
        What is shown, on which axes, and what to see in it: for a reader who has only this.
    draw : callable
        DataFrame -> Figure. It is handed the finished rows only, in the house style; where none has
        finished it is not called, and the figure says so. Lines that have labels get them written
        beside them, where there is no legend.
    """

    study: str
    name: str
    caption: str
    draw: Callable[[pd.DataFrame], Figure]

    def __post_init__(self):
        if not _SAFE_NAME.fullmatch(self.stem):
            raise ValueError(
                f"figure {self.stem!r}: study and name become a file name; "
                "use letters, digits, '-', '_', '.' and '+'"
            )
        if not self.caption.strip():
            raise ValueError(f"figure {self.stem!r} has no caption")
        # The guard sits on draw itself: notebooks, explorers and the report all call that.
        object.__setattr__(self, "draw", _on_finished_rows(self.draw, self.study))

    @property
    def stem(self):
        return f"{self.study}-{self.name}"


def figure(study, name, /, also="", **own):
    """Make a drawing function a figure of a study; its docstring is the caption.

    Put it once for each figure where a function serves several.

    Parameters
    ----------
    study, name : str
        As in `FigureSpec`.
    also : str
        Follows the caption: what several captions say.
    **own
        Arguments of the function in this figure; {places} of the caption that have their names
        are filled in.
    """

    def enter(draw):
        caption = " ".join([*inspect.getdoc(draw).split(), also]).strip()
        for place, value in own.items():
            caption = caption.replace(f"{{{place}}}", str(value))
        spec = FigureSpec(study, name, caption, functools.partial(draw, **own) if own else draw)
        draw.specs = [spec, *getattr(draw, "specs", ())]
        return draw

    return enter


def declared(*namespaces):
    """The figures declared in modules, given as their `vars`, in the order of their functions."""
    return [
        spec
        for names in namespaces
        for value in names.values()
        if getattr(value, "__module__", None) == names["__name__"]
        for spec in getattr(value, "specs", ())
    ]


def by_study(specs):
    """Specs as a dict from study id to its list of figures, in the order given; no stem twice."""
    grouped, seen = {}, set()
    for spec in specs:
        if spec.stem in seen:
            raise ValueError(f"two figures are called {spec.stem!r}")
        seen.add(spec.stem)
        grouped.setdefault(spec.study, []).append(spec)
    return grouped


def finished(table):
    """The rows of a study's table that were measured."""
    return table[table["status"] == OK] if "status" in table else table


def draw_figures(specs, table, profile, out=None, study=None):
    """Draw and save figures of one study, each with its caption in a JSON file beside it.

    Their files are named after `study`, which may be one with other parameters than the specs'.

    A figure that fails does not keep the others from being drawn; the failures are raised together
    at the end.

    Returns
    -------
    list of Path
        The PNG files.
    """
    folder = output_dir(profile, out) / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    drawn, failures = [], []
    for spec in specs:
        stem = f"{study or spec.study}-{spec.name}"
        try:
            png, _ = save(spec.draw(table), folder / stem)
        except Exception as error:
            error.add_note(f"while drawing figure {stem}")
            failures.append(error)
            continue
        described = {
            "study": study or spec.study,
            "name": spec.name,
            "caption": spec.caption.strip(),
            "profile": profile,
            "rows": len(table),
            "finished": len(finished(table)),
            "recorded": int((table["source"] == "recorded").sum()) if "source" in table else 0,
        }
        write_whole(folder / f"{stem}.json", json.dumps(described, indent=1, ensure_ascii=False))
        drawn.append(png)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(specs)} figures failed", failures)
    return drawn


def save(figure, stem):
    """Write ``<stem>.png`` and ``<stem>.svg``; the same figure gives the same bytes.

    Returns
    -------
    (Path, Path)
    """
    stem = Path(stem)
    files = []
    with house_style():
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            picture = io.BytesIO()
            figure.savefig(picture, format=suffix, metadata=metadata)
            files.append(stem.with_name(f"{stem.name}.{suffix}"))
            write_whole(files[-1], picture.getvalue())
    return tuple(files)


def _on_finished_rows(draw, study):
    """The figure of the finished rows; a card where there is nothing to see."""

    @functools.wraps(draw)
    def guarded(table):
        rows, figure = finished(table), None
        if len(rows):
            with house_style():
                figure = draw(rows)
                for ax in figure.axes:
                    if ax.get_legend() is None:
                        label_lines(ax)
                for ax in figure.axes:
                    tidy_log_axis(ax.xaxis)
                    tidy_log_axis(ax.yaxis)
        if figure is None or not any(ax.has_data() for ax in figure.axes):
            return message_figure(_card(table, study))
        return figure

    return guarded


def _card(table, study):
    """What a figure without data takes: which data, which command, how long."""
    lines = [f"Nothing computed yet: kernlab reproduce {study} --profile standard"]
    if len(table) and "message" in table:
        lines += [" ".join(str(m).split())[:90] for m in table["message"].unique()[:3] if m]
    return "\n".join(lines)
