"""What the studies' tests begin with: a few points measured, and their rows as a tidy table."""

import pandas as pd
from drawn_figures import assert_drawn

from kernlab.lab.catalogue import FIGURES, STUDIES
from kernlab.lab.engine.measuring import measure_point
from kernlab.lab.engine.study import point_seed


def table_of(study, points):
    """The tidy rows of some points, on one thread; a point that fails is a failure here."""
    rows = []
    for point in points:
        record = measure_point(study.measure, point, point_seed(study, point), 1)
        assert record["status"] == "ok", record["message"]
        about = {
            "dataset": point.dataset,
            "method": point.method,
            "variant": point.variant,
            "repeat": point.repeat,
            **point.parameters,
        }
        common = {name: record[name] for name in ("status", "message", "threads", "peak_bytes")}
        rows += [about | row | common for row in record["rows"]]
    return pd.DataFrame(rows)


def measured(name, keep=lambda point: True):
    """A study and the tidy rows of its quick points."""
    study = STUDIES[name]
    return study, table_of(study, filter(keep, study.grid("quick")))


def drawn(name, table):
    """Every figure of a study, drawn from the table; its key figures."""
    for spec in FIGURES[name]:
        assert_drawn(spec.draw(table))
    return STUDIES[name].key_figures(table)
