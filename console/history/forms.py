"""From the forms of other pages to what is asked, with the faults as lines."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.forms import Form
from django.http import QueryDict
from django.utils.translation import gettext as _

from console.cluster.models import Cluster
from console.core.l10n_format import with_label
from console.core.rows import Rows
from console.history.changes import HypotheticalChange, policy_change, project_change, proposal_change
from console.partitions.comparing import side
from console.partitions.documents import checked_policy
from console.partitions.forms import PolicyForm, make_rows
from console.partitions.models import Partition, PolicyDraft
from console.partitions.quota_form import quota_form
from console.partitions.task_types_form import TYPES, task_type_document
from console.projects.forms import TASKS, ProjectForm, TaskRows, project_data
from console.projects.models import UrgencyRequest
from console.projects.services import URGENCY
from console.projects.services import project_data as data_now
from scheduler.contracts.errors import InputError
from scheduler.contracts.task_types import decode_task_type
from scheduler.model.task_types import TaskType


class FormFaultsError(Exception):
    """What was typed makes no sense yet; `lines` say where."""

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__()
        self.lines = list(lines)


def typed_policy(partition: Partition, data: QueryDict) -> HypotheticalChange:
    """The policy that the partition's form says. Raises `FormFaultsError`."""
    form, rows = PolicyForm(data=_with_reason(data)), make_rows(data=data)
    del form.fields["admins"]
    policy = None
    if all([form.is_valid(), *(each.is_valid() for each in rows.values())]):
        policy = checked_policy(partition.name, form, rows)
    if policy is None:
        raise FormFaultsError(_faults(form, rows.values()))
    try:
        return policy_change(partition, policy)
    except ValidationError as error:
        raise FormFaultsError(_told(form, error.message_dict)) from None


def compared_policy(partition: Partition, key: str) -> HypotheticalChange:
    """The policy of the revision or draft of that key. Raises `FormFaultsError`."""
    found = side(partition, key)
    if found is None:
        raise FormFaultsError([_("There is no such revision or draft.")])
    try:
        return policy_change(partition, found.document)
    except ValidationError as error:
        raise FormFaultsError(error.messages) from None


def typed_types(data: QueryDict) -> list[TaskType]:
    """The rows of task types alone, whatever else the policy's form says. Raises `FormFaultsError`."""
    rows = make_rows(data=data)[TYPES]
    if not rows.is_valid():
        raise FormFaultsError(_row_faults([rows]))
    try:
        return [decode_task_type(task_type_document(row), f"{number + 1}") for number, row in rows.filled]
    except InputError as error:
        raise FormFaultsError([str(error)]) from None


def typed_quotas(partition: Partition, draft: PolicyDraft | None, data: QueryDict) -> HypotheticalChange:
    """The draft, or the policy in force, with the quotas that the matrix says. Raises `FormFaultsError`."""
    form = quota_form(partition, draft, data=_with_reason(data))
    if not form.is_valid():
        raise FormFaultsError(_told(form, form.errors))
    try:
        return policy_change(partition, form.document())
    except ValidationError as error:
        raise FormFaultsError(_told(form, error.message_dict)) from None


def typed_proposal(cluster: Cluster, data: QueryDict, code: str | None) -> HypotheticalChange:
    """The same of one that is only proposed."""
    return typed_project(cluster, data, code, proposed=True)


def typed_project(
    cluster: Cluster, data: QueryDict, code: str | None, *, proposed: bool = False
) -> HypotheticalChange:
    """The project that the form says; `code` of the one that it is about. Raises `FormFaultsError`."""
    values = _with_reason(data)
    if code is not None:
        values["code"] = code
    form, tasks = ProjectForm(values), TaskRows(values, prefix=TASKS)
    if not all([form.is_valid(), tasks.is_valid()]):
        raise FormFaultsError(_faults(form, [tasks]))
    try:
        wanted = project_data(form, tasks, code)
        return proposal_change(cluster, wanted) if proposed else project_change(cluster, wanted)
    except ValidationError as error:
        raise FormFaultsError(_told(form, error.message_dict)) from None


def requested_project(asked: UrgencyRequest, until: str) -> HypotheticalChange:
    """The project with the urgency that is asked for. Raises `FormFaultsError`."""
    wanted = {field: getattr(asked, field) for field in URGENCY}
    try:
        if until and asked.deadline:
            wanted["deadline"] = min(date.fromisoformat(until), asked.deadline)
        data = replace(data_now(asked.project), **wanted)
        return project_change(asked.project.cluster, data)
    except ValidationError as error:
        raise FormFaultsError(error.messages) from None
    except ValueError:
        raise FormFaultsError([_("Enter a valid date.")]) from None


def _with_reason(data: QueryDict) -> QueryDict:
    """Nothing is saved, so nobody has to say why yet."""
    values = data.copy()
    values["reason"] = "-"
    return values


def _faults(form: Form, rows: Iterable[Rows]) -> Iterable[str]:
    yield from _told(form, form.errors)
    yield from _row_faults(rows)


def _row_faults(rows: Iterable[Rows]) -> Iterable[str]:
    for each in rows:
        yield from (f"{fault}" for fault in each.non_form_errors())
        for number, row in enumerate(each.forms, start=1):
            for line in _told(row, row.errors):
                yield _("Row %(n)d: %(fault)s") % {"n": number, "fault": line}


def _told(form: Form, errors: Mapping[str, Iterable[object]]) -> Iterable[str]:
    for name, faults in errors.items():
        label = form.fields[name].label if name in form.fields else ""
        for fault in faults:
            yield f"{fault}" if name == NON_FIELD_ERRORS or not label else with_label(label, fault)
