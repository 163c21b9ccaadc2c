"""What a run left is read whole, and what is damaged is named instead of ending the report."""

import json

import report_demo

from kernlab.lab.report import outputs


def test_everything_of_a_run_is_found(demo):
    problems = []
    tables = outputs.read_tables("quick", demo, problems)
    assert sorted(tables) == [
        "fpc-t2", "hss-t4", "lasn-t3", "lasn-t4", "llsvm-prop1", "llsvm-t3", "sparse-t2",
    ]  # fmt: skip
    assert sorted(outputs.read_provenance("quick", demo, problems)) == sorted(tables)
    stems = [picture.stem for picture in outputs.read_pictures("quick", demo, problems)]
    assert stems == [
        "hss-f2-heatmap",
        "llsvm-prop1-accuracy",
        "llsvm-prop1-time",
        "sparse-f3-arrowhead",
    ]
    first, second = outputs.read_notebooks("quick", demo, problems)
    assert (first.name, first.title, first.has_html) == (
        "00_start_here",
        "What a kernel SVM is",
        True,
    )
    assert (first.seconds, first.error) == (21.4, "")
    assert second.error == f"ValueError: {report_demo.HOSTILE}"
    assert problems == []


def test_damaged_files_are_named_and_the_others_read(demo):
    folder = demo / "quick"
    (folder / "tables" / "lasn-t3.csv").write_bytes(b"")
    (folder / "tables" / "lasn-t4.provenance.json").write_text("[]")
    (folder / "figures" / "hss-f2-heatmap.json").write_text("{")
    (folder / "figures" / "llsvm-prop1-time.png").unlink()
    (folder / "figures" / "llsvm-prop1-time.svg").unlink()
    (folder / "notebooks" / "00_start_here.ipynb").write_text(json.dumps({"nbformat": 4}))
    problems = []
    assert "lasn-t3" not in outputs.read_tables("quick", demo, problems)
    assert "lasn-t4" not in outputs.read_provenance("quick", demo, problems)
    assert len(outputs.read_pictures("quick", demo, problems)) == 2
    assert len(outputs.read_notebooks("quick", demo, problems)) == 1
    for name in ("lasn-t3.csv", "lasn-t4.provenance.json", "hss-f2-heatmap.json"):
        assert any(problem.startswith(name) for problem in problems)
    assert "llsvm-prop1-time.json cannot be read (FileNotFoundError" in " ".join(problems)
    assert "00_start_here.ipynb cannot be read (KeyError" in " ".join(problems)


def test_files_still_being_written_are_passed_over(demo):
    (demo / "quick" / "tables" / ".lasn-t2.csv.123.csv").write_text("x")
    assert len(outputs.read_tables("quick", demo)) == 7
