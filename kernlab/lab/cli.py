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
    help="quick: embedded data, minutes; standard: the data at hand, hours; paper: full size.",
)
data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Folder of data files (as KERNLAB_DATA).",
)
out_option = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for all results (as KERNLAB_OUT); figures/ by default.",
)
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Processes for studies that are not timings; one for each core by default.",
)
fresh_option = click.option("--fresh", is_flag=True, help="Discard what was computed before.")


class House(click.Group):
    """Commands whose known errors are a paragraph, not a traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(
                "\nInterrupted. All that was finished is kept; the same command goes on from "
                "there.",
                err=True,
            )
            ctx.exit(INTERRUPTED)
        except click.exceptions.ClickException:
            raise
        except Exception as error:
            if ctx.params.get("debug") or not is_known(error):
                raise
            click.echo(f"Error: {error}", err=True)
            ctx.exit(1)


def is_known(error):
    """Whether an error was raised for people to read: one of kernlab's own, or the system's."""
    ours = any(kind.__module__.startswith("kernlab.") for kind in type(error).__mro__)
    return ours or isinstance(error, OSError)


@click.group(cls=House, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kernlab")
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
def main(debug):
    """Kernel support vector machines through something cheaper than the kernel matrix."""


@main.command()
def doctor():
    """Check what is installed, which data are at hand, and say what to do about problems."""
    from kernlab.lab.doctor import diagnose

    text, well = diagnose()
    click.echo(text)
    sys.exit(0 if well else 1)


@main.command()
@click.argument("names", nargs=-1, metavar="[IDS|PAPERS|NOTEBOOKS]...")
@profile_option
@jobs_option
@data_option
@out_option
@fresh_option
@click.option("--list", "only_list", is_flag=True, help="Show what would be done, and stop.")
def reproduce(names, profile, jobs, data, out, fresh, only_list):
    """Run studies, draw their figures, execute notebooks; with no names everything, and the report.

    What was computed before is kept. The exit code is 0 only if all that was asked for was done.
    """
    _use(data, out)
    from kernlab.lab.report import reproduce as work
    from kernlab.runtime import thread_count

    selection = work.select(names)
    if only_list:
        click.echo(_listing(selection))
        return
    done = work.reproduce(
        selection, profile, jobs=jobs or thread_count(), fresh=fresh, say=click.echo
    )
    click.echo("\n" + work.summary(done))
    sys.exit(1 if done.failures() else 0)


@main.command()
@profile_option
@out_option
@click.option("--gallery", is_flag=True, help="Also renew figures/gallery, which README shows.")
def report(profile, out, gallery):
    """Build the report page from what has been computed."""
    _use(None, out)
    from kernlab.lab.report import build_report

    click.echo(build_report(profile))
    if gallery:
        from kernlab.lab.report.gallery import renew_gallery

        for path in renew_gallery(profile):
            click.echo(path)


@main.command()
@click.argument("name", required=False)
@profile_option
@data_option
@out_option
@fresh_option
def bench(name, profile, data, out, fresh):
    """Time kernlab against its peers; without a name, list what can be timed."""
    _use(data, out)
    from kernlab.lab.catalogue import STUDIES, execute
    from kernlab.lab.engine.registry import unknown
    from kernlab.lab.report.text import align, bench_text

    benches = {id: study for id, study in STUDIES.items() if id.startswith("bench-")}
    if name is None:
        rows = [(id.removeprefix("bench-"), study.question) for id, study in benches.items()]
        click.echo(align(rows, ("name", "question")) if rows else "There is nothing to time yet.")
        return
    id = name if name in benches else f"bench-{name}"
    if id not in benches:
        raise unknown("benchmark", name, [known.removeprefix("bench-") for known in benches])
    outcome = execute(id, profile, fresh=fresh, jobs=1)
    click.echo(bench_text(benches[id], outcome.table))
    for note in outcome.notes:
        click.echo(f"\n{note}")
    sys.exit(1 if outcome.shortcoming(profile) else 0)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def lab(options):
    """Open the notebooks in JupyterLab, on this machine alone. OPTIONS go to JupyterLab."""
    from kernlab.paths import notebooks_dir

    folder = notebooks_dir()
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
    """The data sets: what there is, what is at hand, getting and checking it."""


@data.command("list")
def list_data():
    """Every data set, its size, and whether it is at hand."""
    from kernlab.datasets import list_datasets
    from kernlab.lab.report.text import align

    table = list_datasets()
    rows = [
        (
            row.name,
            _count(row.rows),
            _count(row.features),
            row.classes,
            row.where or "no",
            row.title,
        )
        for row in table.itertuples(index=False)
    ]
    click.echo(align(rows, ("name", "rows", "features", "classes", "at hand", "title")))


@data.command()
@click.argument("names", nargs=-1, required=True)
def get(names):
    """Have data sets at hand, downloading what is missing."""
    from kernlab.datasets import get_dataset

    for name in names:
        paths = get_dataset(name)
        click.echo("\n".join(map(str, paths)) if paths else f"{name}: made here, no file is needed")


@data.command()
@click.argument("names", nargs=-1)
def verify(names):
    """Check the files of data sets (all that are at hand by default) against their checksums."""
    from kernlab.datasets import verify_datasets
    from kernlab.lab.report.text import align

    table = verify_datasets(names or None)
    if not names:
        table = table[table["status"] != "missing"]
    click.echo(align(table.itertuples(index=False), table.columns))
    sys.exit(0 if table["status"].isin(("ok", "derived", "unknown")).all() else 1)


@data.command()
@click.argument("name")
def path(name):
    """Where the files of a data set are."""
    from kernlab.datasets import data_path

    click.echo("\n".join(map(str, data_path(name))))


@main.group()
def notebooks():
    """The committed notebooks: renewing them, holding them to the house rules."""


@notebooks.command()
@click.argument("names", nargs=-1)
def refresh(names):
    """Execute notebooks (all by default) with the quick profile and write them back, normalised."""
    from kernlab.lab.report.refresh_notebooks import refresh_notebooks

    for file, changed in refresh_notebooks(names).items():
        click.echo(f"{file.stem}: {'renewed' if changed else 'as it was'}")


@notebooks.command()
@click.argument("files", nargs=-1)
def check(files):
    """Hold notebooks (all by default) to the house rules: one line for each breach."""
    from kernlab.lab.report.notebook_rules import check_notebooks

    violations = check_notebooks(files)
    for violation in violations:
        click.echo(violation)
    sys.exit(1 if violations else 0)


def _use(data, out):
    """Options that every process started from here must know of as well."""
    for variable, folder in (("KERNLAB_DATA", data), ("KERNLAB_OUT", out)):
        if folder is not None:
            os.environ[variable] = str(folder.expanduser().resolve())


def _listing(selection):
    from kernlab.lab.report.text import align

    rows = [(study.id, study.paper, study.question) for study in selection.studies]
    rows += [(name, "notebook", "") for name in selection.notebooks]
    return align(rows, ("name", "paper", "what it finds out"))


def _count(number):
    import pandas as pd

    return "" if pd.isna(number) else f"{int(number):,}"
