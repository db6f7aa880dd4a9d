"""Does the suite fail a contender whose result is wrong? Each of these is wrong in one way and must be caught in that row."""

import os
import pathlib
import sys

import rows
from contender import Contender
from git import Git
from process import Command, Runner
from weft import Weft

_SH = "/bin/sh"


def _and_then(contender: Contender, commands: list[Command], script: str) -> list[Command]:
    return [*commands, Command((_SH, "-c", script), str(contender.tree))]


class LosesFile(Git):
    """Commits all but one file."""

    def first_commit(self):
        victim = min(path for path in (self.tree / "dir-0").iterdir()).name
        return [self.command("add", "-A", "--", ".", f":!dir-0/{victim}"), self.command("commit", "-q", "-m", "Everything")]


class ForgetsEdit(Git):
    """Commits nothing from the second commit on."""

    def commit_all(self, message):
        if message == "Everything":
            return super().commit_all(message)
        return [self.command("commit", "-q", "--allow-empty", "-m", message)]


class DoesNotCommit(Weft):
    """Says it did, and did not."""

    def commit_path(self, message, path):
        return [Command(("/bin/true",), str(self.tree))]


class SaysClean(Weft):
    """Finds nothing that changed."""

    def status(self):
        return [Command(("/bin/true",), str(self.tree))]


class SeesTooMuch(Git):
    def status(self):
        return _and_then(self, super().status(), "echo '?? nothing'")


class WrongContent(Weft):
    """A checkout whose sizes are right."""

    def checkout(self, to):
        script = 'f=$(ls dir-1/* | head -n 1); printf X | dd of="$f" conv=notrunc status=none'
        return [*super().checkout(to), Command((_SH, "-c", f"cd '{to}' && {script}"), str(self.place))]


class LeavesFile(Git):
    """A switch that leaves a file behind."""

    def go(self, version):
        return _and_then(self, super().go(version), "echo left >dir-2/left.txt")


class EndsBadly(Git):
    def go(self, version):
        return [Command(("/bin/false",), str(self.tree))]


WRONG = [
    (LosesFile, "bs2", "lacks 1 files"), (SeesTooMuch, "bs2", "status names 1"), (SaysClean, "bs1", "status names 0"),
    (ForgetsEdit, "bs3", "does not hold the edit"), (DoesNotCommit, "bs3", "the last commit is"),
    (WrongContent, "bs5-checkout", "content differs"), (LeavesFile, "bs5-switch", "too many"),
    (EndsBadly, "bs5-switch", "ended with 1"),
]
ROWS = {"bs1": rows.status, "bs3": rows.commit_edit, "bs5-checkout": rows.checkout, "bs5-switch": rows.switch}


def _make_tree(master: pathlib.Path) -> None:
    for directory in range(6):
        (master / f"dir-{directory}").mkdir(parents=True)
        for file in range(30):
            (master / f"dir-{directory}/file-{file}.txt").write_text(f"file {file} of {directory}\n" * (12 + file))
    (master / "link").symlink_to("dir-0/file-1.txt")
    os.chmod(master / "dir-3/file-3.txt", 0o755)


def run(runner: Runner, scratch: pathlib.Path) -> int:
    master = scratch / "master"
    _make_tree(master)
    surprises = 0
    for number, (kind, row, expected) in enumerate([(Weft, "", ""), (Git, "", ""), *WRONG]):
        root = scratch / f"check-{number}"
        root.mkdir()
        session = rows.Session(runner, root, master, 1)
        session.add(kind)
        rows.first_commit(session)
        for measured, what in ROWS.items():
            if row in ("", measured) and not session.failed:
                what(session)
        said = next(iter(session.failed.values()), "")
        # Failed, for the reason it should; and its errors are in the report of that row.
        good = said == "" if not expected else expected in said and any(
            suite.errors and suite.id.startswith(row) for suite in session.suites)
        surprises += not good
        print(f"{'ok  ' if good else 'FAIL'} {kind.__name__}: {said or 'passed everything'}", file=sys.stdout, flush=True)
    return 1 if surprises else 0
