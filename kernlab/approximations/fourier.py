"""Random Fourier features (Rahimi and Recht 2007): a kernel of differences as a mean of waves."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from kernlab.approximations.base import FeatureMap
from kernlab.runtime import require_memory


@dataclass(eq=False, repr=False)
class FourierMap(FeatureMap):
    """Features whose inner products estimate a Gaussian or Laplacian kernel without bias.

    k(x - z) = E [cos(w . x) cos(w . z) + sin(w . x) sin(w . z)] where w follows the Fourier
    transform of k: a normal law for the Gaussian kernel, Cauchy's for the Laplacian. The error is
    about 1 / sqrt(D), whatever the data: they are what data-dependent landmarks must beat.

    Parameters
    ----------
    kernel : "rbf" or "laplacian".
    gamma : a number, or a rule (see `make_kernel`).
    n_components : D, the number of features: a cosine and a sine of each frequency, so that an odd
        number is rounded up.
    random_state, max_memory : as everywhere.

    Attributes
    ----------
    frequencies_ : array of shape (p, D / 2), the draws of w

    Examples
    --------
    >>> from kernlab.approximations import FourierMap
    >>> from sklearn.datasets import make_moons
    >>> X, _ = make_moons(100, random_state=0)
    >>> map_ = FourierMap(gamma=1.0, n_components=2000, random_state=0).fit(X)
    >>> map_.rank_, map_.error(X) < 0.05
    (2000, True)
    """

    kernel: object = "rbf"
    _: KW_ONLY
    gamma: object = "scale"
    n_components: int = 200
    random_state: object = None
    max_memory: object = None

    def _fit(self, rows, sample_weight=None):
        D, p = self.n_components, rows.n_features
        half = -(-int(D) // 2)
        require_memory(
            2 * 8 * p * half,
            self.max_memory,
            what=f"{half:,} frequencies in {p:,} dimensions",
            arithmetic=f"2 x {p:,} x {half:,} x 8 bytes",
            way_out="Allow more with max_memory, or take fewer components.",
        )
        with self._timed("frequencies"):
            w = self.kernel_.frequencies(np.random.default_rng(self.random_state), (p, half))
        if w is None:
            raise ValueError(
                f"kernel={self.kernel!r} has no random Fourier features here: 'rbf' and "
                "'laplacian' have; approximation='nystrom' takes any kernel"
            )
        self.frequencies_ = w.astype(rows.dtype, copy=False)

    @property
    def rank_(self):
        return 2 * self.frequencies_.shape[1]

    @property
    def nbytes(self):
        return self.frequencies_.nbytes + self._bytes_of_solves

    def _block(self, X):
        features = np.empty((X.shape[0], self.rank_), X.dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # refused where they are used
            angles = X @ self.frequencies_.astype(X.dtype, copy=False)
            np.cos(angles, out=features[:, : self.rank_ // 2])
            np.sin(angles, out=features[:, self.rank_ // 2 :])
        features *= X.dtype.type(np.sqrt(2.0 / self.rank_))
        return features
