"""`manage.py doctor`: what is wrong with this installation, and what to do about it."""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

from console.health.doctor.findings import Finding, Level
from console.health.doctor.run import examine, worst

CONNECT_S = 5


class Command(BaseCommand):
    """Run it as the worker's account, with the worker's environment: that is whose rights and settings count."""

    help = (
        "Check database, broker, worker, settings and Slurm; each finding is OK, WARN or FAIL with the cure."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, json: bool, **options: Any) -> None:
        """Exit status 1 when something is FAIL, else 0."""
        _ask_the_database_directly()
        findings = [finding.without_secrets() for finding in examine()]
        status = worst(findings)
        if json:
            self._json(findings, status)
        else:
            self._words(findings, status)
        if status is Level.FAIL:
            sys.exit(1)

    def _json(self, findings: list[Finding], status: Level) -> None:
        document = {
            "status": status.value,
            "findings": [{**asdict(each), "code": each.code} for each in findings],
        }
        self.stdout.write(json.dumps(document, indent=1, ensure_ascii=False))

    def _words(self, findings: list[Finding], status: Level) -> None:
        for finding in findings:
            self.stdout.write(f"{finding.level:<5} {finding.check:<11} {finding.what}")
            if finding.fix:
                self.stdout.write(f"{'':<17} → {finding.fix}")
        counts = {level: sum(finding.level is level for finding in findings) for level in Level}
        self.stdout.write(
            f"{len(findings)} findings: {counts[Level.OK]} OK, {counts[Level.WARN]} WARN, {counts[Level.FAIL]} FAIL."
        )
        if status is Level.WARN:
            self.stdout.write("It works; the warnings will bite some day.")


def _ask_the_database_directly() -> None:
    """Without the pool, which goes on trying for half a minute each time before it says that nobody answers."""
    options = connection.settings_dict.get("OPTIONS", {})
    if connection.vendor == "postgresql" and options.pop("pool", None):
        connection.close()
        options["connect_timeout"] = CONNECT_S
