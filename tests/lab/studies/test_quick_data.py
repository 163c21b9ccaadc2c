"""The quick profile needs no data beyond what comes with the package or is generated."""

import pytest

from kernlab import paths
from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine.provenance import Inputs


@pytest.mark.parametrize("id", STUDIES)
def test_every_quick_point_has_its_data_at_hand(id, monkeypatch, tmp_path):
    monkeypatch.delenv("KERNLAB_DATA", raising=False)
    monkeypatch.setattr(paths, "downloads_dir", lambda: tmp_path)
    inputs = Inputs(STUDIES[id])
    assert not [name for point in STUDIES[id].grid("quick") for name in inputs.missing(point)]
