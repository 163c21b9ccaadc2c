"""Features of rows on a cluster: parts that workers keep, or form again in every pass.

Solvers see sums over parts, one of each worker. Nothing of n x k numbers ever leaves a worker.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernlab.features import Features
from kernlab.runtime import MemoryLimitError, Stopwatch, format_bytes, parse_bytes, row_blocks

CHUNK_BYTES = 2**26  # of features that are formed in a pass
BYTES_PER_ROW = 48  # of labels, intervals, scores


@dataclass(frozen=True)
class Targets:
    """What rows on a cluster are fitted to: a code for each distinct label, or the labels as they
    are (`code` None)."""

    rows: object
    labels: np.ndarray | None = None  # the distinct ones in order
    code: np.ndarray | None = None  # -1 and 1 for each label and problem
    factors: np.ndarray | None = None  # of the weights of each label's rows

    @property
    def columns(self):
        """One `Column` for each problem."""
        numbers = range(1 if self.code is None else self.code.shape[1])
        parts = (self.labels, self.code, self.factors)
        return [Column(number, *parts) for number in numbers]

    def __array__(self, dtype=None, copy=None):
        """All columns, brought here: for solvers that read rows in turn."""
        labels = self.rows.labels
        found = np.stack([column.of(labels) for column in self.columns], axis=1)
        return found if dtype is None else found.astype(dtype)

    def weights(self):
        """The weight of each row, brought here; None where all count once."""
        if not self.rows.has_weights and self.factors is None:
            return None
        return self.columns[0].weights(self.rows.labels, self.rows.weights)


@dataclass(frozen=True)
class Column:
    """One problem of `Targets`, without the rows."""

    number: int
    labels: np.ndarray | None
    code: np.ndarray | None
    factors: np.ndarray | None

    def of(self, labels):
        """-1 and 1 for each of these labels, or the numbers themselves."""
        if self.code is None:
            return np.asarray(labels, dtype=np.float64)
        return self.code[np.searchsorted(self.labels, labels), self.number]

    def weights(self, labels, given):
        """The weights of rows with these labels and, unless None, weights of their own."""
        weights = np.ones(len(labels)) if given is None else np.asarray(given, dtype=np.float64)
        if self.factors is not None:
            weights = weights * self.factors[np.searchsorted(self.labels, labels)]
        return weights


class Part:
    """Some rows X on a worker, with labels y, weights w (None: all count once), their features, and
    what the last pass has left for the next one (`known`), which may be lost at any time."""

    is_head = False  # whether its features are a view of another part's

    def __init__(self, approximation, n_rows, kept, X, y, w):
        self.X, self.y, self.w = X, y, w
        self.approximation, self.n_rows, self.kept = approximation, n_rows, kept
        self.rank, self.precise, self.known = approximation.rank_, False, {}
        if kept:
            self._features.A  # noqa: B018  computed where it will be needed

    def __len__(self):
        return self.X.shape[0]

    def __sizeof__(self):
        """For Dask, which watches what workers hold; the rows are counted as blocks."""
        held = self._features.A.nbytes if self.kept and not self.is_head else 0
        return int(held + BYTES_PER_ROW * len(self))

    def __getstate__(self):
        return {**vars(self), "known": {}}

    @cached_property
    def _features(self):
        return self._formed(slice(0, len(self)))

    def _formed(self, rows):
        made = self.approximation.features(self.X[rows], n_rows=self.n_rows)
        if made.map_ is None:
            return Features(made.stored()).leading(self.rank)
        made = made.in_double if self.precise else made
        return made.leading(self.rank) if self.rank < made.shape[1] else made

    def chunks(self):
        """Yield (slice, Features) of all rows, in order."""
        if self.kept:
            yield slice(0, len(self)), self._features
            return
        per_row = 8 * max(1, self.approximation.rank_)
        for rows in row_blocks(len(self), max(256, CHUNK_BYTES // per_row)):
            yield rows, self._formed(rows)

    def head(self, share):
        """The first of the rows, one of every `share`."""
        other = self.changed(kept=False)
        other.is_head = True
        some = -(-len(self) // share)
        other.X, other.y = self.X[:some], self.y[:some]
        other.w = None if self.w is None else self.w[:some]
        if self.kept:
            other.kept = True
            other.__dict__["_features"] = self._features.take(np.arange(some))
        return other

    def changed(self, rank=None, precise=False, kept=None):
        """The same rows with the first `rank` features, or with those in double precision."""
        other = copy(self)
        other.known = {}
        other.__dict__.pop("_features", None)
        other.rank, other.precise = rank or self.rank, precise or self.precise
        other.kept = self.kept if kept is None else kept
        if other.kept and self.kept and not precise:
            other.__dict__["_features"] = self._features.leading(other.rank)
        return other


def _make_part(given, number, X, y, w):
    approximation, n_rows, share = given
    kept = int((number + 1) * share) > int(number * share)
    return Part(approximation, n_rows, kept, X, y, w)


class ClusterFeatures(Features):
    """The features of `DaskRows` by a fitted `FeatureMap`.

    Solvers that know of clusters take sums over `pieces`, whose objects are each a `Part`; others
    read blocks in turn, as from a file. max_memory is of each worker; None for what Dask lets it
    hold.
    """

    def __init__(self, rows, approximation, max_memory=None, shape=None):
        self.A, self._form, self._room = None, self._brought, None
        self.rows, self.approximation, self.max_memory = rows, approximation, max_memory
        self.shape, self.dtype = shape or (len(rows), approximation.rank_), np.dtype(np.float64)

    @property
    def is_mapped(self):
        """Whether workers keep values, and products of features are of moderate size."""
        return self.approximation.map_ is not None

    def _brought(self, rows, room):
        return self.approximation.transform(self.rows.block(rows))

    @cached_property
    def pieces(self):
        """The parts: formed on the workers that hold the rows, and kept as far as they fit."""
        return self._made(self._share_kept(self.approximation.bytes_per_row(self.rows)))

    @cached_property
    def row_pieces(self):
        """The parts without their features, which are formed in every pass."""
        self._share_kept(0)
        return self._made(0.0)

    def release(self):
        """Let the workers forget the features."""
        for name in ("pieces", "row_pieces", "in_double"):
            if (held := vars(self).pop(name, None)) is not None:
                held.release()

    def _made(self, share):
        sent = copy(self.approximation)
        sent.max_memory = None
        given = sent, len(self.rows), share
        with Stopwatch(self.approximation.timings_).stage("features"):
            return self.rows.pieces(_make_part, given, "features")

    def _share_kept(self, per_row):
        """The share of the features that workers can keep; refused where rows alone do not fit."""
        limits = self.rows.worker_limits()
        if self.max_memory is not None:
            limits = np.minimum(limits, parse_bytes(self.max_memory))
        n, room = -(-len(self.rows) // len(limits)), int(min(limits))
        rank = self.approximation.rank_
        rows, matrices = -(-self.rows.nbytes // len(limits)), 4 + self.rows.most_pieces()
        needed = rows + n * BYTES_PER_ROW + 3 * CHUNK_BYTES + matrices * 8 * rank**2
        if needed > room:
            raise MemoryLimitError(
                f"{n:,} rows on each of {len(limits)} workers, with what Newton's method or ADMM "
                f"keeps of them, need {format_bytes(needed)} a worker "
                f"({format_bytes(rows)} of rows + {n:,} x {BYTES_PER_ROW} bytes + "
                f"{format_bytes(3 * CHUNK_BYTES)} + {matrices} x {rank:,}^2 x 8 bytes), but only "
                f"{format_bytes(room)} may be used. Take more workers, or workers with more memory."
            )
        return min(1.0, (room - needed) / max(1, n * per_row))

    def stored(self, max_memory=None):
        raise MemoryLimitError(
            f"the features of {self.shape[0]:,} rows on a cluster are not brought together: "
            "solver='newton' works where the rows are and 'sbm' reads them in turn; for others "
            "call compute() on the rows"
        )

    def leading(self, n_features):
        if n_features == self.shape[1]:
            return self
        return self._with((len(self.rows), n_features), Part.changed, n_features)

    def head(self, share):
        """The features of the first rows of each part, one of every `share`."""
        return self._with((-(-self.shape[0] // share), self.shape[1]), Part.head, share)

    @cached_property
    def in_double(self):
        """The same features in double precision, formed in every pass."""
        return self._with(self.shape, Part.changed, None, True, False)

    def _with(self, shape, change, *arguments):
        """Features of this shape, with each part changed."""
        other = ClusterFeatures(self.rows, self.approximation, self.max_memory, shape)
        other.pieces = self.pieces.each(change, *arguments)
        return other

    def rounding(self, w):
        return self.pieces.sum(_rounding, w, combine=max)

    def sample(self, n_rows, generator):
        """Rows drawn at random: their features, in memory here, labels, weights (or None), and the
        share of all rows that they are."""
        chosen = np.sort(generator.choice(len(self.rows), n_rows, replace=False))
        X, y, w = self.rows.take_labelled(chosen)
        features = self.approximation.features(X, n_rows=len(self.rows))
        return features.leading(self.shape[1]), y, w, n_rows / self.shape[0]


def _rounding(part, w):
    return next(features.rounding(w) for _, features in part.chunks())
