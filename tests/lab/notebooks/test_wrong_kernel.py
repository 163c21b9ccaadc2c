"""A notebook's compared cells have teeth: with another kernel its numbers no longer agree."""

import os
import subprocess
import sys

import pytest

from kernlab.paths import notebooks_dir

NOTEBOOK = "00_start_here.ipynb"
LINEAR_FOR_RBF = """
import kernlab.kernels as kernels
kernels.KERNELS["rbf"] = lambda gamma: kernels.Linear()
"""


def nbval(tmp_path, sabotage):
    (tmp_path / "sitecustomize.py").write_text(sabotage)
    environment = {
        "PYTHONPATH": str(tmp_path),
        "KERNLAB_OUT": str(tmp_path / "figures"),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    command = [sys.executable, "-m", "pytest", "--nbval", "-p", "no:cacheprovider", "-q"]
    return subprocess.run(
        [*command, "--nbval-kernel-name", "python3", str(notebooks_dir() / NOTEBOOK)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=280,
    )


@pytest.mark.notebooks
@pytest.mark.xdist_group("nbval")
def test_replacing_the_rbf_by_a_linear_kernel_turns_the_notebook_red(tmp_path):
    done = nbval(tmp_path, LINEAR_FOR_RBF)
    assert done.returncode == 1, done.stdout
    assert "accuracy on test rows" in done.stdout
    assert "2 failed" in done.stdout or "3 failed" in done.stdout
