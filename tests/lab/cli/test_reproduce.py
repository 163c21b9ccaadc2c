"""`kernlab reproduce`: what it does for which names, what it says, what it exits with."""

import signal
import time

import nbformat
import pytest
from cli_house import N_SLOW
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from kernlab.lab import reproduce
from kernlab.lab.engine import UnknownStudy

CELL = 'PROFILE: str = "quick"  # quick, standard, paper'


def write_notebook(folder, name, studies=(), source="print(PROFILE)", figures=()):
    nb = new_notebook()
    nb.metadata.kernlab = {"studies": list(studies), "figures": list(figures)}
    parameters = new_code_cell(CELL)
    parameters.metadata.tags = ["parameters"]
    nb.cells = [new_markdown_cell("# Title"), parameters, new_code_cell(source)]
    nbformat.write(nb, folder / f"{name}.ipynb")


def names(selection):
    return [study.id for study in selection.studies], selection.notebooks


def test_what_names_mean(house):
    write_notebook(house, "00_both", ["tiny-t1", "other-t1"])
    write_notebook(house, "01_one", ["tiny-t1"])
    write_notebook(house, "02_none")
    assert names(reproduce.select(["tiny-t1"])) == (["tiny-t1"], ["01_one"])
    assert names(reproduce.select(["other", "tiny-t1"])) == (
        ["other-t1", "tiny-t1"],
        ["00_both", "01_one"],
    )
    assert names(reproduce.select(["00_both"])) == (["tiny-t1", "other-t1"], ["00_both", "01_one"])
    assert names(reproduce.select(["notebooks/02_none.ipynb"])) == ([], ["02_none"])
    studies, notebooks = names(reproduce.select())
    assert notebooks == ["00_both", "01_one", "02_none"]
    assert studies[-1] == "bench-fit"  # timings last, when nothing else is at work
    assert reproduce.select().everything
    with pytest.raises(UnknownStudy, match=r"called '00_bot'\. Did you mean 00_both"):
        reproduce.select(["00_bot"])


def test_one_study_with_its_figure(kernlab, house, out):
    assert "tiny-t1  0 of 4" in kernlab("reproduce", "tiny", "--list").stdout
    assert not out.exists(), "a list does nothing"
    result = kernlab("reproduce", "tiny-t1", "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert "tiny-t1: all 4 points, 1 figure" in result.stdout
    assert "quick profile: 4 of 4 points of 1 studies, 1 figure" in result.stdout
    assert sorted(p.name for p in (out / "quick").rglob("*") if not p.name.startswith(".")) == [
        "data",
        "figures",
        "index.html",
        "scorecard.csv",
        "tables",
        "tiny-t1-error.json",
        "tiny-t1-error.png",
        "tiny-t1-error.svg",
        "tiny-t1.csv",  # with what is on record
        "tiny-t1.csv",
        "tiny-t1.provenance.json",
        "tiny-t1.rows.jsonl",
    ]
    assert "tiny-t1  4 of 4" in kernlab("reproduce", "tiny", "--list").stdout
    assert "4 kept from before" in kernlab("reproduce", "tiny-t1").stdout
    assert "kept from before" not in kernlab("reproduce", "tiny-t1", "--fresh").stdout


@pytest.mark.parametrize(
    ("name", "exit_code", "said"),
    [
        ("bad-t1", 1, "bad-t1: LASN on toy: ValueError: no LASN today"),
        ("capped-t1", 0, "capped-t1: LASN on toy repeat 1: predicted 1000000 s, not run"),
        ("empty-t1", 0, "empty-t1: no points under this profile"),
        ("far-t1", 1, "1 of 2 points computed, 1 data set missing: kernlab data get higgs"),
        ("ugly-t1", 1, "ugly-t1: figure: RuntimeError: no ink while drawing figure ugly-t1-bad"),
    ],
)
@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_exit_code_is_0_only_if_all_that_was_asked_for_by_name_was_done(
    kernlab, house, name, exit_code, said, profile
):
    result = kernlab("reproduce", name, "tiny-t1", "--jobs", "1", "--profile", profile)
    assert said in result.stdout
    assert result.exit_code == exit_code
    assert "tiny-t1: all 4 points, 1 figure" in result.stdout  # the others are done all the same


def test_parameters_make_a_study_of_its_own(kernlab, tmp_path, out):
    rows = "".join(f"{i % 2} 1:{i % 2 + i / 99} 2:{i % 7}\n" for i in range(99))
    (tmp_path / "my.svm").write_text(rows)
    given = ("-p", f"datasets=magic,{tmp_path / 'my.svm'}", "-p", "landmarks=5,10")
    result = kernlab("reproduce", "lasn-f4", *given, "--jobs", "1")
    assert result.exit_code == 0, result.output
    (table,) = (out / "quick" / "tables").glob("lasn-f4@*.csv")
    assert {"magic", "my.svm"} <= set(table.read_text().replace(",", "\n").split("\n"))
    (figure,) = (out / "quick" / "figures").glob("lasn-f4@*.png")
    assert figure.stem == f"{table.stem}-sweep"
    for wrong, said in (
        (("lasn-f4", "-p", "landmark=5"), "did you mean landmarks?"),
        (("lasn-f4", "-p", "landmarks"), "write NAME=VALUE"),
        (("lasn-f4", "-p", "C=0"), "C must be a positive number"),
        (("bench-fpc", "-p", "nonsense=1"), "bench-fpc has no parameter"),
        (("-p", "C=1"), "Name the study"),
    ):
        result = kernlab("reproduce", *wrong)
        assert (result.exit_code, "Traceback" in result.stderr) == (1, False)
        assert said in result.stderr


def test_everything_with_notebooks_and_report(start, house, out, tmp_path):
    folder = tmp_path / "anderswo, weit weg"
    folder.mkdir()
    write_notebook(house, "00_one", ["tiny-t1"])
    process = start("reproduce", "--jobs", "1", cwd=folder, KERNLAB_TEST_ONLY="tiny-t1 bench-fit")
    stdout, stderr = process.communicate(timeout=240)
    assert process.returncode == 0, stdout + stderr
    assert "Traceback" not in stdout + stderr
    assert "notebook 00_one: 0 figures" in stdout
    assert (out / "quick" / "index.html").exists()
    assert f"The report: {out / 'quick' / 'index.html'}" in stdout
    assert "bench-fit: all 4 points" in stdout
    assert not list(folder.iterdir())


def test_figures_that_a_failed_notebook_would_show_are_drawn_without_it(kernlab, house, out):
    write_notebook(house, "00_bad", ["tiny-t1"], "raise ValueError('no')", ["tiny-t1-error"])
    result = kernlab("reproduce", "tiny-t1", "--jobs", "1")
    assert result.exit_code == 1, result.output
    assert "notebook 00_bad: failed" in result.stdout
    assert (out / "quick" / "figures" / "tiny-t1-error.png").exists()


def test_ctrl_c_exits_130_and_the_next_run_goes_on(start, house, out, tmp_path):
    # Rows of this profile serve whatever happens to the rest of kernlab's code in the meantime.
    elsewhere = tmp_path / "noch ein Ort"
    command = ("reproduce", "slow-t1", "--profile", "standard", "--out", elsewhere, "--jobs")
    rows = elsewhere / "standard" / "tables" / "slow-t1.rows.jsonl"
    process = start(*command, "2")
    give_up = time.monotonic() + 120
    while not rows.exists() or rows.read_bytes().count(b"\n") < 3:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted. All that was finished is kept" in stderr
    assert "Traceback" not in stderr
    kept = rows.read_bytes().count(b"\n")
    assert 3 <= kept < N_SLOW

    process = start(*command, "1", KERNLAB_TEST_DELAY="0")
    stdout, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert f"{kept} kept from before" in stdout
    assert rows.read_bytes().count(b"\n") == N_SLOW
    assert not out.exists(), "the option overrides the environment"
