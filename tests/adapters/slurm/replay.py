"""Slurm's programs played from recordings or from a script, in place of the real ones."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scheduler.adapters.slurm.allowed import check
from scheduler.adapters.slurm.commands import CommandAnswer, CommandRunner

RECORDINGS = Path(__file__).parent / "recordings"
RECORDED_MARK = "gRECORDED"
VERSIONS = sorted(path.name for path in RECORDINGS.iterdir())


@dataclass(frozen=True)
class Scene:
    """One recorded moment of a cluster."""

    folder: Path

    def text(self, name: str) -> str:
        return (self.folder / f"{name}.txt").read_text()

    @property
    def jobs(self) -> dict[str, str]:
        """The ids of the scene's jobs by name."""
        found: dict[str, str] = json.loads((self.folder / "jobs.json").read_text())
        return found


def scene(version: str, name: str) -> Scene:
    return Scene(RECORDINGS / version / name)


def recorded_answers(version: str) -> list[tuple[list[str], int, str]]:
    """Commands that change something, with the status and the error output that they ended with."""
    told = json.loads((RECORDINGS / version / "answers.json").read_text())
    return [(answer["command"], answer["code"], answer["err"]) for answer in told]


@dataclass(slots=True)
class Replay(CommandRunner):
    """Answers reads from a scene. `edit` may change a text by its name; every call is kept in `calls`."""

    env: Mapping[str, str] = field(default_factory=dict)
    scene: Scene = field(default_factory=lambda: Scene(RECORDINGS))
    edit: Callable[[str, str], str] = lambda _name, text: text
    calls: list[tuple[str, ...]] = field(default_factory=list)
    failing: dict[str, CommandAnswer] = field(default_factory=dict)

    def run(self, program: str, *arguments: str, timeout_s: float | None = None) -> CommandAnswer:
        check(program, arguments)
        self.calls.append((program, *arguments))
        name = _name_of(program, arguments)
        if name in self.failing:
            return self.failing[name]
        if name.startswith("job/") and not (self.scene.folder / f"{name}.txt").exists():
            return CommandAnswer("", "slurm_load_jobs error: Invalid job id specified", 1)
        text = self.edit(name, self.scene.text(name))
        return CommandAnswer(_with_mark(text, arguments), "", 0)

    def asked(self, name: str) -> int:
        """How often a recorded text (`squeue`, `jobs`, `job/…`) was asked for."""
        return sum(_name_of(call[0], call[1:]).startswith(name) for call in self.calls)


def _name_of(program: str, arguments: Sequence[str]) -> str:
    if program == "squeue":
        return "reasons" if "--json" in arguments else "squeue"
    words = [word for word in arguments if not word.startswith("--")][1:]
    if words[0] == "nodes" and "--details" in arguments:
        return "nodes_given_out"
    if len(words) > 1:
        return "/".join(words)
    return "jobs" if words[0] == "job" else words[0]


def _with_mark(text: str, arguments: Sequence[str]) -> str:
    """The text with the mark that this call has made up."""
    wish = next((argument for argument in arguments if argument.startswith("--Format=")), "")
    found = re.search(r",Name:(\w+);$", wish)
    return text.replace(RECORDED_MARK, found[1]) if found else text


@dataclass(slots=True)
class Scripted(CommandRunner):
    """Answers each call with what `reply` says; for commands that change something."""

    env: Mapping[str, str] = field(default_factory=dict)
    reply: Callable[[tuple[str, ...]], CommandAnswer] = lambda _call: CommandAnswer("", "", 0)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    limits: list[float | None] = field(default_factory=list)

    def run(self, program: str, *arguments: str, timeout_s: float | None = None) -> CommandAnswer:
        check(program, arguments)
        self.calls.append((program, *arguments))
        self.limits.append(timeout_s)
        answer = self.reply((program, *arguments))
        return CommandAnswer(_with_mark(answer.out, arguments), answer.err, answer.code)
