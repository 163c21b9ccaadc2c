"""Data sets: a registry, files found or downloaded, splits and scalings as the papers have them.

`load_dataset` is the door. What the registry knows stands in registry.toml.
"""

from kernlab.datasets.catalogue import (
    data_path,
    dataset_available,
    dataset_names,
    get_dataset,
    list_datasets,
    verify_datasets,
)
from kernlab.datasets.files import DataNotFound, is_bundled, is_path
from kernlab.datasets.load import Dataset, load_dataset
from kernlab.datasets.readers import digest_of
from kernlab.datasets.registry import get_entry, knows, protocol_rows, row_labels
from kernlab.rows.text import DataError
