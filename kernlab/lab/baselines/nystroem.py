"""What a user of scikit-learn does today: its Nystroem, then its LinearSVC."""

from sklearn.kernel_approximation import Nystroem

from kernlab.kernels import GAMMA_RULES, resolve_gamma
from kernlab.lab.baselines.linear import LinearSVM
from kernlab.runtime import require_memory


class NystroemLinearSVC(LinearSVM):
    """scikit-learn's Nystroem and LinearSVC at their documented defaults.

    Parameters: C, n_components, kernel (a name that Nystroem knows), gamma (None: Nystroem's
    default, 1 / features for the RBF; a number, or a rule of kernlab), degree and coef0 (None:
    Nystroem's), loss (the primal method for "squared_hinge", the dual one for "hinge", which has
    no other), intercept ("penalised" or "none"), tol, max_iter, class_weight, random_state,
    max_memory.
    """

    title = "Nystroem + LinearSVC (scikit-learn)"
    compares = "what better landmarks and solvers add to today's common tool"

    def __init__(
        self,
        C=1.0,
        *,
        n_components=100,
        kernel="rbf",
        gamma=None,
        degree=None,
        coef0=None,
        loss="squared_hinge",
        intercept="penalised",
        tol=1e-4,
        max_iter=1000,
        class_weight=None,
        random_state=None,
        max_memory=None,
    ):
        self.C = C
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.intercept = intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory

    def _method(self):
        return "tron" if self.loss == "squared_hinge" else "dcd"

    def _fit_features(self, rows):
        n = rows.X.shape[0]
        require_memory(
            8 * n * self.n_components,
            self.max_memory,
            what=f"the features of {n:,} rows on {self.n_components:,} landmarks",
            arithmetic=f"{n:,} x {self.n_components:,} x 8 bytes",
            way_out="Allow more with max_memory, or take fewer rows or landmarks.",
        )
        gamma = resolve_gamma(self.gamma, rows.X) if self.gamma in GAMMA_RULES else self.gamma
        self.nystroem_ = Nystroem(
            self.kernel,
            n_components=self.n_components,
            gamma=gamma,
            degree=self.degree,
            coef0=self.coef0,
            random_state=self.random_state,
        )
        return self.nystroem_.fit_transform(rows.X)

    def _features(self, X):
        return self.nystroem_.transform(X)

    def _held(self):
        return *super()._held(), self.nystroem_.components_, self.nystroem_.normalization_
