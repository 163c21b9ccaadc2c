"""The data that a study's points read: what is missing of it, and which files exactly it is."""

from kernlab.datasets import DataError, data_path, dataset_available, dataset_names


class Inputs:
    """The data sets of one study, each looked at once."""

    def __init__(self, study):
        self._needs = tuple(study.needs)
        self._known = frozenset(dataset_names())
        self._available, self._checksums = {}, {}

    def names(self, point):
        """The data sets that a point reads: its own, or where that is only a label, the study's."""
        return (point.dataset,) if point.dataset in self._known else self._needs

    def missing(self, point):
        """Why a point's data cannot be used, or "". Nothing is downloaded during a run."""
        missing = [name for name in self.names(point) if not self._is_available(name)]
        if not missing:
            return ""
        commands = " and ".join(f"kernlab data get {name}" for name in missing)
        return f"data not found: {', '.join(missing)} (to get it: {commands})"

    def checksums(self, point):
        """SHA-256 of every file that a point reads; {} where its data are generated."""
        return {
            file: digest
            for name in self.names(point)
            for file, digest in self._checksums_of(name).items()
        }

    def _is_available(self, name):
        if name not in self._available:
            self._available[name] = dataset_available(name)
        return self._available[name]

    def _checksums_of(self, name):
        if name not in self._checksums:
            self._checksums[name] = _digests(name)
        return self._checksums[name]


def _digests(name):
    from kernlab.datasets.checksums import digest_of

    try:
        return {path.name: digest_of(path) for path in data_path(name)}
    except DataError:  # generated, or gone: then there is no file to tell of
        return {}
