"""kernlab: kernel support vector machines through something cheaper than the kernel matrix.

The public names are loaded on first use, so that ``import kernlab`` and the command line stay
quick.
"""

from importlib import import_module

__version__ = "0.1.0"

_ESTIMATORS = "FPC HSSSVC KernelMachine LASN LASNRegressor LLSVM SparseCholeskySVC recommend sweep"
_HOMES = dict.fromkeys(_ESTIMATORS.split(), "kernlab.estimators")
_HOMES["load_dataset"] = "kernlab.datasets"

__all__ = [*_HOMES, "__version__"]


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
