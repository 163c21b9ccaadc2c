"""The degree of polynomial features, chosen by validation, with all that degrees can share.

In Chebyshev's basis the features of degree s begin with those of all lower degrees. So one Gram
matrix holds those of all degrees, those of folds add up, and the steps of all degrees and classes
go over the data together.
"""

import math
import time
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils.validation import check_random_state

from kernlab.approximations.polynomial.approximation import PolynomialMap
from kernlab.approximations.polynomial.monomials import space_dimension
from kernlab.approximations.polynomial.rows import chebyshev_features
from kernlab.solvers import solve_hinge_admm, solve_hinge_interior
from kernlab.solvers.hinge.passes import Subspace, gram_matrix


def largest_degree(n_rows, n_features, at_most=10):
    """s_max = min(ceil((m / log m)^(1/d)), 10), the range of Section VI-A."""
    if n_rows < 3:
        return 1
    return max(1, min(math.ceil((n_rows / math.log(n_rows)) ** (1.0 / n_features)), at_most))


@dataclass(frozen=True)
class TrainingRows:
    """Rows to learn from: their source, a small number per row for its class, and weights."""

    source: object
    codes: np.ndarray
    weights: np.ndarray | None
    bounds: tuple  # smallest and largest value of each feature

    def take(self, index):
        weights = None if self.weights is None else self.weights[index]
        return TrainingRows(self.source.select(index), self.codes[index], weights, self.bounds)


@dataclass(frozen=True)
class Machines:
    """What FPC learns for some degrees: the map of each, and its results, one per binary problem.

    `seconds`: what making the maps took, and what solving took, of all degrees together.
    """

    maps: dict
    results: dict
    seconds: dict

    def accuracy(self, degree, source, codes, weights):
        """The share of rows, by weight, that the machine of a degree decides rightly."""
        coefficients = np.array([result.coefficients for result in self.results[degree]]).T
        scores = self.maps[degree].decision(source, coefficients)
        decided = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return float(np.average(decided == codes, weights=weights))


class PolynomialFits:
    """Fits FPC for several degrees on the same rows.

    `map_parameters` are those of `PolynomialMap` but for the degree, `solver_parameters` those of
    `solve_hinge_admm`, or with `to_optimum` of `solve_hinge_interior`.
    """

    def __init__(self, n_classes, map_parameters, solver_parameters):
        self.positives = [1] if n_classes == 2 else list(range(n_classes))
        self.map_parameters, self.solver_parameters = map_parameters, solver_parameters

    def run(self, rows, degrees, gram=None):
        """Machines for all degrees; `gram` that of Chebyshev's basis for the largest, if known."""
        began = time.perf_counter()
        maps = {s: self._map(rows, s) for s in degrees}
        nested = {s: made for s, made in maps.items() if is_nested(made)}
        mixes = {s: made.change_of_basis_ for s, made in nested.items() if made.basis == "power"}
        mapped = time.perf_counter()
        results = {}
        # ADMM takes all degrees over the data together; an interior point method has nothing that
        # they could share but the Gram matrix.
        alone = self.solver_parameters.get("to_optimum", False)
        for group in [{s: made} for s, made in nested.items()] if alone else [nested]:
            if group:
                results |= self._run_nested(rows, group, mixes, gram)
        for s in maps.keys() - nested.keys():
            (results[s],) = self._solve(maps[s].block_features(rows.source), rows, [Subspace()])
        seconds = {"approximate": mapped - began, "solve": time.perf_counter() - mapped}
        return Machines(maps, results, seconds)

    def _map(self, rows, degree):
        made = PolynomialMap(degree, **self.map_parameters)
        return made.fit_rows(rows.source, rows.bounds)

    def _run_nested(self, rows, maps, mixes, gram):
        features = chebyshev_features(rows.source, maps[max(maps)].chebyshev_)
        subspaces = [Subspace(len(made.chebyshev_), mixes.get(s)) for s, made in maps.items()]
        size = features.shape[1]
        gram = None if gram is None or len(gram) < size else gram[:size, :size]
        return dict(zip(maps, self._solve(features, rows, subspaces, gram), strict=True))

    def _solve(self, features, rows, subspaces, gram=None):
        """For each subspace its results, one for each binary problem."""
        labels = np.empty((len(rows.codes), len(self.positives)), dtype=np.int8)
        for column, positive in zip(labels.T, self.positives, strict=True):
            np.copyto(column, 2 * (rows.codes == positive).view(np.int8) - 1)
        shared = {"sample_weight": rows.weights, "gram": gram, "keep_dual": False}
        parameters = dict(self.solver_parameters)
        if not parameters.pop("to_optimum", False):
            return solve_hinge_admm(features, labels, subspaces=subspaces, **shared, **parameters)
        for name in ("alpha", "beta"):
            parameters.pop(name, None)
        return [
            solve_hinge_interior(features, labels, subspace=subspace, **shared, **parameters)
            for subspace in subspaces
        ]

    # ---------------------------------------------------------------------- validation
    def choose(self, rows, degrees, validation, random_state):
        """The best degree, the accuracy of each, and the Gram matrix of all rows if there is one.

        `validation`: a share of the rows to hold out, or a number of folds.
        """
        splits = _splits(rows.codes, validation, random_state)
        shared = self._shared_basis(rows, degrees)
        grams = [None] * len(splits)
        total = None
        if shared is not None:
            total, grams = self._grams(rows, splits, shared)
        accuracies = np.zeros(len(degrees))
        for (train, held_out), gram in zip(splits, grams, strict=True):
            machines = self.run(rows.take(train), degrees, gram)
            rest = rows.take(held_out)
            accuracies += [
                machines.accuracy(s, rest.source, rest.codes, rest.weights) for s in degrees
            ]
        accuracies /= len(splits)
        return best(degrees, accuracies), dict(zip(degrees, accuracies, strict=True)), total

    def _shared_basis(self, rows, degrees):
        """Chebyshev's basis of the largest degree whose features are made from it, or None."""
        n_rows, (low, high) = rows.source.shape[0] // 2, rows.bounds
        varying = int(np.count_nonzero(high > low))

        def has_room(s):
            n = self.map_parameters["n_centres"]
            n = min(space_dimension(len(low), s), n_rows) if n is None else n
            return self.map_parameters["basis"] == "chebyshev" or space_dimension(varying, s) <= n

        nested = [s for s in degrees if has_room(s)]
        if not nested:
            return None
        parameters = self.map_parameters | {"basis": "chebyshev", "n_centres": None}
        made = PolynomialMap(max(nested), **parameters)
        return made.fit_rows(rows.source, rows.bounds).chebyshev_

    def _grams(self, rows, splits, basis):
        """Gram matrices of all rows and of each split's training rows, each row seen once."""
        held_out = [
            gram_matrix(chebyshev_features(part.source, basis), part.weights)
            for part in (rows.take(index) for _, index in splits)
        ]
        if len(splits) == 1:
            part = rows.take(splits[0][0])
            train = gram_matrix(chebyshev_features(part.source, basis), part.weights)
            return train + held_out[0], [train]
        total = sum(held_out)
        return total, [total - part for part in held_out]


def is_nested(made):
    """Whether a map's features can be had from Chebyshev's basis at no more than their number."""
    if made.basis == "chebyshev":
        return True
    varying = int(np.count_nonzero(made.high_ > made.low_))
    return space_dimension(varying, made.degree) <= made.n_centres_


def best(degrees, accuracies):
    """The lowest of the degrees with the highest accuracy."""
    return degrees[int(np.argmax(accuracies))]


def _splits(codes, validation, random_state):
    seed = check_random_state(random_state).randint(2**31 - 1)
    rare = int(np.bincount(codes).min())
    if isinstance(validation, int | np.integer) and not isinstance(validation, bool):
        if not 2 <= validation <= len(codes):
            raise ValueError(f"validation={validation} folds of {len(codes)} rows cannot be made")
        folds = StratifiedKFold(validation, shuffle=True, random_state=seed)
        strata = codes if rare >= validation else np.zeros_like(codes)
        return list(folds.split(strata, strata))
    if not (isinstance(validation, float) and 0.0 < validation < 1.0):
        raise ValueError(
            f"validation={validation!r} is not a share between 0 and 1, a number of folds, nor a "
            "pair (X, y) of rows to validate on"
        )
    if len(codes) < 3:
        raise ValueError(
            f"{len(codes)} rows are too few to choose the degree by validation: name a degree"
        )
    strata = codes if rare >= 2 and validation * len(codes) >= len(np.unique(codes)) else None
    return [_held_out(strata, len(codes), validation, seed)]


def _held_out(strata, n_rows, share, seed):
    if strata is not None:
        split = StratifiedShuffleSplit(1, test_size=share, random_state=seed)
        train, held_out = next(split.split(strata, strata))
    else:
        order = np.random.default_rng(seed).permutation(n_rows)
        count = min(max(1, round(share * n_rows)), n_rows - 1)
        train, held_out = order[count:], order[:count]
    return np.sort(train), np.sort(held_out)
