"""A small run of synthetic studies: every part of the report has something to show."""

import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine import Point, Study, Tolerance, record
from kernlab.lab.engine.provenance import machine
from kernlab.lab.engine.rows import to_frame
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import bands
from kernlab.lab.plots.registry import FigureSpec, draw_figures
from kernlab.lab.plots.style import new_figure
from kernlab.lab.published import published
from kernlab.lab.report import scoring

HOSTILE = "<script>alert('caught')</script> & \"quoted\" </details><img src=x onerror=alert(1)>"

AVAILABLE = {"a9a": True, "w8a": True, "ijcnn1": False, "madelon": True, "susy": False}
COMPARED = ("lasn-t4", "lasn-t3", "hss-t4", "fpc-t2", "llsvm-t3", "sparse-t2")

ACCURACY = Tolerance(absolute=0.5, better="higher")
TIME = Tolerance(relative=0.2, better="lower")


@contextmanager
def own_registry():
    """No studies, nothing on record, and data sets that are there on every machine or on none."""
    before = dict(STUDIES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "available_sets", lambda local=True: AVAILABLE.get)
        patch.setattr(record, "record_dir", lambda: Path("/no such folder"))
        STUDIES.clear()
        try:
            yield STUDIES
        finally:
            STUDIES.clear()
            STUDIES.update(before)


def register(studies):
    """Enter the studies of the run into a registry."""
    studies |= {study_id: study_of(study_id) for study_id in COMPARED}
    studies["llsvm-prop1"] = study_of("llsvm-prop1", compared=False)


def build(out, studies, profile="quick"):
    """Fill a folder as a run would, and the registry with the studies of that run."""
    register(studies)
    folder = out / profile
    for name in ("tables", "notebooks", "figures"):
        (folder / name).mkdir(parents=True)
    for study_id in COMPARED:
        leave(folder, study_id, table_of(study_id), profile)
    leave(folder, "llsvm-prop1", sweep_table(), profile)
    draw_figures(figures(), sweep_table(), profile, out)
    notebook(folder, "00_start_here", "What a kernel SVM is", seconds=21.4)
    notebook(folder, "10_llsvm", f"LLSVM {HOSTILE}", error=("ValueError", HOSTILE))
    return folder


def study_of(study_id, compared=True):
    columns = set() if not compared else set(published(study_id)["column"])
    return Study(
        id=study_id,
        paper=study_id.split("-")[0],
        title=f"Demonstration of {study_id}",
        question="Does the page show what a study leaves?",
        grid=lambda profile: [Point.make("a9a", "LASN"), Point.make("w8a", "LASN")],
        measure=lambda point, seed: {},
        measured=near_published(study_id) if compared else None,
        tolerances={c: TIME if "time" in c.casefold() else ACCURACY for c in columns},
    )


def near_published(study_id):
    """Measured values for half of the printed ones: some equal, some near, some far."""

    def measured(table):
        printed = published(study_id)
        chosen = printed[printed.index % 2 == 0].dropna(subset="value")
        noise = np.random.default_rng(0).normal(0, 0.004, len(chosen))
        return chosen[["row", "column"]].assign(value=chosen["value"] * (1 + noise))

    return measured


def table_of(study_id):
    rows = []
    rng = np.random.default_rng(1)
    for dataset in ("a9a", "w8a", "ijcnn1", "madelon"):
        for repeat in range(3):
            failed = dataset == "madelon"
            rows.append(
                {
                    "study": study_id,
                    "dataset": dataset,
                    "method": "LASN",
                    "C": 10,
                    "gamma": 0.1304,
                    "seed": 1000 + repeat,
                    "repeat": repeat,
                    "n_train": 32561,
                    "fit_seconds": None if failed else rng.uniform(0.001, 40),
                    "peak_bytes": None if failed else int(rng.uniform(1e5, 1e9)),
                    "test_accuracy": None if failed else rng.uniform(80, 99),
                    "threads": 1,
                    "status": "failed" if failed else "ok",
                    "message": HOSTILE if failed else "",
                }
            )
    rows[-1] |= {"status": "not run", "message": "predicted 812 s, not run"}
    return to_frame(rows, ["C", "gamma"])


def sweep_table():
    rng = np.random.default_rng(2)
    methods = ("LLSVM", "LASN", "SparseCholeskySVC", "HSSSVC", "FPC", "LIBSVM")
    rows = [
        {
            "study": "llsvm-prop1",
            "dataset": "a9a",
            "method": method,
            "k": k,
            "repeat": repeat,
            "fit_seconds": 1e-3 * (i + 1) * k ** (1 + 0.15 * i) * np.exp(rng.normal(0, 0.1)),
            "test_accuracy": 78 + i + 1.5 * np.log10(k) + rng.normal(0, 0.2),
            "status": "ok",
        }
        for i, method in enumerate(methods)
        for k in (50, 100, 200, 500, 1000)
        for repeat in range(5)
    ]
    rows += [{**rows[0], "repeat": 9, "status": "failed", "message": "ValueError: no landmarks"}]
    return to_frame(rows, ["k"])


def drawing(column):
    def draw(table):
        figure, ax = new_figure()
        ax.set(xscale="log", xlabel="landmarks k", ylabel=column)
        bands(ax, table, "k", column, marker="o")
        label_lines(ax)
        return figure

    return draw


def figures():
    time, accuracy = drawing("fit_seconds"), drawing("test_accuracy")
    caption = "Training time against the number of landmarks k on a9a: medians of five repeats."
    return [
        FigureSpec("llsvm-prop1", "time", caption, time),
        FigureSpec("llsvm-prop1", "accuracy", f"Test accuracy against k. {HOSTILE}", accuracy),
        FigureSpec("hss-f2", "heatmap", "Test accuracy over landmarks and methods.", accuracy),
        FigureSpec("sparse-f3", "arrowhead", "Seconds, of another study.", time),
    ]


def leave(folder, study_id, table, profile):
    """Table and provenance of one study, as the engine leaves them."""
    table.to_csv(folder / "tables" / f"{study_id}.csv", index=False)
    run = {
        "started": "2026-03-01T10:00:00+00:00",
        "finished": "2026-03-01T10:02:11+00:00",
        "machine": machine(),
        "points_computed": len(table),
    }
    told = {"study": study_id, "profile": {"name": profile}, "runs": [run]}
    path = folder / "tables" / f"{study_id}.provenance.json"
    path.write_text(json.dumps(told), encoding="utf-8")


def notebook(folder, name, title, seconds=None, error=None):
    outputs = [{"output_type": "error", "ename": error[0], "evalue": error[1]}] if error else []
    content = {
        "cells": [
            {"cell_type": "markdown", "source": [f"# {title}\n", "and more"]},
            {"cell_type": "code", "source": "1 / 0", "outputs": outputs},
        ],
        "metadata": {
            "papermill": {"duration": seconds},
            "kernlab": {"studies": ["llsvm-prop1", "llsvm-t3"]},
        },
    }
    (folder / "notebooks" / f"{name}.ipynb").write_text(json.dumps(content), encoding="utf-8")
    if not error:
        page = f"<!doctype html><title>{name}</title><p>An executed notebook."
        (folder / "notebooks" / f"{name}.html").write_text(page, encoding="utf-8")


def small_table():
    """Two finished rows and one that failed."""
    return pd.DataFrame(
        {
            "study": "lasn-t4",
            "dataset": ["a9a", "a9a", "w8a"],
            "method": "LASN",
            "test_accuracy": [84.0, 85.0, np.nan],
            "status": ["ok", "ok", "failed"],
            "message": ["", "", "ValueError: boom"],
        }
    )
