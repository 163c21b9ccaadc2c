"""The gallery: the few pictures and timing tables that the README shows, with machine and date."""

import datetime

from kernlab.lab.catalogue import FIGURES, StudyError, get_study
from kernlab.lab.explorers import playground
from kernlab.lab.report.machines import machines
from kernlab.lab.report.outputs import read_provenance, read_tables
from kernlab.lab.report.text import bench_text
from kernlab.paths import output_dir, project_root
from kernlab.runtime import write_whole

PICTURES = ("llsvm-prop1-differences", "sparse-margin-lines")
PLAYGROUND = (
    "A kernel machine in the plane: its boundary, its margins (dashed) and its support vectors "
    "(ringed), as the playground of the first notebook draws it."
)


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
    made |= {f"{stem}.png": _picture(stem, profile, out) for stem in PICTURES}
    provenance = read_provenance(profile, out)
    for study, table in sorted(read_tables(profile, out).items()):
        if study.startswith("bench-"):
            machine = _machine({study: provenance.get(study, {})})
            made[f"{study}.txt"] = f"{machine}\n\n{bench_text(get_study(study), table)}\n".encode()
    made["README.md"] = _page(made, provenance, profile).encode()
    for name, content in made.items():
        write_whole(gallery / name, content)
    return [gallery / name for name in made]


def _picture(stem, profile, out):
    path = output_dir(profile, out) / "figures" / f"{stem}.png"
    if not path.is_file():
        raise StudyError(f"{path.name} is not there yet: kernlab reproduce --profile {profile}")
    return path.read_bytes()


def _page(made, provenance, profile):
    """What the gallery holds, and where it comes from."""
    captions = {spec.stem: spec.caption for specs in FIGURES.values() for spec in specs}
    lines = ["# Gallery", "", f"Profile {profile}. {_machine(provenance)}", ""]
    for name in made:
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
