"""The shipped job_submit.lua under a real Lua 5.1, with a stand-in for what slurmctld gives it."""

import os
import select
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from urllib.parse import quote, unquote

import pytest

SCRIPT = Path(__file__).parents[2] / "deploy" / "slurm" / "job_submit.lua"
RING = SCRIPT.with_name("ring")
DRIVER = """
local reply = {}
local function say(kind, text)
  reply[#reply + 1] = kind .. "=" .. text:gsub("[^%w]", function(c) return string.format("%%%02X", c:byte()) end)
end
local function saying(kind) return function(...) say(kind, string.format(...)) end end
slurm = { SUCCESS = 0, ERROR = -1, ESLURM_ACCESS_DENIED = 2002, ESLURM_ACCOUNTING_POLICY = 2050,
          log_user = saying("user"), log_info = saying("info"), log_error = saying("error") }
local now = 0
os.time = function() return now end
assert(dofile(arg[1]) == slurm.SUCCESS)
local parts = { x = { flag_default = 0 }, wide = { flag_default = 1 }, y = { flag_default = 0 } }
local function table_of(words)
  local result = {}
  for key, value in words:gmatch("(%S+)=(%S*)") do
    result[key] = value:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
  end
  return result
end
for line in io.lines() do
  local kind, first, second = line:match("^(%S+) ?([^|]*)|?(.*)$")
  if kind == "time" then now = tonumber(first) end
  if kind == "submit" then
    local job, before = table_of(first), table_of(first)
    say("answer", tostring(slurm_job_submit(job, parts, 0)))
    for _, key in ipairs({ "begin_time", "admin_comment" }) do
      if job[key] ~= before[key] then say("job", key .. ":" .. job[key]) end
    end
  end
  if kind == "modify" then say("answer", tostring(slurm_job_modify(table_of(first), table_of(second), parts, 0))) end
  if kind == "sabotage" then slurm.log_user = function() error("no user") end end
  io.write(table.concat(reply, " "), "\\n")
  io.flush()
  reply = {}
end
"""
ANSWER_S = 60.0
SUCCESS, DENIED, OVER_QUOTA = 0, 2002, 2050


def hang_bell(rules: Path) -> Path:
    """The bell beside these rules, as Giveway makes it, never rung so far."""
    bell = Path(f"{rules}.bell")
    bell.write_text("1\n")
    bell.chmod(0o666)
    silence(bell)
    return bell


def silence(bell: Path) -> None:
    os.utime(bell, ns=(0, 0))


def has_rung(bell: Path) -> bool:
    """Whether it has since it was silenced."""
    return bell.stat().st_mtime_ns > 0


@dataclass(frozen=True)
class Said:
    """What the script answered, and what it told the user and slurmctld's log (`info`, `error`). `job`: when it lets
    the job begin, and what it leaves with it for administrators."""

    answer: int | None
    user: list[str]
    info: list[str]
    error: list[str]
    job: list[str] = field(default_factory=list)


@dataclass
class SubmitScript:
    """A running script that reads the rules at `rules`; its clock is set by `time`."""

    rules: Path
    folder: Path
    script: Path = SCRIPT
    _process: subprocess.Popen[str] = field(init=False, repr=False)

    def __enter__(self) -> Self:
        lua = shutil.which("lua5.1")
        if lua is None:
            if os.environ.get("GIVEWAY_REQUIRE_SLURM") == "1":
                pytest.fail("lua5.1 is not installed: apt-get install lua5.1")
            pytest.skip("lua5.1 is not installed")
        driver = self.folder / "driver.lua"
        driver.write_text(DRIVER)
        self._process = subprocess.Popen(
            [lua, str(driver), str(self.script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="ascii",
            env={**os.environ, "GIVEWAY_SUBMIT_RULES": str(self.rules)},
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate(timeout=ANSWER_S)

    def time(self, now: int) -> None:
        """Set the script's clock."""
        self._ask(f"time {now}")

    def submit(self, user: str, name: str | None, partition: str | None = "x", **more: str) -> Said:
        """A submission; `None`: not said."""
        return self._ask(
            f"submit {_words({'user_name': user, 'name': name, 'partition': partition, **more})}"
        )

    def modify(self, user: str, before: Mapping[str, str], **wanted: str) -> Said:
        """A change of a job that there is."""
        record = {"partition": "x", **before}
        return self._ask(f"modify {_words({'user_name': user, **wanted})}|{_words(record)}")

    def sabotage(self) -> None:
        """From now on telling the user is an error inside the script."""
        self._ask("sabotage")

    def _ask(self, line: str) -> Said:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(line + "\n")
        stdin.flush()
        said: dict[str, list[str]] = {"answer": [], "user": [], "info": [], "error": [], "job": []}
        for word in _line(stdout).split():
            kind, _, text = word.partition("=")
            said[kind].append(unquote(text))
        answer = int(said["answer"][0]) if said["answer"] else None
        return Said(answer, said["user"], said["info"], said["error"], said["job"])


def _line(stdout: IO[str]) -> str:
    """The one line of an answer; nothing may be left in the buffer, or select would wait in vain."""
    if not select.select([stdout], [], [], ANSWER_S)[0]:
        raise AssertionError(f"the script has not answered for {ANSWER_S} s")
    line = stdout.readline()
    assert line, "the script has ended"
    return line.rstrip("\n")


def _words(pairs: Mapping[str, str | None]) -> str:
    return " ".join(f"{key}={quote(value, safe='')}" for key, value in pairs.items() if value is not None)
