"""Where things go: by the environment, by the checkout, and where neither can be written."""

from pathlib import Path

from kernlab import paths


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
