"""Slurm's ways to write values."""

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.adapters.slurm import values


@pytest.mark.parametrize(
    ("word", "seconds"),
    [
        ("30:00", 1800),
        ("1:00:00", 3600),
        ("1-00:00:00", 86_400),
        ("365-00:00:00", 365 * 86_400),
        ("UNLIMITED", None),
        ("NOT_SET", None),
        ("Partition_Limit", None),
        ("INVALID", None),
    ],
)
def test_time_limits(word: str, seconds: int | None) -> None:
    assert values.duration(word) == seconds


@pytest.mark.parametrize(
    ("word", "epoch"),
    [
        ("2026-11-20T17:50:24", 1_795_197_024),
        ("1795197024", 1_795_197_024),
        ("N/A", None),
        ("Unknown", None),
        ("NONE", None),
    ],
)
def test_moments(word: str, epoch: int | None) -> None:
    assert values.moment(word) == epoch


@pytest.mark.parametrize(
    ("word", "mb"),
    [
        ("999M", 999),
        ("1G", 1024),
        ("1.50G", 1536),
        ("62.50G", 64_000),
        ("2T", 2 * 1024 * 1024),
        ("0", 0),
        ("15999M", 15_999),
        ("1025K", 2),
        ("1.46G", None),
    ],
)
def test_memory_is_exact_or_not_told(word: str, mb: int | None) -> None:
    assert values.memory(word) == mb


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("gpu:8", {"gpu": 8}),
        ("gpu:a100:6,gpu:v100:2", {"gpu": 8, "gpu:a100": 6, "gpu:v100": 2}),
        ("gpu:a100:6(S:0-1),gpu:v100:2(S:0)", {"gpu": 8, "gpu:a100": 6, "gpu:v100": 2}),
        ("gpu:2(IDX:0-1)", {"gpu": 2}),
        ("gpu:a100:6(IDX:0-5),gpu:v100:0(IDX:)", {"gpu": 6, "gpu:a100": 6}),
        ("gpu:a100:2(IDX:0,3),shard:4", {"gpu": 2, "gpu:a100": 2, "shard": 4}),
        ("npu(CNT:5)", {"npu": 5}),
        ("shard:2(2/4,0/4),npu(CNT:5),tok:x(CNT:1)", {"shard": 2, "npu": 5, "tok": 1, "tok:x": 1}),
        ("gpu:(null):0(IDX:N/A),shard:(null):2(2/4,0/4)", {"shard": 2}),
        ("gpu:1(IDX:1),shard:2(2/4,-/4)", {"gpu": 1, "shard": 2}),
        ("gres/gpu:1g.10gb", {"gpu": 1, "gpu:1g.10gb": 1}),
        ("gres:gpu:2080ti", {"gpu": 1, "gpu:2080ti": 1}),
        ("gpu:ampere:6,gpu:1g.10gb:28(S:0-1)", {"gpu": 34, "gpu:ampere": 6, "gpu:1g.10gb": 28}),
        ("gpu:3090", {"gpu": 3090}),
        ("gres:gpu", {"gpu": 1}),
        ("gres:gpu:a100", {"gpu": 1, "gpu:a100": 1}),
        ("gres/gpu:a100:3", {"gpu": 3, "gpu:a100": 3}),
        ("gres/gpu=3", {"gpu": 3}),
        ("gres:gpu:2,gres:craynetwork:1", {"gpu": 2, "craynetwork": 1}),
        ("bandwidth:lustre:no_consume:4G", {}),
        ("bw:2K", {"bw": 2048}),
        ("(null)", {}),
        ("N/A", {}),
        ("", {}),
    ],
)
def test_generic_resources_stand_under_both_names(text: str, amounts: dict[str, int]) -> None:
    assert values.gres(text) == amounts


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("n1", ("n1",)),
        ("n[1-3,7]", ("n1", "n2", "n3", "n7")),
        ("n[08-10]", ("n08", "n09", "n10")),
        ("n1,login2", ("login2", "n1")),
        ("rack[1-2]n[1-2]", ("rack1n1", "rack1n2", "rack2n1", "rack2n2")),
        ("", ()),
        ("(null)", ()),
    ],
)
def test_lists_of_nodes(expression: str, names: tuple[str, ...]) -> None:
    assert tuple(sorted(values.nodes(expression))) == names


@pytest.mark.parametrize(("ids", "count"), [("0-3,7", 5), ("5", 1), ("", 0), ("0-255", 256)])
def test_ids_are_counted(ids: str, count: int) -> None:
    assert values.count_of_ids(ids) == count


def test_resources_in_a_list() -> None:
    told = values.tres("cpu=5,mem=500M,node=2,billing=5,gres/gpu=4,gres/gpu:a100=4")

    assert told["cpu"] == "5"
    assert values.gres_of_tres(told) == {"gpu": 4, "gpu:a100": 4}
    assert values.tres("N/A") == {}


@pytest.mark.parametrize(
    ("decode", "word"),
    [
        (values.duration, "soon"),
        (values.moment, "yesterday"),
        (values.memory, "much"),
        (values.memory, "-5M"),
        (values.number, "-1"),
        (values.tres, "cpu:5"),
        (values.gres, "gpu::2"),
        (values.gres, "gpu:a:b:2"),
        (values.gres, "gpu:2,"),
        (values.nodes, "n[1-"),
        (values.count_of_ids, "a-b"),
    ],
)
def test_nonsense_is_an_error_and_not_a_guess(decode: object, word: str) -> None:
    assert callable(decode)
    with pytest.raises(ValueError, match=r".+"):
        decode(word)


@given(st.text(max_size=40))
def test_any_text_decodes_or_is_a_value_error(text: str) -> None:
    for decode in (values.duration, values.moment, values.memory, values.number, values.tres, values.gres):
        try:
            decode(text)
        except ValueError:
            continue


@pytest.mark.parametrize(
    ("decode", "word"),
    [
        (values.number, "9" * 400),
        (values.number, "9" * 5000),
        (values.moment, "9" * 400),
        (values.moment, "99999-01-01T00:00:00"),
        (values.moment, "9999-12-31T23:59:59"),
        (values.moment, "1066-10-14T09:00:00"),
        (values.moment, "\N{SUPERSCRIPT TWO}"),
        (values.moment, "2026-11-20T17:50:24+99:00"),
        (values.duration, f"{'9' * 400}-00:00:00"),
        (values.memory, f"{'9' * 400}T"),
        (values.nodes, "n[1-999999999999]"),
        (values.nodes, "n[1-4096]m[1-4096]"),
        (values.nodes, "n[1-"),
        (values.nodes, "[" * 3000),
        (values.nodes, "n[1-2]]"),
    ],
)
def test_what_is_out_of_all_bounds_is_no_value(decode: Callable[[str], object], word: str) -> None:
    with pytest.raises(ValueError, match=r"is no|isoformat"):
        decode(word)


@given(
    st.text(st.characters(codec="utf-8"), max_size=40) | st.text("n[]0123456789-,:.TGK%/&!^@", max_size=40)
)
def test_any_text_is_a_value_or_none(word: str) -> None:
    for decode in (values.number, values.moment, values.duration, values.memory, values.tres, values.gres):
        with contextlib.suppress(ValueError):
            decode(word)
    with contextlib.suppress(ValueError):
        assert len(values.nodes(word)) <= 1 << 20


def test_cpus_per_task_beside_generic_resources_are_told_elsewhere() -> None:
    """Slurm 24.11: `tres-per-task` of `-c 4 --gpus-per-task=2`."""
    assert values.gres("cpu=4,gres/gpu=2") == {"gpu": 2}
    assert values.gres("cpu=4") == {}
    with pytest.raises(ValueError, match="no generic resource"):
        values.gres("license/matlab=1")
