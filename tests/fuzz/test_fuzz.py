"""A thousand hostile fits, five hundred damaged files and a kill, always the same; see `run.py`."""

from dataclasses import replace

import numpy as np
import pytest
from files import judge_file, make_file
from fits import make_case
from kills import judge_kill
from verdicts import judge

from kernlab import LASN

EACH = 100
FOUND = (
    911066,
    3004804,
    3005067,
    5006545,
    5008284,
    6004165,
    7005369,
    7009589,
    8002029,
    8004029,
    8007439,
    9007434,
    9010571,
    9011160,
    9012055,
    9015355,
    9017390,
    20006271,
    30012038,
    30019328,
    40017021,
    40017279,
    40031057,
)


@pytest.mark.parametrize("first", range(0, 1000, EACH))
def test_hostile_fits_are_right_or_clearly_refused(first):
    verdicts = {seed: judge(make_case(seed)) for seed in range(first, first + EACH)}
    assert not {seed: verdict for seed, verdict in verdicts.items() if verdict.is_finding}
    assert sum(verdict.what == "ok" for verdict in verdicts.values()) > EACH / 3


@pytest.mark.parametrize("first", range(0, 500, EACH))
def test_damaged_files_are_read_strictly_or_clearly_refused(first, tmp_path):
    verdicts = {s: judge_file(make_file(s), tmp_path) for s in range(first, first + EACH)}
    assert not {seed: verdict for seed, verdict in verdicts.items() if verdict.is_finding}
    assert 5 < sum(verdict.what == "ok" for verdict in verdicts.values()) < EACH - 20


@pytest.mark.parametrize("seed", FOUND)
def test_what_longer_runs_found_stays_mended(seed):
    assert not judge(make_case(seed)).is_finding


def test_a_run_that_is_killed_goes_on(tmp_path):
    assert judge_kill(13, tmp_path).what == "ok"


# ------------------------------------------------------- the fuzzer notices what it is there for
class FalseBound(LASN):
    """Its dual objective is above what is feasible."""

    def become(self, attributes):
        (result,) = attributes["results_"]
        claimed = result.objective * (1 - 1e-9)
        better = result.coefficients * 0.9  # whose objective is another
        attributes["results_"] = [replace(result, coefficients=better, dual_objective=claimed)]
        return super().become(attributes)


class NotFinite(LASN):
    """Its decisions are no numbers."""

    def decision_function(self, X):
        return np.nan * super().decision_function(X)


class Unclear(LASN):
    """It fails inside NumPy."""

    def become(self, attributes):
        return np.ones(3) @ np.ones(4)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (FalseBound, "a false claim"),
        (NotFinite, "decisions are not finite"),
        (Unclear, "unclear error"),
        (LASN, "ok"),
    ],
)
def test_the_fuzzer_notices(kind, what):
    case = make_case(0)
    X = np.random.default_rng(0).normal(size=(60, 2))
    case.kind, case.params, case.X, case.new, case.weights = kind, {"random_state": 0}, X, X, None
    case.y = np.sign(X[:, 0] + 0.3)
    assert judge(case).what == what
