"""What the doctor can say: each line is used, each fault has its cure, and each is said in Chinese too."""

import ast
import re
from collections.abc import Iterator

import pytest
from django.utils import translation

from console.core.translate import resay
from console.health import sentences, slurm_sentences
from console.health.doctor.findings import Finding, Level, counted, cure, fail, ok, told_again, warn
from console.health.names import CHECKS
from scheduler.model.sentence import Listed, Sentence, say, told
from tests.test_project.repository import ROOT

DOCTOR = ROOT / "console" / "health" / "doctor"
LINES = sentences.SENTENCES | slurm_sentences.SENTENCES
PLACE = re.compile(r"%\(\w+\)s")
CURE, ONE = ".cure", ".one"
ENGLISH = re.compile(r"\b[a-z]{2,}(?: [a-z]{2,}){2,}\b")
"""Three words in a row."""
COMMANDS = re.compile(r"(?:manage\.py|celery|sacctmgr)[\w <>=-]+")
"""They are the same in every language."""
SLURMS = frozenset({"slurmctld", "slurm.conf", "job_submit"})


def called() -> Iterator[str]:
    """Each code in the doctor's source; `*` at the end of one that is put together."""
    for path in DOCTOR.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Constant(value=str(code)) if code.startswith("doctor.") and code[-1] != ".":
                    yield code
                case ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]) if start.startswith(
                    "doctor."
                ):
                    yield f"{start}*"


def test_every_line_is_used_and_every_code_has_its_line() -> None:
    codes = set(called())
    whole = {code for code in codes if not code.endswith("*")}
    begun = tuple(code[:-1] for code in codes - whole)
    assert len(whole) > 60
    without_line = {code for code in whole if code not in LINES and f"{code}{CURE}" not in LINES}
    assert without_line == set()
    known = whole | {f"{code}{end}" for code in whole for end in (CURE, ONE)}
    assert {code for code in LINES if code not in known and not code.startswith(begun)} == set()


@pytest.mark.parametrize("code", [code for code in LINES if not code.endswith(CURE)])
def test_a_cure_says_no_more_than_its_finding_is_given(code: str) -> None:
    try:
        line = cure(code, **dict.fromkeys(re.findall(r"\w+", " ".join(PLACE.findall(LINES[code]))), "X"))
    except KeyError as error:
        extra = str(error).strip("'")
        assert extra in {"least", "most"} or extra.endswith(CURE), (code, extra)
    else:
        assert line.code.endswith(CURE)


@pytest.mark.parametrize("code", LINES)
def test_every_line_is_said_in_chinese_with_all_that_it_holds(code: str) -> None:
    with translation.override("zh-hans"):
        said = translation.gettext(LINES[code])
    assert said != LINES[code]
    assert not ENGLISH.search(COMMANDS.sub("", said)), said
    assert sorted(PLACE.findall(said)) == sorted(PLACE.findall(LINES[code]))


def test_every_check_has_its_name() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in DOCTOR.glob("*.py"))
    assert all(f'"{name}"' in source for name in CHECKS)
    told = set(re.findall(r'(?:ok|warn|fail)\(\s*"([\w .]+)"', source)) | set(
        re.findall(r'NAME = "([^"]+)"', source)
    )
    assert told == {*CHECKS, *SLURMS}


def test_a_finding_keeps_its_code_and_is_read_again() -> None:
    found = warn("incidents", counted("doctor.incidents.open", 2), n=2, names=Listed(["7", "8"]))
    kept = found.as_json()
    assert kept["what"]["code"] == "doctor.incidents.open"
    read = told_again(kept)
    assert isinstance(read["what"], Sentence)
    assert (read["what"], read["fix"]) == (found.what, found.fix)


def test_one_is_said_as_one() -> None:
    one = fail("incidents", counted("doctor.incidents.open", 1), n=1, names=Listed(["7"]))
    assert one.what == "The stopped job 7 did not come back."
    assert one.fix == LINES["doctor.incidents.open.cure"]


def test_what_was_kept_as_text_stays_text_whatever_it_says() -> None:
    kept = {"check": "worker", "level": "FAIL", "what": '{"code": "doctor.worker.never"}', "fix": "Start it."}
    assert told_again(kept) == kept


def test_a_password_goes_and_the_sentence_stays() -> None:
    said = say("doctor.database.away", said="postgres://u:secret@h/d is no address")
    hidden = Finding("database", Level.FAIL, said, "Mend it.").without_secrets().what
    assert isinstance(hidden, Sentence) and hidden.code == said.code
    assert "secret" not in hidden and "secret" not in str(hidden.params) and "[hidden]" in hidden


def test_all_is_well_without_a_cure() -> None:
    assert ok("database", "doctor.database.answers", name="SQLite").fix == ""
    with pytest.raises(KeyError):
        warn("database", "doctor.database.answers", name="SQLite")


def test_what_hinders_is_said_in_chinese_too_and_a_name_never_is() -> None:
    found = fail(
        "slurmctld", "doctor.slurm.away", why=told("scontrol failed: it gave no reason")
    ).without_secrets()
    named = ok("slurmctld", "doctor.slurm.simulated", name="it gave no reason")
    with translation.override("zh-hans"):
        assert resay(told_again(found.as_json())["what"]) == "无法查询：scontrol 失败：没有给出原因。"
        assert "it gave no reason" in resay(told_again(named.as_json())["what"])
    assert found.what == "It cannot be asked: scontrol failed: it gave no reason."
