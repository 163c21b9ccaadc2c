"""Where things go: by the environment, by the checkout, and where neither can be written."""

from pathlib import Path

from kernlab import paths


def test_folders_named_in_the_environment_come_first(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNLAB_CACHE", str(tmp_path / "c"))
    monkeypatch.setenv("KERNLAB_OUT", str(tmp_path / "o"))
    monkeypatch.setenv("KERNLAB_DATA", str(tmp_path / "d"))
    assert paths.cache_dir() == tmp_path / "c"
    assert paths.output_dir("quick") == tmp_path / "o" / "quick"
    assert paths.external_data_dir() == tmp_path / "d"


def test_paths_do_not_depend_on_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("KERNLAB_OUT", raising=False)
    before = [paths.notebooks_dir(), paths.embedded_data_dir(), paths.output_dir("quick")]
    monkeypatch.chdir(tmp_path)
    assert [paths.notebooks_dir(), paths.embedded_data_dir(), paths.output_dir("quick")] == before


def test_a_home_that_cannot_be_written_is_no_obstacle(monkeypatch):
    for name in ("KERNLAB_CACHE", "KERNLAB_OUT", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/proc/nobody")
    assert not paths.can_write(Path("/proc/nobody"))
    assert paths.can_write(paths.cache_dir())
    monkeypatch.setattr(paths, "project_root", lambda: None)
    assert paths.can_write(paths.output_dir("quick"))
    assert "nobody" not in str(paths.output_dir("quick"))


def test_asking_leaves_no_trace(tmp_path):
    assert paths.can_write(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
