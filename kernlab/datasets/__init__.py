"""Data sets: a registry, files found or downloaded, splits and scalings as the papers have them.

`load_dataset` is the door. What the registry knows stands in registry.toml.
"""

from importlib import import_module

_HOMES = {
    "DataError": "kernlab.rows.text",
    "DataNotFound": "kernlab.datasets.files",
    "Dataset": "kernlab.datasets.load",
    "load_dataset": "kernlab.datasets.load",
    "is_bundled": "kernlab.datasets.files",
    "is_path": "kernlab.datasets.files",
    "digest_of": "kernlab.datasets.readers",
    "get_entry": "kernlab.datasets.registry",
    "knows": "kernlab.datasets.registry",
    "protocol_rows": "kernlab.datasets.registry",
    "row_labels": "kernlab.datasets.registry",
    "data_path": "kernlab.datasets.catalogue",
    "dataset_available": "kernlab.datasets.catalogue",
    "dataset_names": "kernlab.datasets.catalogue",
    "get_dataset": "kernlab.datasets.catalogue",
    "list_datasets": "kernlab.datasets.catalogue",
    "measured_counts": "kernlab.datasets.catalogue",
    "verify_datasets": "kernlab.datasets.catalogue",
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_HOMES))
