"""What the studies' tests begin with: quick points, measured once, and their rows as a table."""

import functools

import pandas as pd
from drawn_figures import assert_drawn

from kernlab.lab.catalogue import FIGURES, STUDIES
from kernlab.lab.engine.measuring import measure_point
from kernlab.lab.engine.study import point_seed


def record_of(study, point):
    """What the engine keeps of a point, measured on one thread."""
    return measure_point(study.measure, point, point_seed(study, point), 1)


@functools.cache
def kept_record(name, point):
    """That of a registered study's point: several tests look at it."""
    return record_of(STUDIES[name], point)


def rows_of(point, record, statuses=("ok",)):
    """The tidy rows of a point; one that did not end as it should is a failure here."""
    assert record["status"] in statuses, record["message"]
    about = {"dataset": point.dataset, "method": point.method, "variant": point.variant}
    about |= {"repeat": point.repeat, **point.parameters}
    common = {name: record[name] for name in ("status", "message", "threads", "peak_bytes")}
    return [about | row | common for row in record["rows"]]


def table_of(study, points=None, statuses=("ok",)):
    """The tidy rows of some points, those of the quick profile if none are named, measured now."""
    points = study.grid("quick") if points is None else points
    rows = [row for point in points for row in rows_of(point, record_of(study, point), statuses)]
    return pd.DataFrame(rows)


def measured(name, keep=lambda point: True):
    """A study and the tidy rows of its quick points, or of some of them."""
    points = filter(keep, STUDIES[name].grid("quick"))
    rows = [row for point in points for row in rows_of(point, kept_record(name, point))]
    return STUDIES[name], pd.DataFrame(rows)


def drawn(name, table):
    """Every figure of a study, drawn from the table; its key figures."""
    for spec in FIGURES[name]:
        assert_drawn(spec.draw(table))
    return STUDIES[name].key_figures(table)
