"""Pages for somebody who reads Chinese: no English sentence is left on them, and times are said in Chinese."""

import re
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from babel.messages.pofile import read_po
from django.core import mail
from django.test import Client
from django.utils import timezone, translation

from console.accounts.models import User
from console.accounts.services import set_language
from console.audit.models import AuditEntry
from console.cluster.models import Job
from console.core.templatetags.words import KEYS
from console.notices.collecting import collect
from console.notices.mail import send_mails
from console.partitions import priority_file
from console.partitions.priority_file import export_config, import_config
from console.partitions.selectors import partition_document
from console.projects.rulebook import Rules, encode_rules
from console.projects.selectors import project_document
from console.setup.examining import examine_if_asked
from console.setup.models import Examination
from console.steering.models import Plan
from tests import factories
from tests.test_project.repository import ROOT
from tests.ui.conftest import House

WORDS = re.compile(r"\b[a-z]{2,}(?:[ ,:;][ ]?[a-z]{2,}){2,}\b")
"""Three English words in a row: a sentence, or a piece of one."""
SPOKEN = frozenset(
    {"aria-label", "title", "placeholder", "alt", "data-summary", "data-one", "data-many", "data-label"}
)
_HAN = "[\u4e00-\u9fff]"
_WIDE = "[，。：；、（）？！]"
HALF_WIDE = re.compile(
    rf"({_HAN}|[）”])[:,;!?](\s|$)|[:,;!?] ?{_HAN}|(^|[^0-9])[.] {_HAN}|{_HAN} ?\(|\) ?{_HAN}|{_HAN} {_HAN}"
    rf"|{_WIDE} (?!→)| {_WIDE}|[0-9] %"
)
"""A mark of Latin letters between Chinese ones, a space between them or beside a wide mark or a percentage."""
ALLOWED = re.compile(r"python -m scheduler plan|manage\.py [a-z -]+|giveway why|rejected for a test")
"""Commands, and what people wrote."""
VOID = frozenset({"input", "br", "img", "meta", "link", "use", "rect", "line", "circle", "path"})
with (ROOT / "locale/zh_Hans/LC_MESSAGES/django.po").open("rb") as file:
    MESSAGES = frozenset(
        str(message.id)
        for message in read_po(file)
        if message.string != message.id and len(str(message.id)) > 3
    )


class Texts(HTMLParser):
    """What a page says: its texts and spoken attributes, but for what is marked as being in another language."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._silent: list[str] = []
        """The element that is not listened to, and those within it."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        foreign = tag != "html" and dict(attrs).get("lang", "zh-hans") != "zh-hans"
        if (self._silent or foreign or tag in {"script", "style", "textarea"}) and tag not in VOID:
            self._silent.append(tag)
        if not self._silent:
            self.found += [value for name, value in attrs if name in SPOKEN and value]

    def handle_endtag(self, tag: str) -> None:
        if self._silent and self._silent[-1] == tag:
            self._silent.pop()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.found.append(" ".join(data.split()))


def english_in(page: str) -> list[str]:
    """Pieces of English sentences, and whole messages of the catalogue that were left as they are."""
    texts = Texts()
    texts.feed(page)
    return [text for text in texts.found if WORDS.search(ALLOWED.sub("", text)) or text in MESSAGES]


def half_wide_in(page: str) -> list[str]:
    """Texts with marks that are not of Chinese."""
    texts = Texts()
    texts.feed(page)
    return [text for text in texts.found if HALF_WIDE.search(text)]


@pytest.fixture
def li(house: House, ada: Client) -> Client:
    """The administrator, who has chosen Chinese."""
    set_language(house.people["ada"], "zh-hans")
    Plan.objects.update(
        explain="101 (ann, P0) needs 4 cpu on one node; n1 has nothing free. Stopping 88 (bob, P1, ran 5 min) makes "
        "room on n1.",
        outcome="101 had not started by the deadline.",
        decided_by="dave",
        decision_reason="rejected for a test",
    )
    Job.objects.filter(phase="pending").update(
        explain="101 (ann, P0, task unconfigured) needs 4 cpu on one node; nothing of lower rank runs in x.",
        user_origin="nothing configured; the override to P0 ended 2026-12-01 18:00 UTC",
    )
    Job.objects.filter(phase="running").update(protected="the partition protects the user bob")
    return ada


PAGES = (
    "/", "/jobs/", "/jobs/101/", "/jobs/88/", "/my-jobs/", "/plans/", "/plans/{plan}/", "/approvals/", "/studies/",
    "/insights/", "/partitions/x/", "/partitions/x/policy/", "/partitions/x/quotas/", "/partitions/x/revisions/",
    "/partitions/x/hindsight/",
    "/partitions/x/shadow/", "/partitions/x/timeline/", "/projects/", "/projects/alpha/", "/projects/alpha/levels/",
    "/projects/alpha/work/", "/projects/alpha/history/", "/project-rules/", "/project-requests/", "/audit/",
    "/audit/1/", "/history/jobs/101/", "/account/", "/setup/", "/setup/people/", "/setup/sign-in/",
    "/people/", "/people/vera/", "/setup/cluster/", "/setup/import/", "/setup/shadow/", "/help/", "/priority-file/",
    "/nothing-here/",
)  # fmt: skip


def test_no_page_has_an_english_sentence_or_its_marks(house: House, li: Client) -> None:
    left, marks = {}, {}
    for address in PAGES:
        answer = li.get(address.format(plan=house.plan.pk), follow=True)
        assert answer.status_code == (404 if "nothing" in address else 200), address
        left[address] = english_in(answer.content.decode())
        marks[address] = half_wide_in(answer.content.decode())
    assert {address: texts for address, texts in left.items() if texts} == {}
    assert {address: texts for address, texts in marks.items() if texts} == {}


STATES = re.compile(
    r"\b(drain(ed|ing)?|idle|mixed|allocated|unconfigured|pending|running|completing|ended|planned|proposed|approved"
    r"|executing|verified|undone|expired|superseded|rejected|requeued|preempted|degraded|ago|nothing|front)\b(?!”)"
)
"""Words of states, of which one alone is no sentence; not Slurm's own in capitals, nor what is typed."""


def test_no_main_page_has_an_english_word_of_a_state(house: House, li: Client) -> None:
    factories.make_node(house.cluster, "n7", state="DRAINED", up=False)
    factories.make_node(house.cluster, "n8", state="IDLE+DRAIN", up=False)
    left = {}
    for address in (*PAGES, "/partitions/x/?map=table"):
        texts = Texts()
        texts.feed(li.get(address.format(plan=house.plan.pk), follow=True).content.decode())
        left[address] = [text for text in texts.found if STATES.search(ALLOWED.sub("", text))]
    assert {address: texts for address, texts in left.items() if texts} == {}


def test_the_times_of_a_plan_are_called_what_they_are(house: House, li: Client) -> None:
    page = li.get(f"/plans/{house.plan.pk}/").content.decode()
    found = re.findall(r"<dt>([^<]+)</dt>", page)
    assert {"启动期限", "开始时间", "结束时间"} <= set(found)
    assert not {"截止日期", "启动", "已结束"} & set(found)


def test_a_level_and_a_priority_are_two_words() -> None:
    """级别 is a level of ours, 优先级 a priority of Slurm's or the priority file."""
    with (ROOT / "locale/zh_Hans/LC_MESSAGES/django.po").open("rb") as file:
        mixed = [message.id for message in read_po(file) if "优先级" in str(message.string) and message.id]
    assert [text for text in mixed if "riorit" not in str(text)] == []


def test_the_check_finds_english_where_it_is(house: House, ada: Client) -> None:
    assert len(english_in(ada.get("/").content.decode())) > 3


def test_what_is_wrong_with_a_form_is_said_in_chinese(house: House, li: Client) -> None:
    page = li.post(
        "/partitions/x/policy/", {"mode": "nonsense", "grace_s": "-5", "reason": ""}
    ).content.decode()
    assert english_in(page) == []
    assert "尚未保存。错误标注在各字段旁。" in page and "请说明理由；会写入审计日志。" in page


def test_a_decision_is_told_again_with_its_numbers(house: House, li: Client) -> None:
    page = li.get(f"/plans/{house.plan.pk}/").content.decode()
    assert "停止 88（bob，P1，已运行 5 分钟）可在 n1 上腾出资源。" in page
    assert "101 到截止时间仍未启动。" in page and "rejected for a test" in page


def test_times_and_the_units_of_the_script_are_chinese(house: House, li: Client) -> None:
    house.cluster.observed_at = timezone.now() - timedelta(hours=2, minutes=14)
    house.cluster.save()
    page = li.get("/").content.decode()
    assert (
        "2 小时 14 分钟前" in page
        and 'data-units="天,小时,分钟,秒"' in page
        and 'data-word-ago="{time}前"' in page
    )


def test_audit_rows_keep_facts_and_speak_the_readers_language(house: House, li: Client) -> None:
    page = li.get("/audit/").content.decode()
    assert "ada 使分区 x 的策略修订 1 生效。" in page and "about x" in page, (
        "what a person wrote stands as it is"
    )


def test_what_the_doctor_finds_is_said_in_chinese(house: House, li: Client) -> None:
    examine_if_asked(house.cluster)
    row = Examination.objects.get()
    strange = {"check": "slurmctld", "level": "WARN", "what": "It sings all day long.", "fix": ""}
    Examination.objects.update(findings=[*row.findings, strange])
    page = li.get("/setup/cluster/").content.decode()
    assert english_in(page) == []
    assert "已应用" in page and '<th scope="row">数据库</th>' in page
    assert page.count('<span lang="en">') == 1 and '<span lang="en">It sings all day long.</span>' in page


def test_what_a_check_of_the_log_found_is_said_in_chinese_whoever_asked_for_it() -> None:
    why = "The head of the log is gone from the database."
    with translation.override("zh-hans"):
        row = AuditEntry(actor="ada", object_type="log", object_label="audit log", reason=why)
        assert (row.told_label, row.told_reason) == ("审计日志", "日志的头部已从数据库中消失。")
        assert AuditEntry(actor="ada", object_type="project", reason=why).told_reason == why, "her own words"


def test_what_an_import_changed_is_told_in_chinese(
    house: House, li: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = export_config(house.cluster)
    document["projects"][0]["urgency"] = 9
    document["partitions"][0]["enforcement"] = "approve"
    document["partitions"][0]["protected_users"] = ["a → b", "root"]
    monkeypatch.setattr(priority_file, "LISTED_AT_MOST", 3)
    import_config(actor="ada", cluster=house.cluster, document=document, reason="r", dry_run=False)
    row = AuditEntry.objects.get(action="config.imported")
    page = " ".join(li.get(f"/audit/{row.sequence}/").content.decode().split())
    assert "项目 alpha，紧急程度：</span> <del>3</del> → <ins>9</ins>" in page
    assert "分区 x，执行方式：</span> <del>影子模式</del> → <ins>审批</ins>" in page
    assert "新增 <ins>a → b</ins>" in page, "it is data: nothing need be guessed"
    assert "另有 1 项未列出" in page and "集群 dev" in page


def test_every_key_of_what_is_kept_has_its_words(house: House) -> None:
    kept = [project_document(house.alpha), partition_document(house.x), encode_rules(Rules())]
    kept += [document for row in AuditEntry.objects.all() for document in (row.before, row.after) if document]
    assert {key for document in kept for key in document if key not in KEYS} == set()


def test_an_e_mail_is_in_the_language_of_its_reader(house: House, settings: object) -> None:
    setattr(settings, "GIVEWAY_EMAIL", True)  # noqa: B010 - pytest-django's own object
    setattr(settings, "GIVEWAY_EMAIL_FROM", "giveway@example.org")  # noqa: B010
    people = {"bob": "zh-hans", "ann": ""}
    for name, language in people.items():
        account = factories.make_viewer(name)
        account.email = f"{name}@example.org"
        account.save()
        set_language(account, language)
    for action in house.plan.actions.filter(kind="requeue_hold"):
        action.state, action.verified_at = "verified", timezone.now()
        action.save()
    Plan.objects.update(state="verified", started_at=timezone.now())
    assert collect() == 2 and send_mails(until=float("inf")) == 2
    sent = {message.to[0]: message for message in mail.outbox}
    chinese, english = sent["bob@example.org"], sent["ann@example.org"]
    assert (
        "已被停止，以腾出资源" in chinese.subject
        and "您的作业 88" in chinese.body
        and "请勿回复" in chinese.body
    )
    assert "room was made for it" in english.subject and "made room for it by stopping" in english.body
    assert User.objects.get(username="ann").language == ""


def test_one_word_for_one_thing() -> None:
    """Of what was mixed or left: a level is no priority, room is no space, and a plan's times are no states."""
    assert MESSAGES
    with (ROOT / "locale/zh_Hans/LC_MESSAGES/django.po").open("rb") as file:
        said = [
            (str(message.id).casefold(), str(text))
            for message in read_po(file)
            if message.id
            for text in (message.string if isinstance(message.string, tuple) else (message.string,))
        ]
    assert [line for line in said if "优先级" in line[1] and "priorit" not in line[0]] == []
    gone = re.compile(
        "停止它没有帮助|腾出空间|不接受作业|项目经理|方案 %|[\u4e00-\u9fff][,;]"
        "|[\u4e00-\u9fff]:(?!/)|%\\([a-z]+\\)s %%"
    )
    assert [line for line in said if gone.search(line[1])] == []
    left = re.compile("drained|unconfigured")
    assert [line for line in said if left.search(line[1]) and "“" not in line[1]] == []


def test_a_plans_times_are_times(house: House, li: Client) -> None:
    page = li.get(f"/plans/{house.plan.pk}/").content.decode()
    for label in ("启动期限", "开始时间", "结束时间"):
        assert f"<dt>{label}</dt>" in page, label
    for label in ("截止日期", "启动", "已结束"):
        assert f"<dt>{label}</dt>" not in page, label
