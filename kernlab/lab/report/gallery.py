"""What the README shows: its pictures and timing tables, and the scorecard of the record."""

import datetime

from kernlab.lab.catalogue import FIGURES, STUDIES, get_study
from kernlab.lab.engine import StudyError
from kernlab.lab.engine.record import recorded
from kernlab.lab.explorers import playground
from kernlab.lab.papers.across.contestants import CONTESTANTS
from kernlab.lab.papers.across.protocol import settings_of
from kernlab.lab.plots.registry import finished, save
from kernlab.lab.report.outputs import machines, read_provenance, read_tables
from kernlab.lab.report.page import PAPERS, paper_of
from kernlab.lab.report.scoring import STATUSES, scorecard
from kernlab.lab.report.text import as_text, bench_text
from kernlab.paths import output_dir, project_root
from kernlab.runtime import write_whole

PICTURES = ("llsvm-prop1-differences", "sparse-margin-lines")
FUZZED = "fuzz.txt"  # what `make fuzz` found last
RESULTS = ("showdown-pooled", "lasn-t4-accuracy")  # README's figures, drawn from the record
BEGIN, END = "<!-- {} of the record: kernlab report --readme -->", "<!-- {} ends -->"
KINDS = {"paper": "the papers' machines", "kernel": "other kernel machines", "linear": "linear",
         "trees": "trees"}  # fmt: skip
PLAYGROUND = (
    "A kernel machine in the plane: its boundary, its margins (dashed) and its support vectors "
    "(ringed), as the playground of the first notebook draws it."
)


def headline():
    """The scorecard of the record alone, for README: the same on every machine."""
    tables = {id: table for id in STUDIES if (table := recorded(id)) is not None}
    card = scorecard("standard", tables=tables, local=False)
    card = card[card["kind"] == "result"]
    counts = card.groupby([card["study"].map(paper_of), "status"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=STATUSES, fill_value=0)
    measured = int(counts[list(STATUSES[:3])].to_numpy().sum())
    rows = [(PAPERS[paper], *counts.loc[paper]) for paper in PAPERS if paper in counts.index]
    rows.append(("**all**", *counts.sum()))
    header = ["", "results", *STATUSES]
    return "\n".join([
        f"On record are {as_text(measured)} of the {as_text(len(card))} results that the five "
        f"papers print ({len(tables)} studies; data sets, settings and quotations not counted):",
        "", *_table(header, [[name, sum(row), *row] for name, *row in rows]),
    ])  # fmt: skip


def showdown():
    """For README: on each set of the showdown the least error of each kind of method."""
    known = recorded("showdown")
    if known is None:
        return "The showdown is not on record."
    settings = settings_of(finished(known)).dropna(subset="error")
    settings["kind"] = settings["method"].map(lambda method: CONTESTANTS[method].kind)
    best = settings.loc[settings.groupby(["dataset", "kind"], sort=False)["error"].idxmin()]
    rows = []
    for name, own in best.groupby("dataset", sort=False):
        own, least = own.set_index("kind"), own["error"].min()
        rows.append([name, *("–" if k not in own.index else _winner(own.loc[k], least)
                             for k in KINDS)])  # fmt: skip
    return "\n".join(_table(["data set", *KINDS.values()], rows, "---"))


def _winner(row, least):
    told = f"{100 * row['error']:.2f}"
    told = f"**{told}**" if row["error"] <= least else told
    if row["most"] > row["least"]:
        told += f" ± {50 * (row['most'] - row['least']):.2f}"
    return f"{told} % {row['method']}, {row['fit_seconds']:.2g} s"


def _table(header, rows, of_numbers="---:"):
    lines = [header, ["---", *[of_numbers] * (len(header) - 1)]]
    lines += [[v if isinstance(v, str) else as_text(v) for v in row] for row in rows]
    return [f"| {' | '.join(line)} |" for line in lines]


PARTS = {"scorecard": headline, "showdown": showdown}
"""What is written into README between marks, by its name."""


def renew_readme():
    """Write what the record says into README, and its figures; whether it was another before."""
    root = _checkout("README")
    for stem in RESULTS:
        study = stem.rpartition("-")[0]
        if (known := recorded(study)) is not None:
            (spec,) = (s for s in FIGURES[study] if s.stem == stem)
            _, svg = save(spec.draw(finished(known)), root / "figures" / "gallery" / stem)
            svg.unlink()
    readme = root / "README.md"
    now = before = readme.read_text(encoding="utf-8")
    for name, make in PARTS.items():
        head, begin, rest = now.partition(BEGIN.format(name))
        if begin:
            end = END.format(name)
            now = f"{head}{begin}\n{make()}\n{end}{rest.partition(end)[2]}"
    write_whole(readme, now)
    return now != before


def renew_gallery(profile="quick"):
    """Copy chosen figures and all timing tables of a profile to figures/gallery; their paths."""
    gallery = _checkout("The gallery") / "figures" / "gallery"
    gallery.mkdir(parents=True, exist_ok=True)
    explorer = playground()
    explorer.set(gamma=3.0)
    made = {"playground.png": explorer.png}
    for path in (output_dir(profile) / "figures" / f"{stem}.png" for stem in PICTURES):
        if not path.is_file():
            raise StudyError(f"{path.name} is not there yet: kernlab reproduce --profile {profile}")
        made[path.name] = path.read_bytes()
    provenance = read_provenance(profile)
    for study, table in sorted(read_tables(profile).items()):
        if study.startswith("bench-"):
            machine = _machine({study: provenance.get(study, {})})
            made[f"{study}.txt"] = f"{machine}\n\n{bench_text(get_study(study), table)}\n".encode()
    kept = [FUZZED] if (gallery / FUZZED).is_file() else []
    made["README.md"] = _page([*made, *kept], provenance, profile).encode()
    for name, content in made.items():
        write_whole(gallery / name, content)
    return [gallery / name for name in made]


def _checkout(what):
    if project_root() is None:
        raise StudyError(f"{what} is part of a checkout of kernlab, and this is none.")
    return project_root()


def _page(names, provenance, profile):
    """What the gallery holds, and where it comes from."""
    captions = {spec.stem: spec.caption for specs in FIGURES.values() for spec in specs}
    lines = ["# Gallery", "", f"Profile {profile}. {_machine(provenance)}", ""]
    for name in names:
        stem = name.rsplit(".", 1)[0]
        if name.endswith(".png"):
            lines += [f"![{stem}]({name})", "", captions.get(stem, PLAYGROUND), ""]
        else:
            lines += [f"[{stem}]({name})", ""]
    return "\n".join(lines)


def _machine(provenance):
    latest = machines(provenance)[0]
    told = ", ".join(f"{label.lower()} {text}" for label, text in latest["lines"])
    return f"Computed {latest['last'] or datetime.date.today()} on: {told}."
