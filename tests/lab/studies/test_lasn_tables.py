"""LASN's Tables 3 and 4: the paper's rows and landmarks, and its accuracy on them."""

import pytest

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine import Point
from kernlab.lab.papers.lasn import studies as lasn_studies
from kernlab.lab.papers.lasn.studies import landmarks_per_set
from kernlab.lab.published import published

AT_HAND = ("skin_nonskin", "mushrooms", "madelon", "w4a", "w8a", "a1a", "a8a", "liver-disorders")


def test_printed_rows_are_clustered_as_the_paper_does_and_others_at_random(monkeypatch):
    taken = {}

    def fitted(model, data):
        taken[data.info["split"]] = model.landmark_params
        return {}

    monkeypatch.setattr(lasn_studies, "fitted_row", fitted)
    monkeypatch.setattr(lasn_studies, "load_dataset", lambda name, paper, split: Loaded(split))
    monkeypatch.setattr(lasn_studies, "warm_up", lambda *_: None)
    for split in ("printed", "site"):
        point = Point.make("w4a", "LASN", split, C=10.0, n_landmarks=20)
        STUDIES["lasn-t4"].measure(point, 0)
    assert taken == {"printed": {"candidates": "first"}, "site": None}


class Loaded:
    def __init__(self, split):
        self.info = {"split": split}
        self.X_train = type("Rows", (), {"shape": (100, 2)})()


@pytest.mark.parametrize("name", AT_HAND)
def test_no_set_falls_a_point_below_the_paper_and_every_gradient_is_small(name, real_data):
    table = published("lasn-t4")
    printed = table[(table["row"] == name) & (table["column"] == "LASN accuracy")]["value"].item()
    point = Point.make(name, "LASN", "printed", C=10.0, n_landmarks=landmarks_per_set()[name])
    row = STUDIES["lasn-t4"].measure(point, 1)
    assert 100 * row["test_accuracy"] >= printed - 1.0
    assert row["kkt_residual"] <= 1e-6
    assert row["n_iter"] <= 15
