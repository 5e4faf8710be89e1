"""The words of a comment: what is understood, what is named as wrong, and that no text whatever breaks it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model.task_types import ShrinkHow
from scheduler.priority.comment import (
    LONGEST_SHOWN,
    MOST_FAULTS,
    CommentWords,
    ElasticWords,
    read_comment,
)


def codes(comment: str) -> list[str]:
    return [fault.code for fault in read_comment(comment).faults]


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("", CommentWords()),
        ("nightly run of ann; ckpt:epoch=4 project=alpha", CommentWords()),
        ("elastic:min=2,wish=4", CommentWords(ElasticWords(2, 4))),
        ("elastic:min=2", CommentWords(ElasticWords(2))),
        ("elastic:wish=4,how=inplace,min=4", CommentWords(ElasticWords(4, 4, ShrinkHow.INPLACE))),
        ("elastic:min=2,wish=4 elastic:min=2,wish=4", CommentWords(ElasticWords(2, 4))),
        ("mine;group=train7;partial=no\tbalanced", CommentWords(None, "train7", False, True)),
        ("group partial balance elastics:min=1 regroup=x", CommentWords()),
    ],
)
def test_words_that_are_understood(comment: str, words: CommentWords) -> None:
    assert read_comment(comment) == words


@pytest.mark.parametrize(
    ("comment", "code"),
    [
        ("elastic", "comment.elastic.form"),
        ("elastic=2", "comment.elastic.form"),
        ("elastic:", "comment.elastic.form"),
        ("elastic:2", "comment.elastic.part"),
        ("elastic:min=2,max=4", "comment.elastic.part"),
        ("elastic:min=2,", "comment.elastic.part"),
        ("elastic:min=2,min=2", "comment.elastic.twice"),
        ("elastic:min=0", "comment.elastic.number"),
        ("elastic:min=-1", "comment.elastic.number"),
        ("elastic:min=²", "comment.elastic.number"),
        ("elastic:min=1000000", "comment.elastic.number"),
        ("elastic:min=2,wish=", "comment.elastic.number"),
        ("elastic:wish=4", "comment.elastic.no_min"),
        ("elastic:min=5,wish=4", "comment.elastic.crossed"),
        ("elastic:min=2,how=magic", "comment.elastic.how"),
        ("elastic:min=2 elastic:min=3", "comment.elastic.many"),
        ("Elastic:min=2", "comment.capitals"),
        ("group=a group=b", "comment.group.many"),
        ("group=", "comment.group.name"),
        ("group=größe", "comment.group.name"),
        ("partial=yes", "comment.partial"),
        ("balanced=yes", "comment.balanced"),
    ],
)
def test_a_wrong_word_is_named_and_changes_nothing(comment: str, code: str) -> None:
    read = read_comment(comment)
    assert [fault.code for fault in read.faults] == [code]
    assert read == CommentWords(faults=read.faults)


def test_the_fault_says_what_to_do() -> None:
    (fault,) = read_comment("elastic:min=5,wish=4").faults
    assert fault == (
        "elastic: min=5 is more than wish=4; make min the smaller one. The job counts as not elastic."
    )


def test_a_wrong_word_leaves_the_others_as_they_are() -> None:
    read = read_comment("partial=maybe group=g elastic:min=9,wish=1 partial=no")
    assert (read.group, read.partial, read.elastic) == ("g", False, None)
    assert codes("partial=maybe group=g elastic:min=9,wish=1 partial=no") == [
        "comment.elastic.crossed", "comment.partial",
    ]  # fmt: skip


def test_what_is_told_of_hostile_words_is_short_and_printable() -> None:
    read = read_comment(" ".join(f"partial={'x' * 5000}{number}\x00\x1b[31m" for number in range(50)))
    assert len(read.faults) == MOST_FAULTS
    assert all(len(fault) < LONGEST_SHOWN + 100 and fault.isprintable() for fault in read.faults)


PIECES = st.sampled_from(
    ["elastic", ":", "=", ",", "min=", "wish=", "how=", "tasks", "2", "4", "0", " ", ";", "group=", "partial=no",
     "balanced", "GROUP=", "%(word)s", "%", "\x00", "…", "\ud800"]
)  # fmt: skip


@given(st.text() | st.lists(PIECES, max_size=30).map("".join))
def test_any_text_is_read(comment: str) -> None:
    read = read_comment(comment)
    assert len(read.faults) <= MOST_FAULTS
    if read.elastic is not None:
        assert 1 <= read.elastic.least <= (read.elastic.wish or read.elastic.least)
        assert "comment.elastic.many" not in codes(comment)


@given(
    st.integers(1, 999_999), st.integers(0, 999), st.sampled_from([None, *ShrinkHow]), st.text("abc xyz;\n")
)
def test_what_is_written_by_the_contract_is_read_back(
    least: int, more: int, how: ShrinkHow | None, other: str
) -> None:
    wish = min(least + more, 999_999)
    word = f"elastic:min={least},wish={wish}" + (f",how={how}" if how else "")
    assert read_comment(f"{other} {word};{other}").elastic == ElasticWords(least, wish, how)
