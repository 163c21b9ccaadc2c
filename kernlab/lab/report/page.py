"""The report as one file that opens from disk: no server, no network, nothing beside it needed."""

import base64
import datetime
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kernlab.lab.engine.run import get_profile
from kernlab.lab.report import numbers, outputs
from kernlab.lab.report.images import embed
from kernlab.lab.report.machines import machines
from kernlab.lab.report.papers import group_by_paper
from kernlab.lab.report.scorecard import scorecard
from kernlab.lab.report.verdicts import paper_cards, tally
from kernlab.lab.report.views import notebook_links, study_tables
from kernlab.paths import output_dir
from kernlab.runtime import write_whole

_FOLDER = Path(__file__).parent


def build_report(profile, out=None):
    """Build the report of a profile from whatever its folder holds.

    Parameters
    ----------
    profile : {"quick", "standard", "paper"}
    out : path, optional
        The folder of the results, as for the studies.

    Returns
    -------
    Path
        ``<output_dir(profile, out)>/index.html``; the scorecard lies beside it as CSV.
    """
    described = get_profile(profile)
    folder = output_dir(profile, out)
    folder.mkdir(parents=True, exist_ok=True)
    problems = []
    tables = outputs.read_tables(profile, out, problems)
    provenance = outputs.read_provenance(profile, out, problems)
    pictures = outputs.read_pictures(profile, out, problems)
    notebooks = outputs.read_notebooks(profile, out, problems)
    card = scorecard(profile, out)
    html = render(
        profile=described,
        built=datetime.datetime.now().astimezone(),
        problems=[*problems, *card.attrs["problems"]],
        totals=tally(card["status"]),
        papers=paper_cards(card),
        gallery=group_by_paper(list(zip(pictures, embed(pictures), strict=True)), _study_of),
        studies=group_by_paper(study_tables(tables, provenance), lambda table: table["id"]),
        notebooks=notebook_links(notebooks),
        machines=machines(provenance),
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
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": numbers.as_text,
        "difference": numbers.as_difference,
        "duration": numbers.as_duration,
    }
    return environment.get_template("template.html").render(
        style=Markup(_source("report.css")),
        script=Markup(script),
        script_digest=f"sha256-{digest}",
        **content,
    )


def _source(name):
    # Only our own two files are inlined unescaped; nothing from a table or a caption ever is.
    return (_FOLDER / name).read_text(encoding="utf-8")


def _study_of(picture_and_address):
    return picture_and_address[0].study
