"""What the README shows: its pictures and timing tables, and the scorecard of the record."""

import datetime

from kernlab.lab.catalogue import FIGURES, STUDIES, get_study
from kernlab.lab.engine import StudyError
from kernlab.lab.engine.record import recorded
from kernlab.lab.explorers import playground
from kernlab.lab.plots.registry import save
from kernlab.lab.report.outputs import machines, read_provenance, read_tables
from kernlab.lab.report.page import PAPERS, paper_of
from kernlab.lab.report.scoring import STATUSES, scorecard
from kernlab.lab.report.text import as_text, bench_text
from kernlab.paths import output_dir, project_root
from kernlab.runtime import write_whole

PICTURES = ("llsvm-prop1-differences", "sparse-margin-lines")
FUZZED = "fuzz.txt"  # what `make fuzz` found last
RESULT = "lasn-t4-accuracy"  # the figure of README, drawn from the record
BEGIN, END = "<!-- scorecard of the record: kernlab report --readme -->", "<!-- scorecard ends -->"
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
    lines = [" | ".join(header), " | ".join(["---", *["---:"] * (len(header) - 1)])]
    lines += [" | ".join([name, as_text(sum(row)), *map(as_text, row)]) for name, *row in rows]
    return "\n".join([
        f"On record are {as_text(measured)} of the {as_text(len(card))} results that the five "
        f"papers print ({len(tables)} studies; data sets, settings and quotations not counted):",
        "", *[f"| {line.strip()} |" for line in lines],
    ])  # fmt: skip


def renew_readme():
    """Write the record's scorecard and its figure into README; whether it was another before."""
    root = project_root()
    if root is None:
        raise StudyError("README is part of a checkout of kernlab, and this is none.")
    known = recorded(RESULT.rpartition("-")[0])
    if known is not None:
        (spec,) = (s for s in FIGURES[RESULT.rpartition("-")[0]] if s.stem == RESULT)
        _, svg = save(spec.draw(known), root / "figures" / "gallery" / RESULT)
        svg.unlink()
    readme = root / "README.md"
    before = readme.read_text(encoding="utf-8")
    head, _, rest = before.partition(BEGIN)
    now = f"{head}{BEGIN}\n{headline()}\n{END}{rest.partition(END)[2]}"
    write_whole(readme, now)
    return now != before


def renew_gallery(profile="quick", out=None):
    """Copy chosen figures and all timing tables of a profile to figures/gallery; their paths."""
    root = project_root()
    if root is None:
        raise StudyError("The gallery is part of a checkout of kernlab, and this is none.")
    gallery = root / "figures" / "gallery"
    gallery.mkdir(parents=True, exist_ok=True)
    explorer = playground()
    explorer.set(gamma=3.0)
    made = {"playground.png": explorer.png}
    for path in (output_dir(profile, out) / "figures" / f"{stem}.png" for stem in PICTURES):
        if not path.is_file():
            raise StudyError(f"{path.name} is not there yet: kernlab reproduce --profile {profile}")
        made[path.name] = path.read_bytes()
    provenance = read_provenance(profile, out)
    for study, table in sorted(read_tables(profile, out).items()):
        if study.startswith("bench-"):
            machine = _machine({study: provenance.get(study, {})})
            made[f"{study}.txt"] = f"{machine}\n\n{bench_text(get_study(study), table)}\n".encode()
    kept = [FUZZED] if (gallery / FUZZED).is_file() else []
    made["README.md"] = _page([*made, *kept], provenance, profile).encode()
    for name, content in made.items():
        write_whole(gallery / name, content)
    return [gallery / name for name in made]


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
