"""Data sets: a registry, files found or downloaded, splits and scalings as the papers have them.

`load_dataset` is the door. What the registry knows stands in registry.toml.
"""

from importlib import import_module

_CATALOGUE = (
    "data_path dataset_available dataset_names get_dataset list_datasets measured_counts "
    "verify_datasets"
)
_MODULES = {
    "kernlab.rows.text": "DataError",
    "kernlab.datasets.files": "DataNotFound is_bundled is_path",
    "kernlab.datasets.load": "Dataset load_dataset",
    "kernlab.datasets.readers": "digest_of",
    "kernlab.datasets.registry": "get_entry knows protocol_rows row_labels",
    "kernlab.datasets.catalogue": _CATALOGUE,
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__():
    return sorted(set(globals()) | set(_HOMES))
