"""What is put together from parts reads as if it had been written in one piece, in Chinese too."""

import pytest
from django.template import Context, Template
from django.utils import translation

from console.audit.models import AuditEntry
from console.core import l10n_format


@pytest.mark.parametrize(
    ("put_together", "read"),
    [
        ("停止 2 个作业 。 以下内容", "停止 2 个作业。以下内容"),
        ("为 20149（ann） 腾出资源", "为 20149（ann）腾出资源"),
        ("级别是 未配置 / 未配置。", "级别是未配置 / 未配置。"),
        ("占用 70 %", "占用 70%"),
    ],
)
def test_chinese_has_no_spaces_of_another_language(put_together: str, read: str) -> None:
    with translation.override("zh-hans"):
        assert l10n_format.set_in_type(put_together) == read
    with translation.override("en"):
        assert l10n_format.set_in_type(put_together) == put_together


def test_a_page_puts_sentences_side_by_side() -> None:
    page = Template(
        "{% load ui %}{% typeset %}<b>理由：</b> <i>第一句。</i>\n  第二句 <b>结束</b>。 x y{% endtypeset %}"
    )
    with translation.override("zh-hans"):
        assert page.render(Context()) == "<b>理由：</b><i>第一句。</i>第二句<b>结束</b>。x y"
    with translation.override("en"):
        assert page.render(Context()).startswith("<b>理由：</b> <i>第一句。</i>\n  第二句")


def test_marks_are_those_of_the_reader() -> None:
    held = {"gpu": 2, "cpu": 12}
    with translation.override("zh-hans"):
        assert l10n_format.amounts(held) == "2 gpu、12 cpu"
        assert l10n_format.with_label("级别", "P0") == "级别：P0"
        assert l10n_format.part_of(l10n_format.with_aside("20149", "ann"), "4 gpu") == "20149（ann），4 gpu"
    with translation.override("en"):
        assert l10n_format.amounts(held) == "2 gpu, 12 cpu"
        assert l10n_format.part_of(l10n_format.with_aside("20149", "ann"), "4 gpu") == "20149 (ann), 4 gpu"


@pytest.mark.parametrize(
    ("kind", "label", "told"),
    [
        ("job", "20134_0 (jan)", "20134_0（jan）"),
        ("project", "zeta (Zeta: teaching)", "zeta（Zeta: teaching）"),
        ("account", "finn (x)", "finn (x)"),
    ],
)
def test_a_label_that_was_kept_is_told_with_the_marks_of_the_reader(kind: str, label: str, told: str) -> None:
    row = AuditEntry(actor="giveway", action="checkpoint.done", object_type=kind, object_label=label)
    with translation.override("zh-hans"):
        assert row.told_label == told
    with translation.override("en"):
        assert row.told_label == label
