"""What a contender can do: each verb answers with the commands a user would type.

A contender lives in a place of its own: `tree`, its copy of the files, and beside it whatever it keeps elsewhere. Several
contenders may share a place (git with other flush settings). Commands are measured by the rows (rows.py); questions that
check the answer (files, content, head) run them unmeasured.
"""

import pathlib
import re

import trees
from process import Command, Failed, Runner


class Contender:
    name = ""
    settings = ""
    place_name = ""  # which copy of the tree it works in; by default its own
    slow = False     # one round of what takes minutes
    metadata: tuple[str, ...] = ()  # what holds its repository, in `tree` or beside it

    def __init__(self, runner: Runner, root: pathlib.Path):
        self.runner = runner
        self.place = root / (self.place_name or self.name)
        self.tree = self.place / "tree"

    # --- what it consists of

    def command(self, *words: str, cwd: pathlib.Path | None = None) -> Command:
        raise NotImplementedError

    def ask(self, *words: str) -> bytes:
        return self.runner.quiet(self.command(*words))

    # --- verbs, measured

    def first_commit(self) -> list[Command]:
        return self.commit_all("Everything")

    def commit_all(self, message: str) -> list[Command]:
        raise NotImplementedError

    def commit_path(self, message: str, path: str) -> list[Command]:
        raise NotImplementedError

    def status(self) -> list[Command]:
        raise NotImplementedError

    def checkout(self, to: pathlib.Path) -> list[Command]:
        """The whole tree into the directory `to`, which does not exist, beside the same store."""
        raise NotImplementedError

    def go(self, version: str) -> list[Command]:
        raise NotImplementedError

    # --- not measured

    def init(self) -> None:
        raise NotImplementedError

    def branch(self, name: str) -> None:
        """What is committed next is `name`; what was committed before keeps its name, `main` at first."""
        raise NotImplementedError

    def files(self) -> set[bytes]:
        """Every path of the committed version."""
        raise NotImplementedError

    def content(self, path: str) -> bytes:
        """Of a file, as committed."""
        raise NotImplementedError

    def message(self) -> str:
        """Of the last commit: its first line."""
        raise NotImplementedError

    def changed(self, printed: bytes) -> set[bytes]:
        """The paths that `status` names in what it printed."""
        raise NotImplementedError

    def set_aside(self, number: int) -> None:
        """Moves the repository away, so that the next init begins anew. Nothing is deleted: after many deletions, ext4
        creates files more slowly, which would hit whoever comes next."""
        aside = self.place / f"aside-{number}"
        aside.mkdir()
        for name in self.metadata:
            for holder in (self.tree, self.place):
                if (holder / name).exists():
                    (holder / name).rename(aside / name)

    def store_bytes(self) -> int:
        total = 0
        for name in self.metadata:
            for holder in (self.tree, self.place):
                path = holder / name
                if path.is_file():
                    total += path.stat().st_blocks * 512
                elif path.is_dir():
                    total += sum(file.lstat().st_blocks * 512 for file in path.rglob("*"))
        return total


def matches(pattern: bytes, printed: bytes) -> set[bytes]:
    return {found.strip() for found in re.findall(pattern, printed, re.MULTILINE)}


def require(fits: bool, contender: Contender, what: str) -> None:
    if not fits:
        raise Failed(f"{contender.name}: {what}")


def require_committed(contender: Contender, expected: trees.Survey) -> None:
    """The committed version has exactly the paths of `expected`."""
    held = contender.files()
    wanted = set(expected)
    require(held == wanted, contender,
            f"the commit lacks {len(wanted - held)} files {sorted(wanted - held)[:3]} "
            f"and has {len(held - wanted)} too many {sorted(held - wanted)[:3]}")
