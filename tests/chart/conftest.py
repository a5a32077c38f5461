"""helm, once for all tests of the chart."""

from pathlib import Path

import pytest
from support.helm import Helm, find


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    path = find()
    if path is None:
        pytest.skip("needs helm: none on PATH, none in build/cluster/bin (`make test` builds it)")
    return Helm(path, tmp_path)
