"""What packaging promises: the same dependencies everywhere, locked, in a package that runs."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest
import yaml

from kernlab import paths

ROOT = paths.project_root()
pytestmark = pytest.mark.skipif(ROOT is None, reason="kernlab runs without its checkout")


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def all_requirements():
    extras = project()["optional-dependencies"]
    return [*project()["dependencies"], *(need for needs in extras.values() for need in needs)]


def name_of(requirement):
    return re.match(r"[\w.-]+", requirement)[0].lower()


def test_conda_and_pip_ask_for_the_same():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    listed = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    assert set(listed) - {"pip"} == {*all_requirements(), "python" + project()["requires-python"]}
    assert environment["dependencies"][-1] == {"pip": ["--editable ."]}


def test_every_dependency_is_locked_with_hashes():
    locked = {}
    for file in ("requirements.lock", "requirements-cholmod.lock"):
        for block in re.split(r"\n(?=[a-z0-9])", (ROOT / file).read_text()):
            match = re.match(r"([a-z0-9._-]+)==\S+ \\\n    --hash=sha256:[0-9a-f]{64}", block)
            if not block.startswith("#"):
                assert match, f"not a locked requirement: {block[:60]!r}"
                locked[match[1]] = block
    missing = {name_of(requirement) for requirement in all_requirements()} - set(locked)
    assert not missing


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """kernlab's wheel, unpacked where no checkout is near, in a folder with an awkward name."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run(
        [*command, "--no-build-isolation", "--wheel-dir", str(place), str(ROOT)], check=True
    )
    (wheel,) = place.glob("kernlab-*.whl")
    target = tmp_path_factory.mktemp("Schöne neue Welt mit Leerzeichen")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


WITHOUT_SUITESPARSE = "import sys; sys.modules['sksparse'] = None\n"


def run_installed(installation, code, **environment):
    """Run code against the unpacked wheel: no checkout, no scikit-sparse, no display."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KERNLAB_", "COV_"))}
    kept.pop("DISPLAY", None)
    return subprocess.run(
        [sys.executable, "-P", "-c", WITHOUT_SUITESPARSE + code],
        cwd=installation,
        env=kept | {"PYTHONPATH": str(installation)} | environment,
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.mark.installation
def test_an_installation_brings_its_data_and_notebooks(installation):
    code = """
import kernlab
from kernlab import load_dataset, paths
assert paths.project_root() is None, paths.project_root()
print(len(load_dataset("breast-cancer").y_train))
print(sorted(path.name for path in paths.notebooks_dir().glob("*.ipynb"))[0])
"""
    done = run_installed(installation, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1] == "00_start_here.ipynb"


@pytest.mark.installation
def test_a_home_that_cannot_be_written_does_not_stop_a_study(installation, tmp_path):
    code = """
from kernlab.lab.catalogue import get_study
from kernlab.lab.engine.run import execute
table = execute(get_study("sparse-margin"), "quick", progress=False).table
assert (table["status"] == "ok").all(), table["message"].unique()
print(len(table))
"""
    unwritable = {"HOME": "/proc/nobody", "XDG_CACHE_HOME": "/proc/nobody", "TMPDIR": str(tmp_path)}
    done = run_installed(installation, code, **unwritable)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "240"


@pytest.fixture
def read_only(tmp_path):
    """A function that makes a folder read-only for a command, even where the user is root."""

    def wrap(folder, command):
        if os.geteuid() != 0:
            folder.chmod(0o555)
            return command
        if not shutil.which("unshare"):
            pytest.skip("root writes everywhere, and there is no unshare to mount read-only")
        script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, str(folder), *command]

    return wrap


@pytest.mark.installation
def test_a_read_only_data_folder_serves(installation, read_only, tmp_path):
    """Real data on a share that cannot be written: nothing is put beside the files."""
    data = tmp_path / "Daten, nur lesbar"
    shutil.copytree(installation / "kernlab" / "_data", data)
    code = """
import os, pathlib
from kernlab import load_dataset
folder = pathlib.Path(os.environ["KERNLAB_DATA"])
try:
    (folder / "x").write_text("")
except OSError:
    print(len(load_dataset("magic").y_train), len(load_dataset("magic").y_train))
"""
    command = read_only(data, [sys.executable, "-P", "-c", code])
    environment = {"KERNLAB_DATA": str(data), "KERNLAB_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        command,
        cwd=installation,
        env=os.environ | environment | {"PYTHONPATH": str(installation)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    if "unshare" in done.stderr:
        pytest.skip(f"no mounts of our own here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["14265", "14265"]
    assert not list(data.glob("*.npz"))
