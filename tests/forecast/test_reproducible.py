"""One past makes one model, whatever the processor and however many threads multiply its matrices."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAIN = """
import json
from scheduler.forecast.model import Model
from tests.forecast.made import jobs
model = Model.fit(jobs(900))
print(json.dumps([values.ravel().tolist() for network in model.networks.each for values in network.parameters]))
"""


def trained(**multiplying: str) -> list[list[float]]:
    """What the networks have learned in a process that multiplies in this way."""
    done = subprocess.run(
        [sys.executable, "-c", TRAIN],
        cwd=ROOT,
        env={**os.environ, **multiplying},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    parameters: list[list[float]] = json.loads(done.stdout)
    return parameters


@pytest.mark.timeout(600)
def test_a_model_is_the_same_on_another_machine() -> None:
    """In single precision the roundings of a thousand steps grew into the second digit of some weights."""
    here = trained(OPENBLAS_NUM_THREADS="1")
    there = trained(OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE="Prescott")
    worst = max(float(np.max(np.abs(np.subtract(a, b)))) for a, b in zip(here, there, strict=True))
    assert worst < 1e-8
