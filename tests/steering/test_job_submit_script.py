"""slurmctld's script: what it refuses, what it tells, and that whatever is wrong lets everything through."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.steering.submit_rules import partition_lines, rules_text
from scheduler.model.policy import Enforcement, KeywordDenied, LevelRule, PartitionPolicy
from scheduler.priority.derive import derive
from tests.builders import observed
from tests.steering.submit_script import (
    DENIED,
    OVER_QUOTA,
    RING,
    SCRIPT,
    SUCCESS,
    Said,
    SubmitScript,
    hang_bell,
    has_rung,
    silence,
)

NOW = 1_700_000_000
RULES = """\
giveway-submit-rules 1
written 1700000000
valid 600
cluster dev
partition x enforce
level 0 P0
level 1 P1
level 2 The%20rest
keyword p0-night 1 ann
keyword p0 0 bob carol-* [!a-m]?
keyword p1 1
denied refuse
override release_* 0
over_quota reject
quota 0 1
quota 1 3
running bob 0 1
running bob 1 2
partition wide enforce
level 0 P0
keyword p0 0 bob
denied demote
over_quota lowest
quota 0 2
running bob 0 2
partition y shadow
level 0 P0
keyword p0 0 bob
denied refuse
over_quota reject
quota 0 0
"""


def whole(text: str = RULES) -> str:
    """With its end marker."""
    return text + f"end {text.count(chr(10))}\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules"
    path.write_text(whole())
    return path


@pytest.fixture
def script(rules: Path, tmp_path: Path) -> Iterator[SubmitScript]:
    with SubmitScript(rules, tmp_path) as running:
        running.time(NOW)
        yield running


def quiet(said: Said) -> bool:
    """Let through without a word to anybody."""
    return said == Said(SUCCESS, [], [], [])


# --- Keywords ---------------------------------------------------------------------------------------------


def test_a_keyword_that_is_not_its_users_is_refused_with_who_may_use_it(script: SubmitScript) -> None:
    said = script.submit("ann", "p0_eval")
    assert said.answer == DENIED
    words = (
        "the keyword p0 of partition x is not ann's to use (it is for: bob, carol-*, [!a-m]?); "
        "give the job another name"
    )
    assert said.user == [f"giveway: {words}"]
    assert said.info == [f"giveway: refused: {words}"]


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("carol-7", "p0_eval"),
        ("zz", "p0"),
        ("ann", "p0eval"),
        ("ann", "xp0_eval"),
        ("ann", "p"),
        ("ann", ""),
        ("ann", None),
        ("ann", "p1_eval"),
        ("ann", "p0é"),
        ("ann", "P0_eval"),
    ],
)
def test_everything_else_goes_through_in_silence(script: SubmitScript, user: str, name: str | None) -> None:
    assert quiet(script.submit(user, name))


def test_an_override_of_the_partition_has_the_last_word(script: SubmitScript, rules: Path) -> None:
    rules.write_text(whole(RULES.replace("override release_* 0", "override p0_release* 1")))
    assert quiet(script.submit("ann", "p0_release7"))
    assert script.submit("ann", "p0_other").answer == DENIED


def test_where_it_is_only_demoted_the_user_is_told(script: SubmitScript) -> None:
    said = script.submit("ann", "p0_eval", "wide")
    assert said.answer == SUCCESS
    assert said.user == [
        "giveway: the keyword p0 of partition wide is not ann's to use (it is for: bob); it counts for nothing"
    ]
    assert said.info == said.error == []


def test_without_a_partition_the_default_one_counts(script: SubmitScript) -> None:
    assert "partition wide" in script.submit("ann", "p0_eval", None).user[0]


def test_of_several_partitions_one_that_refuses_is_enough(script: SubmitScript) -> None:
    assert script.submit("ann", "p0_eval", "wide,x").answer == DENIED
    assert script.submit("ann", "p0_eval", "unknown,x").answer == DENIED
    assert quiet(script.submit("ann", "p0_eval", "unknown"))


def test_a_partition_in_shadow_refuses_nobody_and_says_what_it_would_do(script: SubmitScript) -> None:
    said = script.submit("ann", "p0_eval", "y")
    assert (said.answer, said.user) == (SUCCESS, [])
    assert said.info[0].startswith("giveway: would refuse, were it enforced: the keyword p0 of partition y")
    assert script.submit("bob", "p0_eval", "y").answer == SUCCESS


def test_a_shorter_keyword_that_fits_too_is_tried_next(script: SubmitScript, rules: Path) -> None:
    assert script.submit("bob", "p0-night_x").answer == DENIED, (
        "where keywords are refused the first is enough"
    )
    rules.write_text(whole(RULES.replace("denied refuse", "denied demote").replace("reject", "lowest")))
    said = script.submit("bob", "p0-night_x")
    assert said.answer == SUCCESS
    assert "the keyword p0-night of partition x is not bob's" in said.user[0]
    assert "bob has 1 jobs of level P0 running" in said.user[1]


def test_many_users_are_named_briefly(script: SubmitScript, rules: Path) -> None:
    users = " ".join(f"user{n}" for n in range(500))
    rules.write_text(whole(RULES.replace("bob carol-* [!a-m]?", users)))
    assert "user7, 492 more" in script.submit("ann", "p0_x").user[0]


# --- Quotas -----------------------------------------------------------------------------------------------


def test_a_job_beyond_the_quota_is_refused_with_the_numbers(script: SubmitScript) -> None:
    said = script.submit("bob", "p0_eval")
    assert said.answer == OVER_QUOTA
    assert said.user == [
        "giveway: bob has 1 jobs of level P0 running in partition x, and the quota is 1; jobs beyond it are refused"
    ]


def test_within_the_quota_nothing_is_said(script: SubmitScript) -> None:
    assert quiet(script.submit("bob", "p1_eval"))
    assert quiet(script.submit("zz", "p0_eval"))


def test_a_level_by_override_has_its_quota_too(script: SubmitScript) -> None:
    assert script.submit("bob", "release_7").answer == OVER_QUOTA


@pytest.mark.parametrize(
    ("mode", "words"), [("lowest", "takes free room only"), ("hold", "is held while that is so")]
)
def test_lowest_and_hold_are_told_and_let_through(
    script: SubmitScript, rules: Path, mode: str, words: str
) -> None:
    rules.write_text(whole(RULES.replace("over_quota reject", f"over_quota {mode}")))
    said = script.submit("bob", "p0_eval")
    assert said.answer == SUCCESS
    assert words in said.user[0]


def test_an_array_counts_as_one_submission(script: SubmitScript) -> None:
    assert quiet(script.submit("bob", "p1_eval", array_inx="0-99"))
    assert script.submit("bob", "p0_eval", array_inx="0-99").answer == OVER_QUOTA


# --- A job that is changed later --------------------------------------------------------------------------


def test_a_job_is_not_renamed_to_what_could_not_be_submitted(script: SubmitScript) -> None:
    said = script.modify("ann", {"name": "harmless"}, name="p0_harmless")
    assert (said.answer, said.user) == (DENIED, []), "slurmctld has no way to tell more than the error"
    assert "the keyword p0 of partition x is not ann's to use" in said.info[0]
    assert script.modify("bob", {"name": "harmless"}, name="p0_harmless").answer == OVER_QUOTA


def test_nor_moved_to_where_it_could_not_be_submitted(script: SubmitScript) -> None:
    assert script.modify("ann", {"name": "p0_a", "partition": "unknown"}, partition="x").answer == DENIED


def test_any_other_change_is_nobodys_business(script: SubmitScript) -> None:
    assert quiet(script.modify("ann", {"name": "p0_eval"}, comment="x"))
    assert quiet(script.modify("ann", {"name": "p0_eval"}, priority="7", name="p0_eval"))
    assert quiet(script.modify("ann", {"name": "p0_eval"}, name="other"))


def test_a_job_that_has_its_slot_may_be_renamed_within_its_level(script: SubmitScript) -> None:
    assert quiet(script.modify("bob", {"name": "p0_a"}, name="p0_b"))
    assert script.modify("bob", {"name": "p0_a", "partition": "y"}, partition="x").answer == OVER_QUOTA


# --- What is wrong lets everything through ------------------------------------------------------------------


BROKEN = {
    "empty": "",
    "another version": whole(RULES.replace("rules 1", "rules 2", 1)),
    "cut in a line": whole()[:200],
    "cut at a line": whole().rsplit("\n", 6)[0] + "\n",
    "without the end": RULES,
    "a line more": RULES + f"denied demote\nend {RULES.count(chr(10))}\n",
    "the last line unfinished": whole().rstrip("\n"),
    "an unknown line": whole(RULES + "surprise 1\n"),
    "an unknown word": whole(RULES.replace("denied refuse", "denied loudly")),
    "no number": whole(RULES.replace("quota 0 1", "quota 0 one")),
    "a word too few": whole(RULES.replace("running bob 0 1", "running bob 0")),
    "a rule before any partition": whole(RULES.replace("cluster dev", "denied refuse")),
    "never written": whole(RULES.replace("written 1700000000\n", "")),
    "bytes": "\x00\xff\n" * 50,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_file_lets_everything_through_and_is_reported_once(
    script: SubmitScript, rules: Path, text: str
) -> None:
    assert script.submit("ann", "p0_eval").answer == DENIED
    rules.write_text(text, encoding="latin-1")
    said = script.submit("ann", "p0_eval")
    assert (said.answer, said.user) == (SUCCESS, [])
    assert len(said.error) == 1
    assert said.error[0].startswith(f"giveway: {rules} is ")
    assert said.error[0].endswith("; submissions are let through unchecked")
    assert quiet(script.submit("bob", "p0_eval"))
    rules.write_text(whole())
    again = script.submit("ann", "p0_eval")
    assert again.answer == DENIED
    assert again.info[0] == f"giveway: {rules} is read again"


def remove(path: Path) -> None:
    path.unlink()


def make_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_it_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(9 * 1024 * 1024)


@pytest.mark.parametrize("spoil", [remove, make_a_folder, make_it_huge])
def test_a_file_that_is_none_lets_everything_through(
    script: SubmitScript, rules: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(rules)
    said = script.submit("ann", "p0_eval")
    assert (said.answer, len(said.error)) == (SUCCESS, 1)
    assert quiet(script.submit("ann", "p0_eval"))


def test_an_old_file_counts_no_more(script: SubmitScript) -> None:
    script.time(NOW + 600)
    assert script.submit("ann", "p0_eval").answer == DENIED
    script.time(NOW + 601)
    said = script.submit("ann", "p0_eval")
    assert said.answer == SUCCESS
    assert "was written more than 600 s ago" in said.error[0]
    script.time(NOW + 9000)
    assert quiet(script.submit("ann", "p0_eval")), "told once, not at every submission"


def test_a_clock_that_is_behind_does_no_harm(script: SubmitScript) -> None:
    script.time(NOW - 3600)
    assert script.submit("ann", "p0_eval").answer == DENIED


def test_an_error_of_our_own_lets_the_job_through_and_is_reported_once(script: SubmitScript) -> None:
    script.sabotage()
    said = script.submit("ann", "p0_eval")
    assert said.answer == SUCCESS
    assert "error in job_submit.lua" in said.error[0] and "no user" in said.error[0]
    assert quiet(script.submit("ann", "p0_eval"))


def test_a_user_whose_name_slurmctld_does_not_know_is_let_through(script: SubmitScript) -> None:
    assert quiet(script._ask("submit name=p0_eval partition=x"))


def test_a_thousand_lines_are_read_and_replaced_meanwhile(script: SubmitScript, rules: Path) -> None:
    many = "".join(f"running user{n} 1 2\n" for n in range(1000))
    long = RULES.replace("running bob 1 2\n", f"running bob 1 2\n{many}")
    for round_ in range(20):
        fresh = rules.with_suffix(".new")
        fresh.write_text(whole(long.replace("keyword p1 1", "keyword p1 1 dee") if round_ % 2 else long))
        fresh.replace(rules)
        assert script.submit("user7", "p1_x").answer == (DENIED if round_ % 2 else SUCCESS)
        assert quiet(script.submit("dee", "p1_x"))


# --- The bell ---------------------------------------------------------------------------------------------


@pytest.fixture
def bell(rules: Path) -> Path:
    return hang_bell(rules)


def test_it_rings_for_what_is_let_through_and_only_then(script: SubmitScript, bell: Path) -> None:
    assert script.submit("ann", "p0_eval").answer == DENIED
    assert script.modify("ann", {"name": "fine"}, name="p0_eval").answer == DENIED
    assert not has_rung(bell)
    for let_through in (
        lambda: script.submit("ann", "fine"),
        lambda: script.submit("ann", "p0_eval", "wide"),
        lambda: script.submit("ann", "p0_eval", "y"),
        lambda: script.modify("ann", {"name": "fine"}, priority="0"),
        lambda: script.modify("ann", {"name": "fine"}, name="other"),
    ):
        assert let_through().answer == SUCCESS
        assert has_rung(bell)
        silence(bell)


@pytest.mark.parametrize("text", [None, "", whole()[:-20], whole().replace("written 1", "written 0")])
def test_it_rings_whatever_is_wrong_with_the_rules(
    script: SubmitScript, rules: Path, bell: Path, text: str | None
) -> None:
    rules.unlink() if text is None else rules.write_text(text)
    assert script.submit("ann", "p0_eval").answer == SUCCESS
    assert has_rung(bell)
    silence(bell)
    assert script.modify("ann", {"name": "fine"}, name="p0_eval").answer == SUCCESS
    assert has_rung(bell)


def test_it_rings_after_an_error_of_our_own(script: SubmitScript, bell: Path) -> None:
    script.sabotage()
    assert script.submit("ann", "p0_eval", "wide").answer == SUCCESS
    assert has_rung(bell)


def test_an_empty_bell_rings_too_and_none_grows(script: SubmitScript, bell: Path) -> None:
    for text in ("", "1\n"):
        bell.write_text(text)
        silence(bell)
        for _ in range(3):
            assert quiet(script.submit("ann", "fine"))
        assert has_rung(bell)
        assert bell.stat().st_size == max(1, len(text))


def test_a_link_in_its_place_spoils_no_other_file(script: SubmitScript, bell: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("root:x:0:0:\n")
    bell.unlink()
    bell.symlink_to(other)
    assert quiet(script.submit("ann", "fine"))
    assert other.read_text() == "root:x:0:0:\n"


def full_pipe(path: Path) -> None:
    """With a reader who reads nothing; nothing more can be written."""
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        while True:
            os.write(end, bytes(4096))


NO_BELLS: dict[str, Callable[[Path], object]] = {
    "missing": lambda _: None,
    "a folder": lambda path: path.mkdir(),
    "a pipe without a reader": os.mkfifo,
    "a full pipe": full_pipe,
    "a full disk": lambda path: path.symlink_to("/dev/full"),
    "a link to nowhere": lambda path: path.symlink_to(path.with_name("nowhere")),
    "a link to itself": lambda path: path.symlink_to(path),
    "nobody may write": lambda path: path.touch(mode=0o444),
}


@pytest.mark.parametrize("what", list(NO_BELLS))
def test_where_nothing_can_be_rung_nobody_waits_and_nothing_is_said(
    script: SubmitScript, rules: Path, what: str
) -> None:
    bell = Path(f"{rules}.bell")
    NO_BELLS[what](bell)
    before = sorted(bell.parent.iterdir())
    for _ in range(3):
        assert quiet(script.submit("ann", "fine"))
        assert quiet(script.modify("ann", {"name": "fine"}, priority="0"))
    assert script.submit("ann", "p0_eval").answer == DENIED
    assert sorted(bell.parent.iterdir()) == before, "it makes no file"


def test_what_ends_rings_by_a_script_of_its_own(bell: Path, rules: Path) -> None:
    def ring() -> None:
        done = subprocess.run(
            [RING], env={"GIVEWAY_SUBMIT_RULES": str(rules)}, capture_output=True, check=True
        )
        assert (done.stdout, done.stderr) == (b"", b"")

    ring()
    assert has_rung(bell)
    bell.unlink()
    ring()
    assert not bell.exists()
    for what in NO_BELLS.values():
        what(bell)
        ring()
        shutil.rmtree(bell) if bell.is_dir() and not bell.is_symlink() else bell.unlink(missing_ok=True)


# --- What the documentation says ------------------------------------------------------------------------------

DOCUMENT = (Path(__file__).parents[2] / "docs" / "job-submit.md").read_text()


def test_the_file_in_the_documentation_is_understood(script: SubmitScript, rules: Path) -> None:
    rules.write_text(DOCUMENT[DOCUMENT.index("giveway-submit-rules 1") :].rpartition("```")[0])
    script.time(1763757000)
    said = script.submit("ann", "p0_eval")
    assert (said.answer, said.error) == (DENIED, [])
    assert script.submit("bob", "release_1").answer == OVER_QUOTA
    assert script.submit("eval-7", "p0_eval").answer == SUCCESS


def test_a_script_of_ones_own_can_ask_ours_first(rules: Path, tmp_path: Path) -> None:
    own = DOCUMENT.partition("```lua\n")[2].partition("```")[0]
    own = own.replace("/etc/slurm/giveway_submit.lua", str(SCRIPT))
    own = own.replace("-- your own rules", 'if job.name == "mine" then return 7 end')
    (tmp_path / "own.lua").write_text(own)
    with SubmitScript(rules, tmp_path, tmp_path / "own.lua") as script:
        script.time(NOW)
        assert script.submit("ann", "p0_eval").answer == DENIED
        assert script.submit("ann", "mine").answer == 7
        assert script.submit("ann", "other").answer == SUCCESS
        assert script.modify("ann", {"name": "other"}, name="p0_eval").answer == DENIED


# --- Hostile names, and the same answers as the console's -----------------------------------------------------


@pytest.mark.parametrize(
    "name", ["p0_%s%n%d", "p0 \n2026 error: root was here", "p0_" + "a" * 100_000, "p0_]["]
)
def test_hostile_names_are_only_names(script: SubmitScript, rules: Path, name: str) -> None:
    user = f"x{name}"
    rules.write_text(whole(RULES.replace("bob carol-* [!a-m]?", quote(name, safe=""))))
    said = script.submit(user, name)
    assert said.answer == DENIED
    assert "\n" not in said.user[0] + said.info[0]
    assert len(said.user[0]) < 600


def test_a_pattern_cannot_take_for_ever(script: SubmitScript, rules: Path) -> None:
    rules.write_text(whole(RULES.replace("override release_* 0", f"override {'*a' * 60}b 0")))
    assert quiet(script.submit("bob", "a" * 20_000))


GLOB = st.text("ab*?[]!-^\\é\n", max_size=8)
TEXT = st.text("ab-]^![\\é\n", max_size=6)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pattern=GLOB.filter(str.strip), user=TEXT.filter(bool))
def test_a_pattern_means_the_same_to_slurmctld_and_to_the_worker(
    script: SubmitScript, rules: Path, pattern: str, user: str
) -> None:
    level = LevelRule("P0", keyword="p0", keyword_users=(pattern,))
    allowed = derive(observed(user=user, name="p0_x"), PartitionPolicy("x", levels=(level,)), [])
    text = RULES.replace("bob carol-* [!a-m]?", quote(pattern, safe="")).replace("running bob 0 1\n", "")
    rules.write_text(whole(text))
    assert (script.submit(user, "p0_x").answer == SUCCESS) is (allowed.task_level == 0)


WORDS = st.text("ab0_-.", min_size=1, max_size=3)
NAMES = st.text("ab0_-. *[%", max_size=5)


def test_a_keyword_that_nobody_may_use_is_refused_to_everybody(script: SubmitScript, rules: Path) -> None:
    level = LevelRule("P0", keyword="p0", keyword_users=())
    policy = PartitionPolicy(
        "x", enforcement=Enforcement.ENFORCE, levels=(level,), keyword_denied=KeywordDenied.REFUSE
    )
    rules.write_text(rules_text(list(partition_lines(policy, [])), NOW))
    for user in ("ann", "root"):
        said = script.submit(user, "p0_x")
        assert said.answer == DENIED
        assert f"is not {user}'s to use (it is for: nobody)" in said.user[0]


@st.composite
def policies(draw: st.DrawFn) -> PartitionPolicy:
    """Up to three levels with keywords, some for some users only, and overrides; no job may run at any level."""
    keywords = draw(st.lists(WORDS, max_size=3, unique=True))
    some = st.lists(st.sampled_from(["ann", "b*", "[!a]*", "cy"]), max_size=2, unique=True).map(tuple)
    users = st.none() | some
    levels = tuple(
        LevelRule(f"level {rank} %", keyword=word, keyword_users=draw(users))
        for rank, word in enumerate(keywords)
    )
    titles = [rule.name for rule in levels]
    patterns = st.text("ab*?[]!", min_size=1, max_size=4)
    overrides = draw(st.dictionaries(patterns, st.sampled_from(titles), max_size=3)) if titles else {}
    return PartitionPolicy(
        "x",
        enforcement=Enforcement.ENFORCE,
        levels=levels,
        task_overrides=overrides,
        quotas=dict.fromkeys(titles, 0),
    )


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(policy=policies(), user=st.sampled_from(["ann", "bob", "cy"]), name=NAMES)
def test_a_name_has_the_same_level_for_slurmctld_and_for_the_worker(
    script: SubmitScript, rules: Path, policy: PartitionPolicy, user: str, name: str
) -> None:
    rules.write_text(rules_text(list(partition_lines(policy, [])), NOW))
    said = script.submit(user, name)
    standing = derive(observed(user=user, name=name), policy, [])
    assert (said.answer, said.error) == (SUCCESS, [])
    wanted = [] if standing.task_level is None else [f"of level level {standing.task_level} % running"]
    over = [words for words in said.user if "running in partition" in words]
    assert len(over) == len(wanted)
    assert all(words in over[0] for words in wanted)
    assert any("counts for nothing" in words for words in said.user) is ("to use" in standing.task_origin)


# --- Task types -------------------------------------------------------------------------------------------

NOT_SAID_16, NOT_SAID_32, NOT_SAID_64 = "65534", "4294967294", "18446744073709551614"
NOTHING = {
    "cpus_per_task": NOT_SAID_16, "num_tasks": NOT_SAID_32, "pn_min_memory": NOT_SAID_64, "time_limit": NOT_SAID_32,
}  # fmt: skip
TYPE = "cluster dev type x TRAIN* 8 2 64000 90 gres/gpu\n"


def typed(
    script: SubmitScript, rules: Path, line: str = TYPE, name: str = "TRAIN_1", **said: str
) -> list[str]:
    rules.write_text(whole(RULES.replace("partition x enforce", f"{line}partition x enforce")))
    answer = script.submit("ann", name, "x", **{**NOTHING, **said})
    assert (answer.answer, answer.error) == (SUCCESS, [])
    return answer.user


def test_what_is_left_out_is_filled_in_and_told(script: SubmitScript, rules: Path) -> None:
    assert typed(script, rules) == [
        "giveway: task type TRAIN*: 8 CPUs, 2 GPUs, 64000 MB, 90 minutes filled in"
    ]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ({"cpus_per_task": "1"}, "2 GPUs, 64000 MB, 90 minutes"),
        ({"num_tasks": "4"}, "2 GPUs, 64000 MB, 90 minutes"),
        ({"tres_per_job": "gres/gpu:1"}, "8 CPUs, 64000 MB, 90 minutes"),
        ({"pn_min_memory": "100"}, "8 CPUs, 2 GPUs, 90 minutes"),
        # Memory for each CPU has the highest bit set.
        ({"pn_min_memory": "9223372036854775908"}, "8 CPUs, 2 GPUs, 90 minutes"),
        ({"time_limit": "1"}, "8 CPUs, 2 GPUs, 64000 MB"),
    ],
)
def test_what_is_said_stays(script: SubmitScript, rules: Path, said: dict[str, str], left: str) -> None:
    assert typed(script, rules, **said) == [f"giveway: task type TRAIN*: {left} filled in"]


def test_the_first_type_that_fits_counts_and_none_where_none_does(script: SubmitScript, rules: Path) -> None:
    two = "cluster dev type x TRAIN_1 0 0 0 5 -\n" + TYPE
    assert typed(script, rules, two) == ["giveway: task type TRAIN_1: 5 minutes filled in"]
    assert typed(script, rules, name="other") == []
    assert typed(script, rules, TYPE.replace("type x", "type y")) == []


def test_gpus_are_left_out_where_it_is_not_known_how_slurm_calls_them(
    script: SubmitScript, rules: Path
) -> None:
    assert typed(script, rules, TYPE.replace("gres/gpu", "-")) == [
        "giveway: task type TRAIN*: 8 CPUs, 64000 MB, 90 minutes filled in"
    ]


# --- Placing ----------------------------------------------------------------------------------------------

PLACE = "cluster dev place x all 20\n"
ASKED = "cluster dev place x asked 20 TRAIN* eval-?\n"
TWO_NODES = {
    "script": "#!",
    "min_nodes": "2",
    "num_tasks": NOT_SAID_32,
    "begin_time": "0",
    "het_job_offset": NOT_SAID_32,
}
PUT_OFF = [f"begin_time:{NOW + 20}", f"admin_comment:giveway-place:{NOW + 20}"]


def put_off(
    script: SubmitScript, rules: Path, line: str = PLACE, name: str = "job", partition: str = "x", **said: str
) -> list[str]:
    rules.write_text(whole(RULES.replace("partition x enforce", f"{line}partition x enforce")))
    answer = script.submit("ann", name, partition, **{**TWO_NODES, **said})
    assert (answer.answer, answer.error) == (SUCCESS, [])
    told = ["giveway: it starts on nodes of equal compute power; until these are free Slurm says BeginTime"]
    assert answer.user == (told if answer.job == PUT_OFF else [])
    return answer.job


def test_a_job_of_several_nodes_begins_later_and_is_marked(script: SubmitScript, rules: Path) -> None:
    assert put_off(script, rules) == PUT_OFF


@pytest.mark.parametrize(
    "said",
    [
        {"min_nodes": NOT_SAID_32, "num_tasks": "8"},
        {"min_nodes": "1", "tres_per_node": "gres:gpu:2"},
        {"min_nodes": "1", "tres_per_job": "gres/gpu:a100:4"},
        {"min_nodes": "1", "tres_per_job": "gres/gpu=4"},
        {"begin_time": str(NOW - 100)},
    ],
)
def test_so_does_one_of_several_processors(script: SubmitScript, rules: Path, said: dict[str, str]) -> None:
    assert put_off(script, rules, **said) == PUT_OFF


@pytest.mark.parametrize(
    "said",
    [
        {"min_nodes": "1"},
        {"min_nodes": NOT_SAID_32, "num_tasks": "1"},
        {"min_nodes": "1", "tres_per_node": "gres:gpu:1"},
        {"begin_time": str(NOW + 3600)},
        {"het_job_offset": "1"},
        {"dependency": "afterok:7"},
        {"reservation": "course"},
        {"priority": "0"},
        {"partition": "x,y"},
        {"partition": "y"},
    ],
)
def test_nobody_else_does(script: SubmitScript, rules: Path, said: dict[str, str]) -> None:
    """Whose begin time is his own, whom nobody would place, and who asks for one processor."""
    assert put_off(script, rules, **said) == []


def test_who_submits_an_array_is_told_that_its_tasks_are_not_placed(
    script: SubmitScript, rules: Path
) -> None:
    rules.write_text(whole(RULES.replace("partition x enforce", f"{PLACE}partition x enforce")))
    said = script.submit("ann", "job", "x", **TWO_NODES, array_inx="0-3")
    assert (said.answer, said.error, said.job) == (SUCCESS, [], [])
    (words,) = said.user
    assert words.startswith("giveway: tasks of an array are not placed on nodes of equal compute power")
    alone = {**TWO_NODES, "min_nodes": "1"}
    assert script.submit("ann", "job", "x", **alone, array_inx="0-3").user == []


def test_only_who_asks_where_the_rule_says_so(script: SubmitScript, rules: Path) -> None:
    assert put_off(script, rules, ASKED) == []
    assert put_off(script, rules, ASKED, comment="mine;balanced x") == PUT_OFF
    assert put_off(script, rules, ASKED, comment="unbalanced") == []
    assert put_off(script, rules, ASKED, name="TRAIN_7") == PUT_OFF
    assert put_off(script, rules, ASKED, name="eval-12") == []


def test_a_job_without_a_script_of_its_own_begins_at_once(script: SubmitScript, rules: Path) -> None:
    """Somebody waits for it at a terminal."""
    rules.write_text(whole(RULES.replace("partition x enforce", f"{PLACE}partition x enforce")))
    said = {key: text for key, text in TWO_NODES.items() if key != "script"}
    assert script.submit("ann", "job", "x", **said).job == []


def test_an_old_file_puts_nobody_off(script: SubmitScript, rules: Path) -> None:
    rules.write_text(whole(RULES.replace("partition x enforce", f"{PLACE}partition x enforce")))
    script.time(NOW + 601)
    assert script.submit("ann", "job", "x", **TWO_NODES).job == []
