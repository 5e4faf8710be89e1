"""`giveway` in a Chinese shell: every sentence is Chinese, its own, argparse's and the console's."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.utils import translation
from django.utils.translation import gettext

from console.cluster.models import Job, JobPhase
from console.core import clock
from console.steering.models import Plan, PlannedAction, PlanState
from giveway_client import words
from giveway_client.chinese import SENTENCES
from giveway_client.chinese_codes import CODES
from giveway_client.show import cells, wrap
from scheduler.model.reasons import SENTENCES as SENTENCES_OF_REASONS
from scheduler.model.reasons import Reason
from scheduler.model.sentence import say
from tests import factories
from tests.api import test_decisions as decisions
from tests.api.conftest import House
from tests.client.conftest import PACKAGE, Done, Shell

pytestmark = pytest.mark.django_db(transaction=True)
asked = decisions.asked
ENGLISH = re.compile(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b", re.IGNORECASE)
"""Three words in a row."""
PLACE = re.compile(r"%\((\w+)\)[rsd]|%%")


@pytest.fixture
def shell_of(as_user: Callable[[str], Shell]) -> Callable[[str], Shell]:
    """Somebody's Chinese shell."""

    def enter(name: str) -> Shell:
        shell = as_user(name)
        shell.variables["LC_ALL"] = "zh_CN.UTF-8"
        return shell

    return enter


def said(done: Done) -> str:
    """What it said: nothing of it English, no line wider than the terminal."""
    assert done.returncode == 0, done.stderr
    assert not ENGLISH.search(done.stdout), done.stdout
    assert all(cells(line) <= 80 for line in done.stdout.splitlines()), done.stdout
    return done.stdout


def test_why(house: House, shell_of: Callable[[str], Shell]) -> None:
    Plan.objects.update(explain=say("alternative.spared"))
    PlannedAction.objects.update(not_before=clock.now() + timedelta(minutes=10, seconds=58))
    text = said(shell_of("vera").run("why", "88"))
    assert text.startswith("88 p2_train（bob），分区 x：运行中\n")
    assert "（10 分钟" in text


def test_when(house: House, shell_of: Callable[[str], Shell]) -> None:
    soon = int(clock.now().timestamp()) + 1258
    sooner = [{"nodes": 2, "p50": soon}, {"limit_s": 5400, "p50": soon}]
    factories.make_expected_start(Job.objects.get(job_id="101"), 2458, after=["88", "70"], sooner=sooner)
    text = said(shell_of("vera").run("when", "101"))
    assert text.startswith("101 预计启动：40 分钟")
    assert "等待这些作业结束：88、70" in text
    assert "如果时限为 1 小时 30 分钟：20 分钟" in text
    nothing = shell_of("vera").run("when", "88")
    assert (nothing.returncode, ENGLISH.search(nothing.stderr)) == (1, None), nothing.stderr


def test_lists(house: House, shell_of: Callable[[str], Shell]) -> None:
    factories.make_job(house.cluster, "41_2", user="vera", reason="nothing_lower_runs", place=3)
    factories.make_running_job(house.cluster, "700", user="vera", task_level=0)
    shell = shell_of("vera")
    head, row, *_ = said(shell.run("jobs")).splitlines()
    assert head.split() == ["作业", "分区", "状态", "位置", "被停次数", "名称", "原因"]
    assert row.split()[2] == "等待中" and row.endswith("这里没有运行中的作业会为它腾出资源")
    columns = [cells(line[: line.index(cell)]) for line, cell in ((head, "名称"), (row, "p1_train"))]
    assert columns[0] == columns[1], "wide letters take two columns"
    assert "执行中" in said(shell.run("plans"))
    assert "已满" in said(shell.run("quotas", "x"))
    assert said(shell.run("jobs", "--user", "nobody")) == "没有 nobody 的作业。\n"
    assert "紧急程度" in said(shell_of("pam").run("projects"))


def test_a_plan_and_the_answer_to_it(house: House, asked: Plan, shell_of: Callable[[str], Shell]) -> None:
    why = say("alternative.spared")
    Plan.objects.filter(pk=asked.pk).update(explain=why, not_now=why)
    shell = shell_of("dave")
    text = said(shell.run("plan", str(asked.pk)))
    assert text.startswith(f"分区 x 的计划 {asked.pk}：已提出（")
    assert "重新排队 88 p2_train（bob，已运行 30 分钟）" in text
    assert text.count("暂停") + text.count("暂不停止它") >= 2, "the kept sentence and what is asked"
    Plan.objects.filter(pk=asked.pk).update(not_now="")
    done = shell.run("approve", str(asked.pk), "--reason", "x", "--yes")
    assert said(done) == f"计划 {asked.pk}：已批准。\n"


def test_changing_and_asking_what_if(house: House, shell_of: Callable[[str], Shell]) -> None:
    done = said(shell_of("pam").run("projects", "set", "alpha", "urgency=4", "--reason", "x"))
    assert done == "alpha（版本 2）：紧急程度 4；得分 160\n"
    assert said(shell_of("dave").run("pause", "x")) == "x 已由 dave 暂停\n"
    assert said(shell_of("dave").run("resume", "x")) == "x：暂停已解除。\n"


def test_json_is_for_scripts_and_the_same_everywhere(
    house: House, as_user: Callable[[str], Shell], shell_of: Callable[[str], Shell]
) -> None:
    english = json.loads(as_user("vera").run("plans", "--json").stdout)
    assert json.loads(shell_of("vera").run("plans", "--json").stdout) == english


@pytest.mark.parametrize(
    "arguments",
    [
        ("why", "a/b"),
        ("why",),
        ("why", "999"),
        ("nonsense",),
        ("pause",),
        ("when", "-p", "x"),
        ("plan", "many"),
    ],
)
def test_what_is_refused(house: House, shell_of: Callable[[str], Shell], arguments: tuple[str, ...]) -> None:
    done = shell_of("vera").run(*arguments)
    assert done.returncode in {1, 2}
    assert re.search("[\u4e00-\u9fff]", done.stderr) and not ENGLISH.search(done.stderr), done.stderr


@pytest.mark.parametrize(
    "name", ["", "why", "when", "jobs", "plans", "approve", "projects", "login", "study"]
)
def test_help(shell: Shell, name: str) -> None:
    shell.variables = {"LANG": "zh_CN.UTF-8"}
    done = shell.run(*name.split(), "--help")
    told = done.stdout
    assert done.returncode == 0, done.stderr
    typed = "source <(giveway completion bash)"
    assert told.startswith("用法：") and not ENGLISH.search(told.replace(typed, "")), told


def test_which_locale_counts() -> None:
    assert words.language_of({"LANG": "zh_CN.UTF-8"}) == "zh-hans"
    assert words.language_of({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}) == "en"
    assert words.language_of({"LANG": "en_GB.UTF-8", "LC_MESSAGES": "zh_SG"}) == "zh-hans"
    assert words.language_of({}) == "en"


def test_lines_of_chinese_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = wrap("它在等待：没有级别更低的作业在运行，" * 4 + "job_1234567890。", "  - ", "    ").splitlines()
    assert len(lines) > 3 and all(cells(line) <= 40 for line in lines)
    assert all(not line.strip().startswith(("，", "。", "：")) for line in lines)
    assert "".join(line.strip() for line in lines).endswith("job_1234567890。")


def marked() -> Iterator[str]:
    """What the package marks for translation, and the docstrings that are the commands' help."""
    for path in sorted(PACKAGE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="_"), args=[ast.Constant(value=str(text))]):
                    yield text
                case ast.FunctionDef(args=ast.arguments(args=[ast.arg(arg="options")])):
                    if not node.name.startswith("_") and (help_text := ast.get_docstring(node)):
                        yield help_text


def test_every_sentence_has_its_chinese() -> None:
    of_units = {"d", "h", "min", "s"}
    texts = set(marked()) | of_units
    not_commands = {"The request of the options as the API takes it. Raises `GivewayError`."}
    assert texts - SENTENCES.keys() - not_commands == set()
    assert SENTENCES.keys() - texts == set(), "nobody says these any more"
    for english, chinese in SENTENCES.items():
        places = [sorted(match.group() for match in PLACE.finditer(text)) for text in (english, chinese)]
        assert set(places[0]) == set(places[1]), english


def test_every_code_has_its_chinese() -> None:
    codes = {*map(str, Reason), *PlanState.values, *JobPhase.values, "held", "forgotten", "requeue", "cancel"}
    assert codes - CODES.keys() == set()


def test_who_waits_for_lack_of_lower_jobs_reads_the_same_as_on_the_page() -> None:
    """The bare words of the code, "nothing lower runs", are untrue where lower jobs run that are protected."""
    page = str(SENTENCES_OF_REASONS[Reason.NOTHING_LOWER_RUNS])
    assert words.coded(Reason.NOTHING_LOWER_RUNS.value).capitalize() + "." == page
    with translation.override("zh-hans"):
        assert CODES[Reason.NOTHING_LOWER_RUNS.value] + "。" == gettext(page)
