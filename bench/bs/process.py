"""Runs commands and says what each cost: wall time, CPU, peak memory, bytes written, system calls.

Measured commands are started by the program `timed` (bench/timed.c), so that Python's own size and speed are in nobody's
numbers. All commands run in one environment that holds nothing of the user's.
"""

import dataclasses
import os
import pathlib
import re
import subprocess


class Failed(Exception):
    """A contender did not do what it was asked: it fails, it does not win."""


@dataclasses.dataclass(frozen=True)
class Command:
    argv: tuple[str, ...]
    cwd: str


@dataclasses.dataclass
class Cost:
    wall_ms: float = 0
    user_ms: float = 0
    sys_ms: float = 0
    peak_mb: float = 0
    written_kb: float = 0
    switches: float = 0

    def metrics(self) -> dict[str, float]:
        return {**dataclasses.asdict(self), "cpu_ms": self.user_ms + self.sys_ms}


class Runner:
    def __init__(self, scratch: pathlib.Path, programs: pathlib.Path):
        self.scratch = scratch
        self.programs = programs
        self.timed = str(programs / "timed")
        self.home = scratch / "home"
        self.home.mkdir()
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "USER": "bench",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            "WEFT_AUTHOR": "Bench <bench@example.org>",
            "HGUSER": "Bench <bench@example.org>",
            "JJ_USER": "Bench",
            "JJ_EMAIL": "bench@example.org",
        }

    def quiet(self, command: Command, allow: tuple[int, ...] = (0,)) -> bytes:
        """Not measured. Throws unless it ends with one of `allow`."""
        done = subprocess.run(command.argv, cwd=command.cwd, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode not in allow:
            raise Failed(f"{' '.join(command.argv)[:200]} ended with {done.returncode}: "
                         f"{(done.stderr or done.stdout).decode(errors='replace').strip()[-500:]}")
        return done.stdout

    def measure(self, commands: list[Command]) -> tuple[Cost, bytes]:
        """Their costs added up (peak memory: the greatest), and what they printed."""
        total, printed = Cost(), b""
        result, output, errors = (self.scratch / name for name in ("timed-result", "timed-output", "timed-errors"))
        for command in commands:
            result.unlink(missing_ok=True)
            with open(output, "wb") as out, open(errors, "wb") as err:
                subprocess.run((self.timed, str(result), *command.argv), cwd=command.cwd, env=self.environment,
                               stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=True)
            status, wall, user, system, peak, blocks, voluntary, involuntary = map(int, result.read_text().split())
            printed += output.read_bytes()
            if status != 0:
                said = (errors.read_bytes() or printed).decode(errors="replace").strip()[-500:]
                raise Failed(f"{' '.join(command.argv)[:200]} ended with {status}: {said}")
            total.wall_ms += wall / 1e6
            total.user_ms += user / 1e3
            total.sys_ms += system / 1e3
            total.peak_mb = max(total.peak_mb, peak / 1024)
            total.written_kb += blocks / 2
            total.switches += voluntary + involuntary
        return total, printed

    def count_system_calls(self, commands: list[Command]) -> float | None:
        """How many system calls the commands and their children make; None without strace."""
        if not os.access("/usr/bin/strace", os.X_OK):
            return None
        table = self.scratch / "strace"
        total = 0
        for command in commands:
            self.quiet(Command(("/usr/bin/strace", "-f", "-c", "-o", str(table), *command.argv), command.cwd))
            last = [line for line in table.read_text().splitlines() if line.rstrip().endswith("total")][-1]
            total += int(re.search(r"\s(\d+)(?:\s+\d+)?\s+total$", last).group(1))
        return float(total)
