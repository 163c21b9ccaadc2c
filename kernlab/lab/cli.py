"""The command line. Whatever is heavy is imported inside its command, so that help is instant."""

import os
import sys
from pathlib import Path

import click

PROFILES = ("quick", "standard", "paper")
INTERRUPTED = 130

profile_option = click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="quick",
    show_default=True,
    help="quick: embedded data, minutes; standard: the data found here, hours; paper: full size.",
)
data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    callback=lambda ctx, _, folder: _settings(ctx, KERNLAB_DATA=folder),
    expose_value=False,
    help="Folder of data files (as KERNLAB_DATA).",
)
out_option = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    callback=lambda ctx, _, folder: _settings(ctx, KERNLAB_OUT=folder),
    expose_value=False,
    help="Folder for all results (as KERNLAB_OUT); figures/ by default.",
)
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Processes for studies that are not timings; one for each core by default.",
)
fresh_option = click.option("--fresh", is_flag=True, help="Discard what was computed before.")
parameters_option = click.option(
    "-p",
    "parameters",
    multiple=True,
    metavar="NAME=VALUES",
    help="A parameter of the study, such as landmarks=10,20 or datasets=ijcnn1,my.svm.",
)


def _settings(ctx, **folders):
    """Settings that hold while the command runs, for every process started from it too."""
    given = {name: str(f.expanduser().resolve()) for name, f in folders.items() if f is not None}
    if given:
        from kernlab.runtime import environment

        ctx.with_resource(environment(given))


class Commands(click.Group):
    """Commands whose known errors are a paragraph, not a traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            text = (
                "Interrupted. All that was finished is kept; the same command goes on from there."
            )
            click.echo(f"\n{text}", err=True)
            ctx.exit(INTERRUPTED)
        except click.exceptions.ClickException:
            raise
        except Exception as error:
            # Known errors are raised for people to read: kernlab's own, and the system's.
            ours = any(kind.__module__.startswith("kernlab.") for kind in type(error).__mro__)
            if ctx.params.get("debug") or not (ours or isinstance(error, OSError)):
                raise
            click.echo(f"Error: {error}", err=True)
            ctx.exit(1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kernlab")
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
def main(debug):
    """Kernel support vector machines through something cheaper than the kernel matrix."""


@main.command()
@click.option("--compile", "compiles", is_flag=True, help="First compile all loops, and keep them.")
def doctor(compiles):
    """Check what is installed, which data are there, and say what to do about problems."""
    from kernlab.lab.doctor import compile_loops, diagnose

    for machine, why in compile_loops().items() if compiles else ():
        click.echo(f"Loops of {machine} are left to compile: {why}", err=True)
    text, well = diagnose()
    click.echo(text)
    sys.exit(0 if well else 1)


@main.command()
@click.argument("names", nargs=-1, metavar="[IDS|PAPERS|NOTEBOOKS]...")
@parameters_option
@profile_option
@jobs_option
@data_option
@out_option
@fresh_option
@click.option("--list", "only_list", is_flag=True, help="Show what is there and missing, and stop.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Send points of studies that are not timings to a Dask cluster: its address, or local:4x1 "
    "for 4 processes of 1 thread.",
)
def reproduce(names, parameters, profile, jobs, fresh, only_list, scheduler):
    """Run studies, draw their figures, execute notebooks; with no names everything, and the report.

    What was computed before is kept. The exit code is 0 only if all that was asked for was done.
    """
    from kernlab.lab import reproduce as work
    from kernlab.lab.engine.parameters import parse_parameters
    from kernlab.runtime import thread_count

    selection = work.select(names, parse_parameters(parameters))
    if only_list:
        header, *rows = work.listing(selection, profile)
        click.echo(_aligned(rows, header))
        return
    settings = {"jobs": jobs or thread_count(), "scheduler": scheduler, "fresh": fresh}
    done = work.reproduce(selection, profile, say=click.echo, **settings)
    click.echo(f"\n{done}")
    sys.exit(1 if done.failures() else 0)


@main.group()
def record():
    """The rows on record in figures/record: renewing, checking and showing them."""


@record.command()
@click.argument("ids", nargs=-1)
@click.option("--compute", is_flag=True, help="First run the studies under the standard profile.")
@jobs_option
@data_option
@out_option
def update(ids, compute, jobs):
    """Put finished rows of the standard and the paper profile on record."""
    from kernlab.lab.engine import StudyError
    from kernlab.lab.engine.record import update as put
    from kernlab.lab.engine.run import execute
    from kernlab.runtime import thread_count

    refused = False
    for study in _studies(ids):
        if compute:
            execute(study, "standard", jobs=jobs or thread_count())
        try:
            points = put(study)
        except StudyError as error:  # the others go on record all the same
            click.echo(error, err=True)
            refused = True
            continue
        if points or ids:
            click.echo(f"{study.id}: {points} points on record")
    click.echo("README tells of the record too: kernlab report --readme")
    sys.exit(1 if refused and ids else 0)


@record.command("check")
@click.argument("ids", nargs=-1)
@click.option("--sample", type=click.IntRange(min=1), help="So many points, drawn at random.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--cap", default=60.0, show_default=True, help="Leave out points of more seconds.")
@data_option
def check_record(ids, sample, seed, cap):
    """Compute recorded points again; all but times and memory must agree."""
    from kernlab.lab.engine.record import check as compare

    count, differences, not_begun = compare(_studies(ids), sample, seed, cap)
    told = f"{count} points computed again, {len(not_begun)} not begun, {len(differences)} differ"
    click.echo("\n".join([*not_begun, *differences, told]))
    sys.exit(1 if differences or (ids and not count) else 0)


@record.command()
@click.argument("ids", nargs=-1)
def show(ids):
    """What is on record of each study, from when, and of which machine."""
    from kernlab.lab.engine.record import show as told

    table = told(_studies(ids))
    click.echo(_aligned(table.itertuples(index=False), table.columns) if len(table) else "Nothing.")


def _studies(ids):
    from kernlab.lab.catalogue import STUDIES, get_study

    return [get_study(id) for id in ids or STUDIES]


@main.command()
@profile_option
@out_option
@click.option("--gallery", is_flag=True, help="Also renew figures/gallery, which README shows.")
@click.option("--readme", is_flag=True, help="Write the record's scorecard into README instead.")
@click.option("--against", metavar="DIR", help="List what differs from the report in DIR.")
def report(profile, gallery, readme, against):
    """Build the report page from what has been computed, and from the record."""
    from kernlab.lab.engine import StudyError
    from kernlab.lab.engine.rows import tables_dir
    from kernlab.lab.report import build_report

    if readme:
        from kernlab.lab.report.gallery import renew_readme

        click.echo(f"README.md: {'renewed' if renew_readme() else 'as it was'}")
        return
    if not any(tables_dir(profile).glob("*.csv")):
        command = f"kernlab reproduce --profile {profile}"
        raise StudyError(f"Nothing has been computed under the {profile} profile yet: {command}")
    click.echo(build_report(profile, against=against))
    if gallery:
        from kernlab.lab.report.gallery import renew_gallery

        for path in renew_gallery(profile):
            click.echo(path)


@main.command()
@click.argument("name", required=False)
@parameters_option
@click.option("--old", metavar="PATH", help="Another checkout of kernlab, measured beside this.")
@profile_option
@data_option
@out_option
@fresh_option
def bench(name, parameters, old, profile, fresh):
    """Time kernlab against its peers; without a name, list what can be timed."""
    from kernlab.lab.catalogue import STUDIES, get_study
    from kernlab.lab.engine.errors import unknown
    from kernlab.lab.engine.parameters import parse_parameters
    from kernlab.lab.engine.run import execute
    from kernlab.lab.report.text import bench_text

    timed = {id: s for id, s in STUDIES.items() if s.paper == "bench" and s.timing}
    benches = {id.removeprefix("bench-"): study for id, study in timed.items()}
    if name is None:
        rows = [(short, study.question) for short, study in benches.items()]
        click.echo(_aligned(rows, ("name", "question")))
        return
    study = benches.get(name.removeprefix("bench-"))
    if study is None:
        raise unknown("benchmark", name, list(benches))
    given = parse_parameters(parameters) | ({"old": old} if old else {})
    study = get_study(study.id, **given)
    outcome = execute(study, profile, fresh=fresh, jobs=1)
    click.echo("\n\n".join([bench_text(study, outcome.table), *outcome.notes]))
    sys.exit(1 if outcome.shortcoming(profile, named=True) else 0)


@main.command()
@click.argument("file")
@click.option("--seconds", type=float, default=60.0, show_default=True, help="For search and fit.")
@click.option("--memory", default="4GB", show_default=True, help="Beside the rows themselves.")
@click.option("--fit", is_flag=True, help="Search within the budget, and fit.")
@data_option
def recommend(file, seconds, memory, fit):
    """Say which machine to take for a FILE of rows with labels, or a data set, at what cost.

    With --fit it searches parameters and fits the machine, and shows the curve of the search.
    """
    from kernlab import load_dataset
    from kernlab import recommend as choose
    from kernlab.datasets import is_path

    known = None if is_path(file) or Path(file).exists() else load_dataset(file)
    rows = (file,) if known is None else (known.X_train, known.y_train)
    try:
        found = choose(*rows, seconds=seconds, memory=memory, fit=fit)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    parts = [str(found), found.candidates.to_string(index=False)]
    parts += [] if found.curve is None else [found.curve.to_string(index=False)]
    click.echo("\n\n".join(parts))


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def lab(options):
    """Open a working copy of the notebooks in JupyterLab, on this machine alone.

    The copy lies in figures/lab: what is changed there stays there, and git sees none of it.
    OPTIONS go to JupyterLab.
    """
    from kernlab.lab.report.notebooks.files import working_copy

    folder, kept = working_copy()
    for name in kept:
        text = f"{name}: yours is kept, although the notebook has changed since: {folder / name}"
        click.echo(text, err=True)
    command = [sys.executable, "-m", "jupyterlab", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.root_dir={folder}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command += ["--allow-root"]  # Jupyter refuses to start for root otherwise
    # The kernel called python3 is then this Python's, whatever else is installed for the user.
    environment = {**os.environ, "JUPYTER_PREFER_ENV_PATH": "1"}
    sys.stdout.flush()
    os.execve(sys.executable, [*command, *options], environment)


@main.group()
def data():
    """The data sets: what there is, where it is, getting and checking it."""


@data.command("list")
def list_data():
    """Every data set, its size, and where it is."""
    from kernlab.datasets import list_datasets

    table = list_datasets().rename(columns={"where": "found in"})
    for name in ("rows", "features"):
        table[name] = table[name].map("{:,.0f}".format, na_action="ignore")
    columns = ["name", "rows", "features", "classes", "found in", "title"]
    click.echo(_aligned(table[columns].fillna("").itertuples(index=False), columns))


@data.command()
@click.argument("names", nargs=-1, required=True)
def get(names):
    """Download data sets, where they are not there yet."""
    from kernlab.datasets import get_dataset

    for name in names:
        paths = get_dataset(name)
        click.echo("\n".join(map(str, paths)) if paths else f"{name}: made here, no file is needed")


@data.command()
@click.argument("names", nargs=-1)
def verify(names):
    """Check the files of data sets (all that are there by default) against their checksums."""
    from kernlab.datasets import verify_datasets

    table = verify_datasets(names or None)
    if not names:
        table = table[table["status"] != "missing"]
    click.echo(_aligned(table.itertuples(index=False), table.columns))
    sys.exit(0 if table["status"].isin(("ok", "derived", "unknown")).all() else 1)


@data.command()
@click.argument("name")
def path(name):
    """Where the files of a data set are."""
    from kernlab.datasets import data_path

    click.echo("\n".join(map(str, data_path(name))))


@main.group()
def notebooks():
    """The committed notebooks: renewing them, holding them to the rules."""


@notebooks.command()
@click.argument("name")
@click.argument("ids", nargs=-1, required=True)
def new(name, ids):
    """Write a notebook NAME that runs some studies: a beginning that keeps the rules."""
    from kernlab.lab.report.notebooks.refresh import write_skeleton

    click.echo(write_skeleton(name, ids))


@notebooks.command()
@click.argument("names", nargs=-1)
def refresh(names):
    """Execute notebooks (all by default) with the quick profile and write them back, normalised."""
    from kernlab.lab.report.notebooks.refresh import refresh_notebooks

    for file, changed in refresh_notebooks(names).items():
        click.echo(f"{file.stem}: {'renewed' if changed else 'as it was'}")


@notebooks.command()
@click.argument("files", nargs=-1)
def check(files):
    """Hold notebooks (all by default) to the rules: one line for each breach."""
    from kernlab.lab.report.notebooks.rules import check_notebooks

    violations = check_notebooks(files)
    click.echo("\n".join(map(str, violations)) or "The notebooks keep the rules.")
    sys.exit(1 if violations else 0)


def _aligned(rows, header):
    from kernlab.lab.report.text import align

    return align(rows, header)
