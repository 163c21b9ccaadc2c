"""The path explorer: it shows what single fits give, and moving a slider redraws a few lines."""

import io

import matplotlib.image as mpimg
import numpy as np
import pytest

from kernlab import LASN
from kernlab.approximations import Nystrom
from kernlab.lab.explorers import landmark_path, landmarkpath
from kernlab.lab.explorers.landmarkpath import PathPicture, describe, solve_path
from kernlab.lab.explorers.rows import two_class_set

KS, COSTS = (5, 20, 60), (0.1, 1.0, 100.0)


def test_the_path_has_the_machines_of_single_fits():
    path = solve_path("breast-cancer", KS, COSTS)
    X, y, X_test, y_test = two_class_set("breast-cancer")
    nested = Nystrom(gamma="variance", n_landmarks=max(KS), random_state=0).fit(X)
    for k in KS:
        points = nested.leading(k).landmarks_
        single = LASN(landmarks=points, n_landmarks=k, C=100.0).fit(X, y)
        row = path.at(k, 100.0)
        assert row.validation_accuracy == pytest.approx(single.score(X_test, y_test))
        assert row.objective == pytest.approx(single.result_.objective, rel=1e-3)


def test_errors_are_those_of_the_nested_maps_and_fall():
    errors = solve_path("checkerboard", KS, COSTS).errors
    X = two_class_set("checkerboard")[0]
    alone = Nystrom(gamma="variance", n_landmarks=max(KS), random_state=0).fit(X)
    expected = alone.leading(20)
    assert errors.loc[20, "sampled"] == pytest.approx(expected.error(X, n_sampled=500))
    assert errors.loc[20, "trace"] == pytest.approx(expected.trace_error(X))
    assert (np.diff(errors["trace"]) < 0).all()


def panels(png):
    """Where the four panels of a picture are red."""
    pixels = mpimg.imread(io.BytesIO(png))
    red = (pixels[..., 0] > 0.75) & (pixels[..., 1] < 0.3) & (pixels[..., 2] < 0.2)
    return [part for half in np.array_split(red, 2) for part in np.array_split(half, 2, axis=1)]


def test_a_move_moves_the_marks_and_moving_back_restores_the_picture():
    picture = PathPicture(solve_path("breast-cancer", KS, COSTS))
    before = picture.png(20, 1.0)
    moved = picture.png(60, 1.0)
    for old, new in zip(panels(before), panels(moved), strict=True):
        assert 40 < old.sum() < 1500, "a frame or a dot in each panel, once"
        assert (old != new).any()
    assert picture.png(20, 100.0) != before
    assert picture.png(20, 1.0) == before


def test_the_sliders_choose_the_machine_that_the_caption_describes():
    explorer = landmark_path()
    explorer.controls["dataset"].value = "breast-cancer"
    explorer.controls["C"].value = 100.0
    explorer.controls["k"].value = 50
    path = solve_path("breast-cancer")
    assert describe(path, 50, 100.0) in explorer.caption
    assert f"{100 * path.at(50, 100.0).validation_accuracy:.1f} %" in explorer.caption


def test_no_solution_is_computed_while_a_slider_moves(monkeypatch):
    explorer = landmark_path()

    def refuse(*arguments, **parameters):
        raise AssertionError("solved again")

    monkeypatch.setattr(landmarkpath, "sweep", refuse)
    monkeypatch.setattr(landmarkpath, "Nystrom", refuse)
    for k in landmarkpath.LANDMARKS:
        before = explorer.png
        explorer.controls["k"].value = k
        assert k == 100 or explorer.png != before
        assert f"k = {k}," in explorer.caption
