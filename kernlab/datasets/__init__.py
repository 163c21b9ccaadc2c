"""Data sets: a registry, files found or downloaded, splits and scalings as the papers have them.

`load_dataset` is the door. What the registry knows stands in registry.toml.
"""

from importlib import import_module

_HOMES = {
    "DataError": "errors",
    "DataNotFound": "errors",
    "Dataset": "loader",
    "load_dataset": "loader",
    "data_path": "catalogue",
    "dataset_available": "catalogue",
    "dataset_names": "catalogue",
    "get_dataset": "catalogue",
    "list_datasets": "catalogue",
    "verify_datasets": "catalogue",
    "measured_counts": "protocols",
    "protocol_table": "protocols",
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_HOMES))
