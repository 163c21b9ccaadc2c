"""What the README shows can be typed as it stands."""

import re

import pytest
from sklearn.datasets import make_moons

import kernlab
from kernlab.lab.report.gallery import BEGIN, END, RESULT, headline
from kernlab.paths import project_root

README = (project_root() / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
NAMES = ("KernelMachine", "SparseCholeskySVC")
MACHINES = sorted(set(re.findall(rf"`((?:{'|'.join(NAMES)})\([^`]*\))`", README)))


@pytest.mark.parametrize("source", BLOCKS)
def test_blocks_run(source, capsys):
    exec(compile(source, "README.md", "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("source", MACHINES)
def test_machines_learn(source):
    X, y = make_moons(200, noise=0.1, random_state=0)
    machine = eval(source, {name: getattr(kernlab, name) for name in NAMES})
    assert machine.fit(X, y).score(X, y) > 0.8


def test_the_scorecard_is_that_of_the_record():
    """After `kernlab record update`: kernlab report --readme."""
    assert BLOCKS
    assert len(MACHINES) >= 3
    block = README.partition(BEGIN)[2].partition(END)[0].strip()
    assert block == headline()
    assert (project_root() / "figures" / "gallery" / f"{RESULT}.png").is_file()
