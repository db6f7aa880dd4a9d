"""BS1, BS2, BS3 and BS5: a working tree, one copy for each contender.

Contenders take turns within each round, in an order that turns around every round. The first round is dropped, except where
a row says otherwise. After each measured command its effect is checked, unmeasured: a contender that got it wrong fails and
is left out of what follows.
"""

import contextlib
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import machine
import trees
from contender import Contender, require, require_committed
from process import Command, Cost, Failed, Runner
from report import Suite

LARGE = 20_000  # files from which on whole-tree work is run without a round to warm up: the copies were written just before
SETTLE_S = 0.02  # between an edit and the command after it, as no user is faster: past the file system's clock tick


class Session:
    """Contenders over one tree, what is left of them, and the suites measured so far."""

    def __init__(self, runner: Runner, root: pathlib.Path, master: pathlib.Path, rounds: int):
        self.runner = runner
        self.root = root
        self.master = master
        self.rounds = rounds
        self.truth = trees.survey(master)
        self.large = len(self.truth) >= LARGE
        self.contenders: list[Contender] = []
        self.failed: dict[str, str] = {}
        self.suites: list[Suite] = []
        self.serial = 0
        self.checkouts_checked: set[str] = set()

    def add(self, kind: type[Contender]) -> None:
        contender = kind(self.runner, self.root)
        if not contender.tree.exists():
            contender.place.mkdir(parents=True)
            trees.copy(self.master, contender.tree)
        self.contenders.append(contender)

    def next(self) -> int:
        self.serial += 1
        return self.serial

    @contextlib.contextmanager
    def suite(self, row: str, title: str, contenders: list[Contender], **more) -> Iterator[Suite]:
        suite = Suite(row, title, contenders=[contender.name for contender in contenders], **more)
        before = machine.probe(self.root)
        yield suite
        after = machine.probe(self.root)
        suite.probe = {"overwrite_before": before[0], "overwrite_after": after[0], "grow_before": before[1], "grow_after": after[1]}
        self.suites.append(suite)

    def attempt(self, suite: Suite, contender: Contender, what: Callable[[], dict[str, float] | None],
                keep: bool = True) -> None:
        """One turn of one contender; what it measured is kept unless this is the round to warm up."""
        if contender.name in self.failed:
            suite.errors.setdefault(contender.name, self.failed[contender.name])
            return
        try:
            metrics = what()
        except (Failed, OSError) as error:
            self.failed[contender.name] = suite.errors[contender.name] = str(error)
            print(f"{suite.id} {contender.name} FAILED: {error}", file=sys.stderr, flush=True)
            return
        if keep and metrics is not None:
            suite.add(contender.name, metrics)
            print(f"{suite.id} {contender.name:14} {metrics[suite.key]:10.1f} {suite.key}", file=sys.stderr, flush=True)

    def turns(self, contenders: list[Contender], warm: int = 1, rounds: int | None = None) -> Iterator[tuple[int, Contender, bool]]:
        """(round, contender, whether it counts). Slow contenders run once when there is no warming up."""
        rounds = self.rounds if rounds is None else rounds
        for turn in range(warm + rounds):
            for contender in contenders if turn % 2 == 0 else reversed(contenders):
                if warm == 0 and contender.slow and self.large and turn > 0:
                    continue
                yield turn, contender, turn >= warm


def write(contender: Contender, path: bytes, content: bytes) -> None:
    """In place, as an editor without a backup does."""
    with open(os.path.join(os.fsencode(contender.tree), path), "r+b") as file:
        file.write(content)
        file.truncate()


def original(session: Session, path: bytes) -> bytes:
    with open(os.path.join(os.fsencode(session.master), path), "rb") as file:
        return file.read()


def settle() -> None:
    time.sleep(SETTLE_S)


def require_status(contender: Contender, printed: bytes, expected: set[bytes]) -> None:
    named = contender.changed(printed)
    require(named == expected, contender, f"status names {len(named)} paths {sorted(named)[:5]}, not {sorted(expected)[:5]}")


def require_clean(session: Session, contender: Contender) -> None:
    _, printed = session.runner.measure(contender.status())
    require_status(contender, printed, set())


def unchanging(contenders: list[Contender]) -> list[Contender]:
    """One contender a place: for rows in which those that share one would do the same. The one it is named after, if there."""
    out: dict[str, Contender] = {}
    for contender in contenders:
        if contender.place.name not in out or contender.place.name == contender.name:
            out[contender.place.name] = contender
    return list(out.values())


# --- BS2

def first_commit(session: Session) -> None:
    warm = 0 if session.large else 1
    title = (f"BS2: the first commit of the whole tree ({len(session.truth):,} files), which are in the page cache; "
             f"{'no round to warm up, and contenders that take long run once' if session.large else 'first round dropped'}.")
    contenders = [c for c in session.contenders if c.name != "git-commit-a"]  # -a adds nothing new
    owners = unchanging(contenders)
    sharers = [c for c in contenders if c not in owners]
    with session.suite("bs2", title, contenders) as suite:
        for turn in range(warm + session.rounds):
            # Those that share a place go first: the repository of its owner is what later rows work in.
            for contender in [*sharers, *(owners if turn % 2 == 0 else reversed(owners))]:
                if turn > 0 and session.large and (contender.slow or contender in sharers):
                    continue
                session.attempt(suite, contender, lambda c=contender: _first_commit(session, c), turn >= warm)


def _first_commit(session: Session, contender: Contender) -> dict[str, float]:
    contender.set_aside(session.next())
    contender.init()
    os.sync()
    cost, _ = session.runner.measure(contender.first_commit())
    require_committed(contender, session.truth)
    require_clean(session, contender)
    return {**cost.metrics(), "store_mb": contender.store_bytes() / 1e6}


def prepare(session: Session) -> None:
    """The state after BS2, for a run without it."""
    suite = Suite("first commit", "")
    for contender in unchanging(session.contenders):
        session.attempt(suite, contender, lambda c=contender: _first_commit(session, c), keep=False)


# --- BS1

def status(session: Session) -> None:
    contenders = unchanging(session.contenders)
    edits = trees.editable(session.truth, session.rounds + 1)
    directories = sorted({os.path.dirname(path) for path in session.truth})
    new = [os.path.join(directories[i * len(directories) // 100], b"bench-new-%03d.txt" % i) for i in range(100)]

    def clean(contender: Contender) -> dict[str, float]:
        cost, printed = session.runner.measure(contender.status())
        require_status(contender, printed, set())
        return cost.metrics()

    def edited(contender: Contender, turn: int) -> dict[str, float]:
        path = edits[turn]
        content = original(session, path)
        write(contender, path, content + b"\nedited\n")
        settle()
        cost, printed = session.runner.measure(contender.status())
        require_status(contender, printed, {path})
        write(contender, path, content)
        settle()
        require_clean(session, contender)
        return cost.metrics()

    def with_new(contender: Contender) -> dict[str, float]:
        tree = os.fsencode(contender.tree)
        for path in new:
            with open(os.path.join(tree, path), "wb") as file:
                file.write(b"new " + path + b"\n")
        settle()
        try:
            cost, printed = session.runner.measure(contender.status())
            require_status(contender, printed, set(new))
        finally:
            for path in new:
                os.unlink(os.path.join(tree, path))
        settle()
        require_clean(session, contender)
        return cost.metrics()

    files = f"{len(session.truth):,} files"
    with session.suite("bs1-clean", f"BS1: status, nothing changed, {files}.", contenders) as suite:
        for _, contender, counts in session.turns(contenders):
            session.attempt(suite, contender, lambda c=contender: clean(c), counts)
        count_system_calls(session, suite, contenders, lambda contender: contender.status())
    with session.suite("bs1-edit", f"BS1: status after one edit, of another file each round, {files}.", contenders) as suite:
        for turn, contender, counts in session.turns(contenders):
            session.attempt(suite, contender, lambda c=contender, t=turn: edited(c, t), counts)
    with session.suite("bs1-new", f"BS1: status with 100 new files in as many directories, {files}.", contenders) as suite:
        for _, contender, counts in session.turns(contenders):
            session.attempt(suite, contender, lambda c=contender: with_new(c), counts)


def count_system_calls(session: Session, suite: Suite, contenders: list[Contender],
                       commands: Callable[[Contender], list[Command]]) -> None:
    """In a run of its own, for weft and the two git set-ups that differ in them."""
    for contender in contenders:
        if contender.name in ("weft", "git", "git-tuned") and contender.name not in suite.errors:
            try:
                calls = session.runner.count_system_calls(commands(contender))
            except Failed as error:
                suite.notes.append(f"system calls of {contender.name} not counted: {error}")
                continue
            if calls is not None and contender.name in suite.rounds:
                suite.rounds[contender.name][-1]["system_calls"] = calls


# --- BS3

def commit_edit(session: Session, row: str = "bs3", about: str = "") -> None:
    about = about or f"{len(session.truth):,} files, short history"
    everyone = session.contenders
    by_path = [c for c in everyone if c.name != "git-commit-a"]
    edits = iter(trees.editable(session.truth, 4 * (session.rounds + 2)))

    def edit(contender: Contender, path: bytes) -> tuple[str, bytes]:
        number = session.next()
        content = original(session, path) + b"\nedit %d\n" % number
        write(contender, path, content)
        settle()
        return f"Edit {number}", content

    def commit(contender: Contender, path: bytes, alone: bool) -> dict[str, float]:
        message, content = edit(contender, path)
        name = path.decode()
        cost, _ = session.runner.measure(contender.commit_path(message, name) if alone else contender.commit_all(message))
        require(contender.message() == message, contender, f"the last commit is not {message!r} but {contender.message()!r}")
        require(contender.content(name) == content, contender, f"the commit does not hold the edit of {name}")
        return cost.metrics()

    for suffix, title, contenders, alone in (("all", "of whatever changed", everyone, False),
                                             ("path", "of the named file", by_path, True)):
        with session.suite(f"{row}-{suffix}", f"BS3: commit {title}, one edit, of another file each round; {about}.",
                           contenders) as suite:
            paths = [next(edits) for _ in range(session.rounds + 2)]
            os.sync()
            for turn, contender, counts in session.turns(contenders):
                session.attempt(suite, contender, lambda c=contender, t=turn: commit(c, paths[t], alone), counts)

            def counted(contender: Contender) -> list[Command]:
                message, _ = edit(contender, paths[-1])
                return contender.commit_path(message, paths[-1].decode()) if alone else contender.commit_all(message)

            count_system_calls(session, suite, contenders, counted)
            for contender in unchanging(contenders):
                session.attempt(suite, contender, lambda c=contender: _nothing_left(session, c), keep=False)


def _nothing_left(session: Session, contender: Contender) -> None:
    """After many commits: nothing is uncommitted, and no file was lost on the way."""
    require_clean(session, contender)
    require_committed(contender, session.truth)


# --- BS5

def checkout(session: Session) -> None:
    contenders = unchanging(session.contenders)
    warm = 0 if session.large else 1
    title = (f"BS5: checkout of the whole tree ({len(session.truth):,} files) into a new directory beside the same store; "
             f"{'no round to warm up; slow contenders run once' if session.large else 'first round dropped'}.")
    with session.suite("bs5-checkout", title, contenders) as suite:
        for _, contender, counts in session.turns(contenders, warm):
            session.attempt(suite, contender, lambda c=contender: _checkout(session, c), counts)


def _checkout(session: Session, contender: Contender) -> dict[str, float]:
    to = contender.place / f"checkout{session.next()}"
    os.sync()
    cost, _ = session.runner.measure(contender.checkout(to))
    found = trees.survey(to)
    expected = trees.survey(contender.tree)
    require(found == expected, contender, f"the checkout differs: {trees.difference(expected, found)}")
    if contender.name not in session.checkouts_checked:
        require(trees.same_content(contender.tree, to), contender, "the checkout's content differs")
        session.checkouts_checked.add(contender.name)
    return cost.metrics()


def switch(session: Session) -> None:
    contenders = unchanging(session.contenders)
    count = min(1000, len(session.truth) // 3)
    changed = trees.editable(session.truth, count)
    edited = [path for i, path in enumerate(changed) if i % 20 not in (0, 10)]
    deleted = [path for i, path in enumerate(changed) if i % 20 == 0]
    renamed = [path for i, path in enumerate(changed) if i % 20 == 10]
    at_main: dict[str, trees.Survey] = {}
    at_far: dict[str, trees.Survey] = {}

    def make_far(contender: Contender) -> None:
        at_main[contender.name] = trees.survey(contender.tree)
        contender.branch("far")
        tree = os.fsencode(contender.tree)
        for path in edited:
            with open(os.path.join(tree, path), "ab") as file:
                file.write(b"\nfar away\n")
        for path in deleted:
            os.unlink(os.path.join(tree, path))
        for path in renamed:
            with open(os.path.join(tree, os.path.dirname(path), b"far-" + os.path.basename(path)), "wb") as file:
                file.write(b"only there: " + path + b"\n")
            os.unlink(os.path.join(tree, path))
        settle()
        session.runner.measure(contender.commit_all("Far"))
        require_clean(session, contender)
        at_far[contender.name] = trees.survey(contender.tree)

    def back_and_forth(contender: Contender) -> dict[str, float]:
        costs: list[Cost] = []
        for version, expected in (("main", at_main), ("far", at_far)):
            os.sync()
            cost, _ = session.runner.measure(contender.go(version))
            found = trees.survey(contender.tree)
            require(found == expected[contender.name], contender,
                    f"after the switch to {version}: {trees.difference(expected[contender.name], found)}")
            require_clean(session, contender)
            costs.append(cost)
        metrics = {key: statistics.fmean(cost.metrics()[key] for cost in costs) for key in costs[0].metrics()}
        return {**metrics, "peak_mb": max(cost.peak_mb for cost in costs), "back_ms": costs[0].wall_ms, "there_ms": costs[1].wall_ms}

    title = (f"BS5: switch between two versions {count:,} files apart ({len(edited)} edited, {len(deleted)} deleted, "
             f"{len(renamed)} replaced by another), back and forth; the mean of both, {len(session.truth):,} files.")
    with session.suite("bs5-switch", title, contenders) as suite:
        for contender in contenders:
            session.attempt(suite, contender, lambda c=contender: make_far(c), keep=False)
        for _, contender, counts in session.turns(contenders):
            session.attempt(suite, contender, lambda c=contender: back_and_forth(c), counts)
        for contender in contenders:
            session.attempt(suite, contender, lambda c=contender: _verify_whole(session, c), keep=False)


def _verify_whole(session: Session, contender: Contender) -> None:
    """weft: its own check of everything it stored."""
    if contender.name == "weft":
        contender.ask("verify")
