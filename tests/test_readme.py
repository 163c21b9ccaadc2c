"""What the README shows can be typed as it stands."""

import re

import pytest
from sklearn.datasets import make_moons

import kernlab
from kernlab.lab.report.gallery import BEGIN, END, PARTS, RESULTS
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


@pytest.mark.parametrize("name", PARTS)
def test_what_the_record_says_is_what_is_there(name):
    """After `kernlab record update`: kernlab report --readme."""
    assert README.partition(BEGIN.format(name))[2].partition(END.format(name))[0].strip() == (
        PARTS[name]()
    )


@pytest.mark.parametrize("stem", RESULTS)
def test_figures_of_the_record_are_there(stem):
    assert f"figures/gallery/{stem}.png" in README
    assert (project_root() / "figures" / "gallery" / f"{stem}.png").is_file()


def test_there_is_something_to_try():
    assert BLOCKS
    assert len(MACHINES) >= 3
