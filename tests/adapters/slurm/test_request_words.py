"""The table of what users can ask of Slurm: every option is in it, and each is decoded as it says, on each release."""

import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.private_slurm import Partition, PrivateSlurm, PrivateSlurmError, releases
from scheduler.adapters.slurm import SlurmCluster, request_words
from scheduler.adapters.slurm.request_words import OPTIONS, WORDS, Treatment, asks
from tests.plugins.private_slurm import new_root
from tests.test_project.repository import ROOT

HELD = ("--hold", "--output=/dev/null", "-J", "one")
TWO = ("-n2",)


@pytest.fixture(scope="module")
def slurm(slurm_release: str) -> Iterator[PrivateSlurm]:
    """Nodes with two threads a core, sockets, GPUs, something that is only counted, licences and disks."""
    words = {
        "CPUs": "8", "SocketsPerBoard": "2", "CoresPerSocket": "2", "ThreadsPerCore": "2", "Gres": "gpu:2,npu:8",
        "Feature": "f1", "TmpDisk": "100",
    }  # fmt: skip
    gres = (
        "NodeName=n[1-2] Name=npu Count=8",
        *(f"NodeName=n{n} Name=gpu File={{dev}}/n{n}/gpu[0-1]" for n in (1, 2)),
    )
    with PrivateSlurm(
        new_root(), nodes=2, gpus=2, version=slurm_release, remove_root=True, node_words=(words, words),
        gres_lines=gres, options={"GresTypes": "gpu,npu", "Licenses": "lic:10"}, partitions=(Partition("x", (1, 2)),),
    ) as slurm:  # fmt: skip
        yield slurm


def _submitted(slurm: PrivateSlurm, options: str) -> str | None:
    """The id of a held job with these options; None where this release does not know them."""
    own = () if re.search(r"(?:^| )-n\d", options) else TWO
    argv = ["sbatch", "--parsable", "-p", "x", *HELD, *own, *options.split()]
    done = slurm.run(argv, "ann", stdin="#!/bin/sh\nexec sleep 600\n", check=False)
    return done.stdout.strip().partition(";")[0] or None


@pytest.mark.slurm
@pytest.mark.every_release
def test_every_option_is_decoded_as_the_table_says(slurm: PrivateSlurm) -> None:
    """All at once: a few hundred held jobs, one look."""
    tried = [(row, options) for row in OPTIONS for options in row.tried]
    ids = {_submitted(slurm, options): (row, options) for row, options in tried}
    unknown = ids.pop(None, None)
    assert len(ids) > len(tried) * 2 // 3, f"most are refused, such as {unknown}"
    plain = _submitted(slurm, "")

    seen = {
        job.id.partition("_")[0]: job for job in SlurmCluster(env={**os.environ, **slurm.env}).observe().jobs
    }

    assert plain is not None
    assert seen[plain].unplannable == ""
    wrong = [
        f"{options}: {seen[job_id].unplannable or 'is planned'}"
        for job_id, (row, options) in ids.items()
        if job_id is not None and bool(seen[job_id].unplannable) is not (row.treatment is Treatment.BLOCKS)
    ]
    assert wrong == []
    slurm.clear()


@pytest.mark.slurm
@pytest.mark.every_release
def test_every_word_that_scontrol_says_is_in_the_table(slurm: PrivateSlurm) -> None:
    for row in OPTIONS:
        for options in row.tried:
            _submitted(slurm, options)
    told = slurm.run(["scontrol", "--oneliner", "--details", "show", "job"]).stdout
    words = set(re.findall(r"(?:^| )([A-Za-z][\w/:]*)=", told, re.MULTILINE))

    assert len(words) > 60
    assert words - WORDS.keys() == set()
    slurm.clear()


def _programs() -> list[tuple[str, str]]:
    """What each release's commands and man pages say of options."""
    found = []
    for release in (releases.SYSTEM, *releases.SUITES):
        try:
            known = releases.named(release)
        except PrivateSlurmError:  # not unpacked: the fixture of the other test says so where it is required
            continue
        for name in ("sbatch", "salloc", "srun"):
            program = str(known.programs / name) if known else shutil.which(name)
            if program is None:
                continue
            said = subprocess.run(
                [program, "--help"], capture_output=True, text=True, timeout=30, check=False
            )
            page = (known.folder if known else Path("/")) / "usr/share/man/man1" / f"{name}.1.gz"
            pages = gzip.decompress(page.read_bytes()).decode().replace("\\-", "-") if page.exists() else ""
            bold = "\n".join(re.findall(r"\\fB(--[a-z][a-zA-Z-]+)\\f[RP]", pages))
            found.append((f"{release} {name}", said.stdout + said.stderr + bold))
    return found


@pytest.mark.slurm
def test_every_option_of_the_commands_is_in_the_table(need_releases: None) -> None:
    missing = {
        option: where
        for where, text in _programs()
        for option in re.findall(r"(?<![\w-])--[a-z][a-zA-Z-]+[a-zA-Z]", text)
        if not request_words.is_in_table(option)
    }
    assert missing == {}


def test_a_word_or_a_value_in_no_row_blocks() -> None:
    assert asks("Contiguous", "0") == ""
    assert asks("Contiguous", "1") == "neighbouring nodes (Contiguous=1)"
    assert asks("MoonPhase", "full") == "what MoonPhase=full means, which is not known here"
    assert asks("OverSubscribe", "OK") == ""
    assert asks("OverSubscribe", "PERHAPS") == "something that is not modelled (OverSubscribe=PERHAPS)"
    assert asks("NtasksPerN:B:S:C", "2:0:1:*") == "something that is not modelled (NtasksPerN:B:S:C=2:0:1:*)"


def test_each_option_is_shown_by_words_of_the_table_or_says_why_not() -> None:
    for row in OPTIONS:
        assert set(row.shown) <= WORDS.keys(), row.name
        assert row.shown or row.why or row.treatment is Treatment.HARMLESS, row.name
        blocks = {WORDS[word].treatment for word in row.shown} & {Treatment.BLOCKS}
        known = any(WORDS[word].known for word in row.shown)
        assert row.treatment is not Treatment.BLOCKS or blocks or known or row.why, row.name


def test_the_document_is_made_from_the_table() -> None:
    assert request_words.as_markdown() in (ROOT / "docs" / "slurm-requests.md").read_text()
