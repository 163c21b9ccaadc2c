"""kernlab: kernel support vector machines through something cheaper than the kernel matrix.

The public names are loaded on first use, so that ``import kernlab`` and the command line stay
quick.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "FPC": "kernlab.estimators",
    "HSSSVC": "kernlab.estimators",
    "LASN": "kernlab.estimators",
    "LLSVM": "kernlab.estimators",
    "LASNRegressor": "kernlab.estimators",
    "KernelMachine": "kernlab.estimators",
    "SparseCholeskySVC": "kernlab.estimators",
    "load_dataset": "kernlab.datasets",
    "recommend": "kernlab.estimators",
    "sweep": "kernlab.estimators",
}

__all__ = [
    "FPC",
    "HSSSVC",
    "LASN",
    "LLSVM",
    "KernelMachine",
    "LASNRegressor",
    "SparseCholeskySVC",
    "__version__",
    "load_dataset",
    "recommend",
    "sweep",
]


def __getattr__(name):
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'kernlab' has no attribute {name!r}") from None
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_HOMES))
