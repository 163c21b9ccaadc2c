"""The report as one file that opens from disk: no server, no network, nothing beside it needed."""

import base64
import datetime
import hashlib
import io
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from kernlab.lab.catalogue import FIGURES, STUDIES
from kernlab.lab.engine.run import get_profile
from kernlab.lab.plots.registry import finished
from kernlab.lab.plots.style import in_few_colours
from kernlab.lab.published import published, published_ids
from kernlab.lab.report import outputs, text
from kernlab.lab.report.scoring import STATUSES, changed, parted, scorecard, tally
from kernlab.paths import output_dir
from kernlab.runtime import format_bytes, write_whole

PAPERS = {
    "across": "Across the papers",
    "llsvm": "LLSVM",
    "lasn": "LASN",
    "sparse": "Sparse Cholesky",
    "hss": "ADMM-HSS",
    "fpc": "FPC",
}
ROW_LIMIT = 200
"""Rows of one study on the page; a reader who wants all has the CSV file beside it."""
PAGE_BUDGET = 9_500_000
"""Characters that all pictures together may take; the page should stay below 15 MB."""
# A sign beside the word: colour alone says nothing to many readers, and to no printer.
SIGNS = dict(zip(STATUSES, "✓▲≠○×~–", strict=True))

_FOLDER = Path(__file__).parent
_SHARP_LIMIT, _SMALL_WIDTH = 300_000, 900  # of an SVG in bytes, of a reduced PNG in pixels
_TILE, _STEP, _LINES = 7, 8, 6
_ALWAYS_SHOWN = ("dataset", "method", "status")
_STATES = {"ok": "✓", "failed": "✗", "not run": "–"}


def build_report(profile, out=None, against=None):
    """Build the report of a profile from whatever its folder holds, and from the record.

    Parameters
    ----------
    profile : {"quick", "standard", "paper"}
    out : path, optional
        The folder of the results, as for the studies.
    against : path, optional
        The folder of another run's report: results that differ from it are listed.

    Returns
    -------
    Path
        ``<output_dir(profile, out)>/index.html``; the scorecard lies beside it as CSV, and in
        `data` each table as it was drawn and compared, live and recorded rows together.
    """
    described = get_profile(profile)
    folder = output_dir(profile, out)
    folder.mkdir(parents=True, exist_ok=True)
    problems = []
    tables = outputs.read_tables(profile, out, problems)
    provenance = outputs.read_provenance(profile, out, problems)
    pictures = outputs.read_pictures(profile, out, problems)
    notebooks = outputs.read_notebooks(profile, out, problems)
    card = scorecard(profile, out, tables)
    changes = None if against is None else list(changed(card, against).itertuples(index=False))
    (folder / "data").mkdir(exist_ok=True)
    for study_id, table in tables.items():
        write_whole(folder / "data" / f"{study_id}.csv", table.to_csv(index=False))
    links = _linked(tables, pictures, notebooks)
    results = card[card["kind"] == "result"]
    shown = [
        {"picture": picture, "address": address, "links": links(picture.study)}
        for picture, address in zip(pictures, embed(pictures), strict=True)
    ]
    rows = [_study_table(id, table, provenance, links) for id, table in tables.items()]
    html = render(
        profile=described,
        built=datetime.datetime.now().astimezone(),
        problems=[*problems, *card.attrs["problems"]],
        totals=_counts(results["status"]),
        sources=results["source"].value_counts().to_dict(),
        others=[(kind, sum(row), sum(row[:3])) for kind, *row in tally(card).itertuples()][1:4],
        papers=_papers(card, links),
        gallery=_by_paper(shown, lambda thing: thing["picture"].study),
        missing=_cards(pictures, tables, profile),
        studies=_by_paper(rows, lambda study: study["id"]),
        notebooks=notebooks,
        machines=outputs.machines(provenance),
        changes=changes,
        against="" if against is None else Path(against).name,
    )
    write_whole(folder / "scorecard.csv", card.to_csv(index=False).encode())
    page = folder / "index.html"
    write_whole(page, html.encode())
    return page


def render(**content):
    """The page's HTML. Everything in `content` is text and gets escaped."""
    script = _source("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "math": text.with_mathml,
        "plain": text.without_math,
        "number": text.as_text,
        "difference": text.as_difference,
        "duration": text.as_duration,
        "slug": lambda status: status.replace(" ", "-"),
    }
    return environment.get_template("template.html").render(
        style=Markup(_source("report.css")),
        script=Markup(script),
        script_digest=f"sha256-{digest}",
        signs=SIGNS,
        **content,
    )


def _source(name):
    # Only our own two files are inlined unescaped; nothing from a table or a caption ever is.
    return (_FOLDER / name).read_text(encoding="utf-8")


# ------------------------------------------------------------------------- what belongs together
def paper_of(study_id):
    """The paper that a study belongs to, or "across" for those that compare papers."""
    prefix = study_id.split("-")[0]
    return prefix if prefix in PAPERS else "across"


def _title(study_id):
    """What a study is about, in a few words."""
    if study_id in STUDIES:
        return STUDIES[study_id].title
    return published(study_id).attrs["title"] if study_id in published_ids() else study_id


def _by_paper(things, study_of):
    """Things that belong to studies as a list of groups, in the papers' order."""
    groups = {paper: [] for paper in PAPERS}
    for thing in things:
        groups[paper_of(study_of(thing))].append(thing)
    return [
        {"paper": paper, "name": PAPERS[paper], "things": group}
        for paper, group in groups.items()
        if group
    ]


def _linked(tables, pictures, notebooks):
    """A function: study -> (text, address) of its figures, table, numbers, notebooks and paper."""
    printed = set(published_ids())

    def links(study):
        pairs = [("published", f"#{study}")] if study in printed else []
        own = (picture for picture in pictures if picture.study == study)
        pairs += [(f"figure {picture.name}", f"#figure-{picture.stem}") for picture in own]
        pairs += [("rows", f"#table-{study}")] if study in tables else []
        for run in notebooks:
            if study in run.studies:
                ending = "html" if run.has_html else "ipynb"
                pairs.append((f"notebook {run.name[:2]}", f"notebooks/{run.name}.{ending}"))
        paper = published(study).attrs["link"] if study in printed else ""
        return pairs + ([("paper", paper)] if paper else [])

    return links


# -------------------------------------------------------------------------------- the scorecard
def _counts(statuses):
    """How many numbers have each status, in the fixed order of the statuses."""
    return statuses.value_counts().reindex(list(STATUSES), fill_value=0).to_dict()


def _papers(card, links):
    """One entry per paper: reference, counts of its results, and its tables."""
    tables = [_published(id, rows, links) for id, rows in card.groupby("study", sort=False)]
    groups = _by_paper(tables, lambda table: table["id"])
    for group in groups:
        group["tables"] = group.pop("things")
        told = published(group["tables"][0]["id"]).attrs
        group["reference"], group["link"] = told["reference"], told["link"]
        mine = card["study"].map(paper_of) == group["paper"]
        group["tally"] = _counts(card.loc[mine & (card["kind"] == "result"), "status"])
    return groups


def _published(study_id, rows, links):
    """One printed table: what is compared row by row, the rest by its reasons, each said once."""
    told = published(study_id).attrs
    compared, groups = parted(rows)
    results = rows.loc[rows["kind"] == "result", "status"]
    tolerances = compared.groupby("tolerance", sort=False)["column"].unique()
    return {
        "id": study_id,
        **{name: told[name] for name in ("title", "caption", "source")},
        "links": [pair for pair in links(study_id) if pair[0] != "published"],
        "tally": _counts(results),
        "tiles": _tiles(results),
        "tolerances": [(", ".join(columns), text) for text, columns in tolerances.items()],
        "cells": list(compared.itertuples(index=False)),
        "groups": [
            (reason, list(found.itertuples(index=False))) for reason, found in groups.items()
        ],
    }


def _tiles(statuses):
    """A small map: one tile per result, in printed order down and then across, coloured."""
    paths = dict.fromkeys(STATUSES, "")
    for i, status in enumerate(statuses):
        x, y = divmod(i, _LINES)
        paths[status] += f"M{x * _STEP} {y * _STEP}h{_TILE}v{_TILE}h-{_TILE}z"
    width, height = -(-len(statuses) // _LINES), min(len(statuses), _LINES)
    return {"width": width * _STEP - 1, "height": height * _STEP - 1, "paths": paths}


# ---------------------------------------------------------------------------------- the tables
def _study_table(study_id, table, provenance, links):
    """A study's rows: what varies as columns, what does not as one line above them."""
    filled = [n for n in table if not (table[n].isna() | (table[n] == "")).all()]
    same = [n for n in filled if len(table) > 1 and table[n].nunique(dropna=False) == 1]
    constant = {n: table[n].iloc[0] for n in same if n not in _ALWAYS_SHOWN}
    varying = [name for name in filled if name not in constant]
    shown = table[varying].head(ROW_LIMIT)
    numeric = set(table.select_dtypes("number"))
    study = STUDIES.get(study_id)
    recorded = int((table["source"] == "recorded").sum()) if "source" in table else 0
    return {
        "id": study_id,
        "title": _title(study_id),
        "question": study.question if study else "",
        "rows": len(table),
        "shown": len(shown),
        "recorded": recorded,
        "unfinished": len(table) - len(finished(table)),
        "constant": [(name, _cell(name, value)["text"]) for name, value in constant.items()],
        "columns": [{"name": name, "numeric": name in numeric} for name in varying],
        "cells": [
            [_cell(name, value) for name, value in zip(varying, row, strict=True)]
            for row in shown.itertuples(index=False)
        ],
        "provenance": f"tables/{study_id}.provenance.json" if study_id in provenance else None,
        "links": [pair for pair in links(study_id) if pair[0] != "rows"],
    }


def _cell(name, value):
    """A cell's text, and the number that it is sorted by."""
    if isinstance(value, bool | str) or not hasattr(value, "__float__") or pd.isna(value):
        told = "" if value is None or value is pd.NA else str(value)
        sign = _STATES.get(told, "") if name == "status" else ""
        return {"text": "" if told == "nan" else told, "value": None, "sign": sign}
    form = format_bytes if name.endswith("_bytes") else str if name == "seed" else text.as_text
    return {"text": form(value), "value": repr(float(value)), "sign": ""}


# ---------------------------------------------------------------------------------- the figures
def _cards(pictures, tables, profile):
    """The figures that could not be drawn, by study: what each takes."""
    drawn = {picture.stem for picture in pictures}
    cards = []
    for study_id, specs in FIGURES.items():
        missing = [spec.name for spec in specs if spec.stem not in drawn]
        if missing and study_id in STUDIES:
            known = study_id in tables and len(finished(tables[study_id]))
            what = f"kernlab reproduce {study_id} --profile {profile if known else 'standard'}"
            needs = ", ".join(STUDIES[study_id].needs)
            cards.append({"id": study_id, "title": _title(study_id), "names": missing,
                          "command": what, "needs": needs})  # fmt: skip
    return cards


def embed(pictures, budget=PAGE_BUDGET):
    """A data address for each picture, together within the budget where that is possible.

    SVG is sharp at any size and best, unless a figure with very many marks makes it large. The
    largest pictures give way first: from SVG to PNG, then to a PNG of fewer pixels and colours.

    Parameters
    ----------
    pictures : sequence of Picture
    budget : int
        In characters.

    Returns
    -------
    list of str
    """
    addresses = [_best(picture) for picture in pictures]
    for smaller in (_as_png, _as_small_png):
        by_size = sorted(range(len(pictures)), key=lambda i: -len(addresses[i]))
        for i in by_size:
            if sum(map(len, addresses)) <= budget:
                return addresses
            addresses[i] = min(addresses[i], smaller(pictures[i]) or addresses[i], key=len)
    return addresses


def _best(picture):
    if picture.svg and (picture.svg.stat().st_size <= _SHARP_LIMIT or not picture.png):
        return _address("svg+xml", picture.svg.read_bytes())
    return _as_png(picture)


def _as_png(picture):
    return _address("png", picture.png.read_bytes()) if picture.png else ""


def _as_small_png(picture):
    if not picture.png:
        return ""
    with Image.open(picture.png) as image:
        small = image.convert("RGB")
        small.thumbnail((_SMALL_WIDTH, 10 * _SMALL_WIDTH))
        written = io.BytesIO()
        in_few_colours(small).save(written, "PNG", optimize=True)
    return _address("png", written.getvalue())


def _address(kind, content):
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
