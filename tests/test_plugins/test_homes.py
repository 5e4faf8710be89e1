"""What a test writes into Giveway's home is not there for a test in another process of the same run."""

import os
from pathlib import Path

import pytest
from django.conf import settings


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="only one process: -n 0")
def test_each_process_of_a_run_has_a_home_of_its_own() -> None:
    assert Path(settings.HOME).name == os.environ["PYTEST_XDIST_WORKER"]
    assert Path(settings.HOME).stat().st_mode & 0o077 == 0
