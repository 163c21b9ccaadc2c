"""Studies with parameters: what they may be, what they change, and on a file of one's own."""

import contextlib

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, make_moons

from kernlab.lab import published, study
from kernlab.lab.catalogue import FUNCTIONS, STUDIES, collect
from kernlab.lab.engine import (
    Cell,
    Choice,
    ParameterError,
    Point,
    Study,
    StudyError,
    Tolerance,
    UnknownStudy,
    catalogued,
    one_of,
    product,
    several,
)
from kernlab.lab.engine.parameters import KNOWN, parse_parameters
from kernlab.lab.engine.run import execute
from kernlab.lab.engine.study import derive_seed, point_seed
from kernlab.lab.papers import lasn

WAYS = [
    {"landmarks": [50, 100], "C": 1},
    {"landmarks": (50, 100, 50), "C": "1"},
    {"landmarks": np.array([50, 100]), "C": np.float32(1)},
    parse_parameters(["landmarks=50,100", "C=1"]),
]


@pytest.mark.parametrize("way", WAYS)
def test_parameters_come_from_python_notebooks_and_the_command_line_alike(way):
    made = study("lasn-f4", datasets=["magic"], **way)
    assert made.id == study("lasn-f4", datasets="magic", **WAYS[0]).id != "lasn-f4"
    drawn = [p for p in made.grid("quick") if p.variant == "drawn per k"]
    assert [(p.dataset, p["n_landmarks"], p["C"]) for p in drawn] == [
        ("magic", 50, 1.0),
        ("magic", 100, 1.0),
    ]


WRONG = {
    "no parameter 'landmark'; did you mean landmarks?": {"landmark": [3]},
    "no parameter 'c'; did you mean C?": {"c": 1},
    "landmarks must be a positive whole number, or several, not 0": {"landmarks": 0},
    "landmarks must .* not '10,x'": {"landmarks": "10,x"},
    "landmarks must .*it is empty": {"landmarks": []},
    "C must be a positive number, not -1": {"C": -1},
    "C must be a positive number, not nan": {"C": float("nan")},
    "near names: ijcnn1": {"datasets": "ijcn1"},
    "there is no file nowhere.svm": {"datasets": ["nowhere.svm"]},
    "one of 'large', 'medium', 'small', not 'big'": {"group": "big"},
    "repeats must be a positive whole number, not 1.5": {"repeats": 1.5},
    "repeats must be a positive whole number, not True": {"repeats": True},
}


@pytest.mark.parametrize("sentence", WRONG)
def test_unknown_and_impossible_parameters_are_a_sentence(sentence):
    with pytest.raises(ParameterError, match=sentence):
        study("lasn-f4", **WRONG[sentence])


@pytest.mark.parametrize("id", FUNCTIONS)
def test_defaults_are_the_catalogue_and_none_is_the_profiles_choice(id):
    known = STUDIES[id]
    assert known.id == id
    assert known.title
    assert known.question.endswith("?")
    nothing = dict.fromkeys(FUNCTIONS[id].choices(id))
    again = study(id, **nothing)
    assert again.id == id
    assert again.grid("quick") == known.grid("quick")


def test_other_parameters_have_a_key_of_their_own_and_the_same_draws():
    assert lasn.landmark_sweep().id == "lasn-f4"
    assert lasn.landmark_sweep(group="large").id == "lasn-f2"
    other = lasn.landmark_sweep(["magic"], [10], group="medium")
    assert other.catalogue_id == "lasn-f3"
    assert not other.on_record
    assert STUDIES["lasn-f3"].on_record
    assert other.parameters == {"datasets": ("magic",), "landmarks": (10,)}
    assert len({other.id, lasn.landmark_sweep(["magic"], [20], group="medium").id}) == 2
    (point, *_) = other.grid("quick")
    assert point_seed(other, point) == point_seed(STUDIES["lasn-f3"], point)
    assert point_seed(lasn.landmark_sweep(seed=1), point) != point_seed(
        lasn.landmark_sweep(seed=2), point
    )


def test_a_function_may_serve_several_ids_and_have_kinds_of_its_own():
    one = Choice(1.0, 2.0)

    @catalogued("tiny-a", "A", size="small")
    @catalogued("tiny-b", "B", paper="across", size="large")
    def tiny(steps: several(KNOWN["C"]) = one, size: one_of("small", "large") = "large"):
        """Does it work?

        More.
        """
        return product("toy", size, steps=steps)

    @tiny.measured({"steps": Tolerance(absolute=1)}, size="large")
    def compared(table, size):
        yield size, "steps", 1.0

    assert tiny.ids == ("tiny-a", "tiny-b")
    assert tiny.choices("tiny-a").keys() == {"steps"}
    assert tiny.choices("tiny-a")["steps"][1] is None
    assert [[p["steps"] for p in tiny().grid(of)] for of in ("quick", "paper")] == [[1.0], [2.0]]
    assert tiny().measured(None).loc[0, "row"] == "large"
    assert tiny(size="small").measured is None
    assert tiny().id == "tiny-b"
    assert tiny(size="small").id == "tiny-a"
    assert (tiny().paper, tiny(size="small").paper) == ("across", "tiny")
    assert tiny().question == "Does it work?"
    assert [p["steps"] for p in tiny([1, 2.5]).grid("quick")] == [1.0, 2.5]
    with pytest.raises(TypeError, match="has a default"):
        catalogued("tiny-c")(lambda unheard_of=None: None)


def test_product_keeps_what_is_compared_together():
    points = product(
        ("a", "b"),
        ("fast", "slow"),
        repeats=lambda method: 2 if method == "fast" else 1,
        k=lambda name: (1, 2) if name == "a" else 3,
    )
    assert [(p.dataset, p.repeat, p["k"], p.method) for p in points] == [
        ("a", 0, 1, "fast"),
        ("a", 0, 1, "slow"),
        ("a", 0, 2, "fast"),
        ("a", 0, 2, "slow"),
        ("a", 1, 1, "fast"),
        ("a", 1, 2, "fast"),
        ("b", 0, 3, "fast"),
        ("b", 0, 3, "slow"),
        ("b", 1, 3, "fast"),
    ]


def test_a_study_runs_on_a_file_of_ones_own(tmp_path):
    X, y = make_moons(300, noise=0.1, random_state=0)
    dump_svmlight_file(X, y, str(tmp_path / "my.svm"))
    np.save(tmp_path / "my.npy", np.column_stack([X, y]))
    made = lasn.landmark_sweep([tmp_path / "my.svm", tmp_path / "my.npy"], [10, 20])
    table = execute(made, out=tmp_path, progress=False).table
    assert list(dict.fromkeys(table["dataset"])) == ["my.svm", "my.npy"]
    assert (table["status"] == "ok").all(), table["message"]
    assert table["test_accuracy"].min() > 0.8
    assert (tmp_path / "quick" / "tables" / f"{made.id}.csv").is_file()
    # One file's rows in two formats are the same rows; the seed is of the file's name.
    rows = table.groupby(["dataset", "variant"])["landmarks"].agg(list)
    assert rows.map(tuple).nunique() == 1


def test_declared_cells_stand_under_the_papers_labels():
    ours = STUDIES["lasn-t3"]
    printed = published("lasn-t3")
    table = _rows(ours)
    measured = ours.measured(table).set_index(["row", "column"])["value"]
    assert measured["a9a", "LA-SN accuracy"] == pytest.approx(85.0)
    assert measured["a9a", "LA-DCD solve time"] == pytest.approx(2.0)
    assert not (measured.index.get_level_values("row") == "toy").any()
    known = set(zip(printed["row"], printed["column"], strict=True))
    assert set(measured.index) <= known
    assert ours.tolerances.get("LA-TRON accuracy").better == "higher"
    assert ours.tolerances.get("LA-TRON seconds", Tolerance()) == Tolerance()
    few = Study(id="lasn-t4", measured=[Cell("LASN time sd", "fit_seconds", statistic="std")])
    assert "2 repeats give no standard deviation" in few.measured(table.head(2)).loc[0, "reason"]


def _rows(of):
    columns = ["dataset", "method", "variant", "solve_seconds", "fit_seconds", "test_accuracy"]
    rows = [
        ("a9a", "LA-SN", "", 1.0, 1.0, 0.84),
        ("a9a", "LA-SN", "", 2.0, 2.0, 0.86),
        ("a9a", "LA-DCD", "", 2.0, 2.0, 0.85),
        ("toy", "LA-SN", "", 1.0, 1.0, 0.5),
    ]
    return pd.DataFrame(rows, columns=columns)


def test_point_is_its_fields_in_plain_types():
    point = Point.make("a9a", "LASN", n_landmarks=np.int64(50), C=np.float32(0.5), free=np.True_)
    assert point == Point.make("a9a", "LASN", free=True, C=0.5, n_landmarks=50)
    assert [type(value) for _, value in point.params] == [float, bool, int]
    assert (point["C"], point.get("gamma", 1)) == (0.5, 1)
    assert str(point) == "LASN on a9a C=0.5 free=True n_landmarks=50"
    with pytest.raises(KeyError, match=r"no parameter 'gamma' \(it has: C, free, n_landmarks"):
        point["gamma"]
    with pytest.raises(TypeError, match="C is a list"):
        Point.make("a9a", "LASN", C=[1, 2])


def test_seeds_are_the_same_in_every_process_and_for_ever():
    assert derive_seed("lasn-t3", 0, "a9a", "LASN", 0) == 3758704046
    assert derive_seed("ab", "c") != derive_seed("a", "bc")
    one, two = STUDIES["lasn-t3"], STUDIES["lasn-t4"]
    point = Point.make("a9a", "LASN")
    others = [Point.make("a8a", "LASN"), Point.make("a9a", "LASN", repeat=1)]
    seeds = {point_seed(one, each) for each in (point, *others)} | {point_seed(two, point)}
    assert len(seeds) == 4
    assert point_seed(one, Point.make("a9a", "FPC", C=2)) == point_seed(one, point)


def test_names_are_known_once_and_the_nearest_is_suggested():
    assert study("lasn-t3").id == "lasn-t3"
    assert study(STUDIES["lasn-t3"]) is STUDIES["lasn-t3"]
    with pytest.raises(UnknownStudy, match=r"called 'lasn-t33'\. Did you mean lasn-t3"):
        study("lasn-t33")
    with pytest.raises(ParameterError, match="bench-fpc has no parameter"):
        study("bench-fpc", nonsense=1)
    with pytest.raises(ParameterError, match="give it by its id"):
        study(STUDIES["lasn-t3"], C=1)
    with pytest.raises(ValueError, match="two studies are called 'lasn"):
        collect([lasn, lasn])
    with pytest.raises(ValueError, match="lower-case words"):
        Study("Tiny study")


def another(kind, default):
    """A value that a parameter may have and does not have by default."""
    for value in (7, 0.125, 17, "two-moons", "magic", *kind.words, not default):
        with contextlib.suppress(ValueError, TypeError, KeyError):
            if kind(value) != default:
                return kind(value)
    raise AssertionError(kind)


@pytest.mark.parametrize("id", FUNCTIONS)
def test_every_parameter_reaches_the_points(id):
    """With data sets that are named: some parameters are each listed set's own otherwise."""
    choices = FUNCTIONS[id].choices(id)
    named = {"datasets": ["magic"]} if "datasets" in choices else {}

    def points(**given):
        made = study(id, **{**named, **given})
        return [made.grid(profile) for profile in ("quick", "standard")], made.measure, made.seed

    try:
        plain = points()
    except StudyError:  # a study that its paper's sets alone make sense for says so
        named = {}
        plain = points()
    else:
        assert not named or {"magic"} <= {point.dataset for point in plain[0][0]}
    for name, (kind, default) in choices.items():
        if name != "datasets":
            assert points(**{name: another(kind, default)}) != plain, name
