"""Other releases of Slurm beside the installed one: found by name, unpacked once, run side by side."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from deploy.private_slurm import PrivateSlurm, PrivateSlurmError, releases
from tests.plugins.private_slurm import new_root

TOLD = {"24.11": "slurm-wlm 24.11.", "26.05": "slurm-wlm 26.05."}


def test_a_release_is_known_by_its_short_and_its_exact_name() -> None:
    assert releases.known("24.11") == releases.known("24.11.5") == "24.11"
    assert releases.known("system") == releases.SYSTEM

    with pytest.raises(
        PrivateSlurmError, match=r"there is no Slurm '24.1' to be had; choose one of system, 24.11"
    ):
        releases.known("24.1")


def test_a_release_that_is_not_unpacked_is_named_with_the_command_that_unpacks_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(releases.PLACE, str(tmp_path))

    with pytest.raises(
        PrivateSlurmError, match=r"Slurm 26.05 is not unpacked; run: deploy/bin/slurm-versions 26.05"
    ):
        PrivateSlurm(tmp_path / "new", version="26.05.5")


def test_the_installed_one_is_meant_where_nobody_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(releases.VARIABLE, raising=False)
    assert releases.named(None) is None

    monkeypatch.setenv(releases.VARIABLE, "12.34")
    with pytest.raises(PrivateSlurmError, match=r"there is no Slurm '12.34'"):
        releases.named(None)


@pytest.mark.slurm
def test_releases_run_side_by_side_and_each_says_its_own_version(need_releases: None) -> None:
    with ExitStack() as stack:
        running = {
            name: stack.enter_context(
                PrivateSlurm(new_root(), nodes=2, gpus=0, version=name, remove_root=True)
            )
            for name in releases.SUITES
        }
        for name, slurm in running.items():
            assert slurm.run(["squeue", "--version"]).stdout.startswith(TOLD[name])
            job = slurm.submit(
                "ann", "-N2", "-n2", script="#!/bin/sh\nsrun sh -c 'echo $SLURM_PROCID >>ids'\n"
            )
            slurm.wait_for_state(job, "")
            assert sorted((slurm.work / "ann" / "ids").read_text().split()) == ["0", "1"]
