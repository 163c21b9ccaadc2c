"""What became of a hostile fit: it is right, it is refused clearly, or it is a finding.

A fit is right if its decisions are finite, its classes among those of the fit, and its certificate
true: objective and bound recomputed in extended precision from the machine's own decisions.
"""

import re
import sys
import traceback
import warnings
from copy import copy
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils.class_weight import compute_sample_weight

import kernlab
from kernlab.approximations import APPROXIMATIONS
from kernlab.rows import DataError, as_rows
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import SOLVERS

WIDE = np.longdouble
PACKAGE = f"{Path(kernlab.__file__).parent}/"
KNOWN = {name for spec in SOLVERS.values() for name in spec.parameters}
KNOWN |= {name for kind in APPROXIMATIONS.values() for name in kind().get_params(deep=False)}
OF_DATA = re.compile(
    r"\b(rows?|labels?|class(es)?|features?|samples?|X|y|[\w ]*weights?|2D|kernel|targets?|NaN)\b"
)


class Verdict(NamedTuple):
    """`what` is "ok", "refused", or the kind of a finding; `text` is the reason."""

    what: str
    text: str = ""

    @property
    def is_finding(self):
        return self.what not in ("ok", "refused")


def judge(case):
    """Fit the machine of a case, and say what became of it."""
    noise = []

    def listen(message, category, filename, line, *_):
        if issubclass(category, RuntimeWarning) and (place := _our_place()):
            noise.append(f"{place}: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = listen
        verdict = _outcome(case)
    return Verdict("noise", noise[0]) if noise and not verdict.is_finding else verdict


def _our_place():
    """Where the package is in the midst of a warning, unless a check of scikit-learn's gives it."""
    frame = sys._getframe(2)
    while frame:
        path = frame.f_code.co_filename
        if "/sklearn/" in path:
            return None
        if path.startswith(PACKAGE):  # whatever the folder around it is called
            return f"{path.removeprefix(PACKAGE)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def _outcome(case):
    try:
        machine = case.kind(**case.params)
        machine.fit(case.X, case.y, case.weights)
        decided = machine.decision_function if is_classifier(machine) else machine.predict
        scores, known = decided(case.new), decided(case.X)
        answers = machine.predict(case.new)
    except Exception as error:
        return refusal(error, {*case.params, *case.kind().get_params(deep=False)})
    if not (np.all(np.isfinite(scores)) and np.all(np.isfinite(known))):
        return Verdict("decisions are not finite")
    if is_classifier(machine) and not np.isin(answers, machine.classes_).all():
        return Verdict("an answer that is no class")
    wrong = _false_claim(machine, case, known)
    return Verdict("a false claim", wrong) if wrong else Verdict("ok")


def refusal(error, parameters=()):
    """Whether an error is a clear refusal: of our own kinds, by the package or by scikit-learn's
    checks of input, in a sentence that names a parameter or the place in the data."""
    text, where = str(error), traceback.extract_tb(error.__traceback__)[-1].filename
    said = f"{type(error).__name__}: {text[:300]} [{where}]"
    if not isinstance(error, ValueError | TypeError | MemoryLimitError | DataError):
        return Verdict("unclear error", said)
    by_us = where.startswith(PACKAGE) or "/sklearn/utils/" in where
    if "ufunc" in text or "instances of" in text:
        return Verdict("unclear error", said)
    if not by_us and not (
        isinstance(error, ValueError | TypeError) and "could not convert" in text
    ):
        return Verdict("unclear error", said)
    names = set(re.findall(r"\w+", text))
    if not (OF_DATA.search(text) or names & ({*parameters} | KNOWN)):
        return Verdict("unclear error", said)
    return Verdict("refused", said)


# ----------------------------------------------------------------------------------- certificates
def _false_claim(machine, case, decisions):
    """What a result claims that its own coefficients do not bear out, or ""."""
    results = machine.results_
    if (
        not is_classifier(machine)
        or machine.merge
        or getattr(machine, "certificate", "") == "exact"
    ):
        return _nonsense(results)
    y = np.asarray(case.y).ravel()
    weights = np.ones(len(y)) if case.weights is None else np.asarray(case.weights, np.float64)
    if machine.class_weight is not None:
        weights = weights * compute_sample_weight(machine.class_weight, y)
    live = weights > 0 if not machine.keeps_weightless else np.full(len(y), True)
    operator = None if hasattr(machine, "coef_") else machine.approximation_.operator()
    decisions = np.asarray(decisions, WIDE).reshape(len(y), -1)[live]
    for number, result in enumerate(results):
        sign = np.where(y[live] == machine.classes_[number if len(results) > 1 else 1], 1, -1)
        b = WIDE(result.intercept)
        if operator is None:
            # Large weights of both signs, of nearly dependent features, lose digits.
            F, found = (
                dense(_unlimited(machine.approximation_).transform(case.X)),
                result.coefficients,
            )
            rounding = 100 * np.finfo(F.dtype).eps * float((np.abs(F) @ np.abs(found)).max())
            expanded = machine.approximation_.expansion(found) if len(found) else None
            if expanded is not None:
                # How rows are decided: values of 1e11 cancel to scores of 1. Features have the
                # precision that was asked for, and so have the values that they are made of.
                K = machine.approximation_.kernel_(as_rows(case.X).whole(), expanded[0])
                sizes = np.abs(K) @ np.abs(expanded[1])
                rounding += 100 * np.finfo(F.dtype).eps * float(sizes.max())
            scores, length = decisions[:, number] - b, np.sum(result.coefficients.astype(WIDE) ** 2)
        else:
            dual = np.zeros(len(sign))
            dual[machine.support_] = machine.dual_coef_[number]
            scores = np.asarray(operator @ dual, WIDE)
            sizes = np.abs(operator @ np.eye(len(sign))) @ np.abs(dual)
            rounding = 100 * np.finfo(operator.dtype).eps * float(sizes.max())
            # Solvers of features were given those without entries smaller than `drop`.
            dropped = getattr(machine.approximation_, "drop", 0.0)
            rounding += dropped * float(np.abs(result.coefficients).sum())
            length = dual.astype(WIDE) @ scores
        # Adding b to a score s, in double precision whatever the features, is off by u |s + b|, and
        # taking that from 1 by u (1 + |s| + |b|), u = eps / 2; decisions from which b was taken
        # off again are off by u |s + b| once more. What |s| adds is far less than is allowed above.
        rounding += np.finfo(float).eps * (1 + 1.5 * float(abs(b)))
        wrong = _compare(machine, result, sign, scores, length, b, weights[live], rounding)
        if wrong:
            return f"{wrong} ({result.solver}, problem {number})"
    return _nonsense(results)


def _unlimited(approximation):
    approximation = copy(approximation)
    approximation.max_memory = None
    return approximation


def _compare(machine, result, sign, scores, length, b, weights, rounding):
    """Objective and bound against those of the scores, and of other feasible points."""
    C, costs = machine.C, weights.astype(WIDE)
    penalty = length + (b * b if machine.intercept == "penalised" else 0)
    if C is None:  # the mean hinge loss alone
        costs, penalty = costs / costs.sum(), WIDE(0)
    else:
        costs = WIDE(C) * costs

    def value(scale):
        slack = np.maximum(0, 1 - sign * scale * (scores + b))
        losses = slack**2 if machine.loss == "squared_hinge" else slack
        return scale**2 * penalty / 2 + costs @ losses

    mine = value(1)
    slope = 2 * np.sqrt(costs.sum() * mine) if machine.loss == "squared_hinge" else costs.sum()
    slack = 1e-6 * max(abs(mine), abs(result.objective)) + rounding * (
        slope + rounding * costs.sum()
    )
    if not abs(mine - result.objective) <= slack:
        return f"objective {result.objective:.9g} where decisions imply {float(mine):.9g}"
    if result.dual_objective is None:
        return ""
    least = min(value(WIDE(scale)) for scale in (0, 1e-3, 0.1, 0.5, 0.9, 1, 1.1, 2, 10))
    if result.dual_objective > least + slack:
        return f"a bound of {result.dual_objective:.9g}, but {float(least):.9g} is feasible"
    return ""


def _nonsense(results):
    for result in results:
        if not np.isfinite(result.objective) or not np.all(np.isfinite(result.coefficients)):
            return f"an objective of {result.objective} ({result.solver})"
        bound = result.dual_objective
        if bound is not None and bound > result.objective * (1 + 1e-6) + 1e-300:
            return f"a bound of {bound:.9g} above the objective {result.objective:.9g}"
        if result.converged and not np.isfinite(result.kkt_residual or 0.0):
            return f"converged with a residual of {result.kkt_residual}"
    return ""


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)
