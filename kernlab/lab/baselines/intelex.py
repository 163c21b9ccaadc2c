"""scikit-learn-intelex's SVC: the same machine as LIBSVM's, on all cores."""

from importlib import import_module

from kernlab.lab.baselines.libsvm import LIBSVM_NAMES, LibSVM

INSTALL = "python -m pip install scikit-learn-intelex"


def intel_svc():
    """The class `sklearnex.svm.SVC`, or an error that says how to get it."""
    try:
        return import_module("sklearnex.svm").SVC
    except ImportError as error:
        raise ImportError(
            f"scikit-learn-intelex cannot be imported ({error}); install it with: {INSTALL}"
        ) from error


class IntelexSVC(LibSVM):
    """The support vector machine with the exact kernel, by scikit-learn-intelex.

    Parameters: as `LibSVM` where this SVC has them. The loss is the hinge, and the kernel one of
    "linear", "rbf", "polynomial" and "sigmoid".
    """

    title = "SVC (scikit-learn-intelex)"
    compares = "what today's fastest exact solver on a processor does"
    loss = "hinge"

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        tol=1e-3,
        max_iter=-1,
        cache_size=200,
        shrinking=True,
        class_weight=None,
        random_state=None,
        max_memory=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory

    def _holds_matrix(self):
        if type(self.kernel_) not in LIBSVM_NAMES:
            raise ValueError(
                "scikit-learn-intelex has the kernels linear, rbf, polynomial and sigmoid, not "
                f"{type(self.kernel_).__name__}: use the baseline 'libsvm'"
            )
        return False

    def _svc_class(self):
        return intel_svc()
