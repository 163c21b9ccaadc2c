"""Every notebook runs with a reader's own parameters, and prints others with another kernel."""

import ast
import contextlib
import io
import os
import subprocess
import sys

import nbformat
import numpy as np
import pytest
from IPython.display import display
from sklearn.datasets import dump_svmlight_file, make_moons

from kernlab import kernels
from kernlab.datasets import DataNotFound
from kernlab.lab.report.notebooks.files import notebook_paths

pytestmark = pytest.mark.notebooks
OWN = {"DATASETS": ["my.svm"]}
PARAMETERS = {
    "00_start_here": OWN | {"C": 2.0},
    "01_data_sets": {"DATASET": "my.svm", "SCALING": "unit"},
    "10_llsvm": OWN | {"LANDMARKS": [5, 10]},
    "20_lasn_landmarks": OWN | {"LANDMARKS": [5, 10], "REPEATS": 2},
    "21_lasn_cost": OWN | {"COSTS": [1.0, 10.0]},
    "22_lasn_comparisons": OWN | {"N_LANDMARKS": 10},
    "30_sparse_kernel": OWN | {"ALPHAS": [0.1, 10.0], "DENSITIES": [0.05]},
    "31_sparse_results": OWN | {"SIGMAS": [0.3], "SIZES": [200, 400]},
    "40_hss_matrix": OWN | {"WIDTHS": [1.0], "TOLERANCES": [0.1]},
    "41_hss_admm": OWN | {"WIDTHS": [1.0], "COSTS": [1.0], "ROWS": 100},
    "50_fpc_simulations": {
        "ROWS": 200, "DEGREES": [2, 3], "ALPHAS": [1.0], "BETAS": [1.0], "NOISES": [0.0, 0.2],
        "REPEATS": 1,
    },
    "51_fpc_real_data": OWN | {"REPEATS": 1},
    "52_fpc_at_scale": {"SIZES": [60, 120], "ROWS": 3000, "CENTRES": [50], "REPEATS": 1},
    "60_showdown": OWN | {"METHODS": ["LASN", "linear"], "ROWS": 150, "CAP": 2.0},
    "61_algebra_and_scaling": OWN | {"N_LANDMARKS": 10, "SIZES": [200, 400], "RANKS": [5, 10]},
    "62_errata": {"WHICH": ["hss 25"]},
    "70_many_machines": {"ROWS": 20_000, "LANDMARKS": 20, "COST": 1.0, "WORKERS": 1},
}  # fmt: skip


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    """A folder with a small svmlight file, in which notebooks run and leave what they make."""
    X, y = make_moons(240, noise=0.2, random_state=0)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(240, 2))])
    dump_svmlight_file(X, np.where(y == 1, 1, -1), str(tmp_path / "my.svm"), zero_based=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNLAB_OUT", str(tmp_path / "out"))
    return tmp_path


def test_every_notebook_is_tried():
    assert set(PARAMETERS) == set(notebook_paths())


def run_here(name, parameters):
    """The cells of a notebook in this process, which has imported and compiled what they need.

    What each stored output says on stdout, and what is printed now.
    """
    values, texts = {}, []
    for cell in nbformat.read(notebook_paths()[name], as_version=4).cells:
        if cell.cell_type != "code":
            continue
        body = ast.parse(cell.source).body
        last = [body.pop().value] if body and isinstance(body[-1], ast.Expr) else []
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(ast.Module(body, []), name, "exec"), values)
            for shown in last:
                result = eval(compile(ast.Expression(shown), name, "eval"), values)
                if result is not None:
                    display(result)
        if "parameters" in cell.metadata.get("tags", ()):
            assert set(parameters) <= set(values)
            values |= parameters
        stored = [output.text for output in cell.outputs if output.output_type == "stream"]
        texts.append(("".join(stored), printed.getvalue()))
    return texts


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_notebook_runs_with_parameters_of_ones_own(name, own_file):
    run_here(name, PARAMETERS[name])
    out = own_file / "out" / "quick"
    tables = {path.name: path.read_text("utf-8") for path in (out / "tables").glob("*@*.csv")}
    if "DATASETS" in PARAMETERS[name]:
        assert any("my.svm" in text for text in tables.values())
    if name == "20_lasn_landmarks":  # a sweep takes the landmarks given, under a name of its own
        (text,) = (text for stem, text in tables.items() if stem.startswith("lasn-f4@"))
        runs = 2 * PARAMETERS[name]["REPEATS"]  # of two numbers of landmarks
        assert text.count("drawn per k") == text.count("one nested map") == runs
        assert list((out / "figures").glob("lasn-f4@*-sweep.png"))
        assert not (out / "figures" / "lasn-f4-sweep.png").exists()


def test_with_another_kernel_the_printed_numbers_are_others(own_file, monkeypatch):
    """What is compared of the committed notebooks would notice; with their own, nbval says."""
    monkeypatch.setitem(kernels.KERNELS, "rbf", kernels.Linear)
    texts = run_here("00_start_here", {})
    assert sum(stored not in printed for stored, printed in texts) >= 2


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"LANDMARKS": [0]}, "landmarks"),
        ({"DATASETS": ["nowhere.svm"]}, "nowhere.svm"),
    ],
)
def test_parameters_that_cannot_be_stop_with_a_sentence(own_file, given, text):
    with pytest.raises((ValueError, DataNotFound), match=text):
        run_here("20_lasn_landmarks", given)


def test_papermill_ends_with_an_exit_code(own_file):
    notebook = str(notebook_paths()["21_lasn_cost"])
    command = [sys.executable, "-m", "papermill", notebook, "out.ipynb", "-p", "COST", "[1.0]"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 1
    assert "Did you mean COSTS" in done.stderr
