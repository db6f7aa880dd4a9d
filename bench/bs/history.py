"""BS3 and BS4 after a long history, BS6 import and export.

The long history is generated once as a stream for `git fast-import`, and imported into weft: both hold the same commits,
trees and files. By default 100,000 commits of 10 edits each over 80,000 files: 1,000,000 ops and more. One file, the
traveller, is edited every 1,000th commit and renamed or moved in ten others; what `log` of it must list is therefore known.
No history of 10,000 and more commits can be had from package registries, which carry no .git; BS6 therefore imports this
repository's own and a generated one.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

import rows
import trees
from contender import Contender, require
from git import Git, GitTuned
from process import Command, Cost, Failed, Runner
from report import Suite
from weft import Weft

FILES_A_DIRECTORY = 100
EDITS_A_COMMIT = 10
RENAMES = 10
TRAVELLER_EDITS = 100
IMPORT_COMMITS, IMPORT_FILES = 20_000, 2_000


class Plan:
    """Which commit does what; the same for the same sizes."""

    def __init__(self, commits: int, files: int):
        self.commits = commits
        self.files = files
        self.directories = max(1, files // FILES_A_DIRECTORY)
        step = max(2, commits // TRAVELLER_EDITS)
        self.edit_every = step
        self.renames = {commits * (i + 1) // (RENAMES + 1) // step * step + step // 2: i for i in range(RENAMES)}

    def path(self, file: int) -> str:
        directory = file // FILES_A_DIRECTORY % self.directories
        return f"top{directory % 20:02d}/sub{directory // 20:03d}/file{file % FILES_A_DIRECTORY:03d}-{file}.txt"

    def traveller(self, renames: int) -> str:
        return f"top{renames % 20:02d}/traveller-{renames // 2}.txt" if renames else "traveller.txt"

    def traveller_log(self) -> int:
        """How many commits touch it: the first, the edits, the renames."""
        return 1 + sum(1 for n in range(1, self.commits) if n % self.edit_every == 0 or n in self.renames)

    def stream(self) -> Iterator[bytes]:
        travelled = 0
        story = ["A file that travels."]
        for n in range(self.commits):
            when = 1_400_000_000 + n * 300
            author = f"Writer {n % 40} <writer{n % 40}@example.org> {when} +0200"
            message = f"Commit {n}: what writer {n % 40} did\n"
            out = [f"commit refs/heads/main\nauthor {author}\ncommitter {author}\ndata {len(message)}\n{message}"]
            if n == 0:
                for file in range(self.files):
                    out.append(self._write(self.path(file), _content(file, 0)))
                out.append(self._write(self.traveller(0), "\n".join(story) + "\n"))
            elif n in self.renames:
                out.append(f"R {self.traveller(travelled)} {self.traveller(travelled + 1)}\n")
                travelled += 1
            else:
                base = n * 7919 % self.directories * FILES_A_DIRECTORY
                for i in range(EDITS_A_COMMIT):
                    file = base + (n * 31 + i * 7) % FILES_A_DIRECTORY
                    out.append(self._write(self.path(file), _content(file, n)))
                if n % self.edit_every == 0:
                    story.append(f"Commit {n} saw it in {self.traveller(travelled)}.")
                    out.append(self._write(self.traveller(travelled), "\n".join(story) + "\n"))
            out.append("\n")
            yield "".join(out).encode()
        yield b"done\n"

    def here(self) -> str:
        return self.traveller(RENAMES)

    @staticmethod
    def _write(path: str, content: str) -> str:
        return f"M 100644 inline {path}\ndata {len(content)}\n{content}\n"


def _content(file: int, commit: int) -> str:
    return f"file {file}\nas of commit {commit}\n" + "".join(f"line {i} of {file * 2654435761 % 2**32:08x}\n" for i in range(12))


def make_git(plan: Plan, repository: pathlib.Path) -> None:
    subprocess.run(["/usr/bin/git", "init", "-q", "--bare", "-b", "main", str(repository)], check=True)
    importer = subprocess.Popen(["/usr/bin/git", "-C", str(repository), "fast-import", "--quiet", "--done"],
                                stdin=subprocess.PIPE)
    for part in plan.stream():
        importer.stdin.write(part)
    importer.stdin.close()
    if importer.wait() != 0:
        raise Failed("git fast-import failed")
    # As after a clone or `git gc`: one well-packed pack.
    subprocess.run(["/usr/bin/git", "-C", str(repository), "repack", "-q", "-a", "-d"], check=True)


def made_once(runner: Runner, cache: pathlib.Path, plan: Plan) -> tuple[pathlib.Path, pathlib.Path]:
    """The history as a git repository, and as a store that this very weft imported from it (`.weft` in a directory)."""
    repository = cache / f"history-{plan.commits}-{plan.files}.git"
    cache.mkdir(parents=True, exist_ok=True)
    if not repository.exists():
        print(f"making {repository}", file=sys.stderr, flush=True)
        _in_one_step(repository, lambda staging: make_git(plan, staging))
    digest = _digest(pathlib.Path(Weft.binary), pathlib.Path(Weft.binary).with_name("weft-git"))
    store = cache / f"history-{plan.commits}-{plan.files}-{digest}"
    if not store.exists():
        print(f"making {store}", file=sys.stderr, flush=True)

        def fill(staging: pathlib.Path) -> None:
            staging.mkdir()
            runner.quiet(Command((Weft.binary, "init"), str(staging)))
            runner.quiet(Command((Weft.binary, "git", "import", str(repository)), str(staging)))

        for older in cache.glob(f"history-{plan.commits}-{plan.files}-????????????"):
            shutil.rmtree(older)  # made by a weft that is no more
        _in_one_step(store, fill)
    return repository, store


def _digest(*programs: pathlib.Path) -> str:
    return hashlib.sha256(b"".join(program.read_bytes() for program in programs)).hexdigest()[:12]


def _in_one_step(place: pathlib.Path, make: Callable[[pathlib.Path], None]) -> None:
    """What was interrupted is never taken for whole."""
    staging = place.with_name(f"making-{os.getpid()}-{place.name}")
    make(staging)
    staging.rename(place)


def open_histories(session: rows.Session, repository: pathlib.Path, imported: pathlib.Path) -> None:
    """Each contender's copy of the history, checked out."""
    for contender in rows.unchanging(session.contenders):
        contender.place.mkdir(parents=True)
        if isinstance(contender, Weft):
            store = contender.place / "store"
            store.mkdir()
            trees.copy(imported / ".weft", store / ".weft")
            session.runner.quiet(contender.command("workspace", "add", "bench", "--path", str(contender.tree), cwd=store))
        else:
            trees.copy(repository, contender.place / "repository")
            session.runner.quiet(Command(("/usr/bin/git", "clone", "-q", "--no-checkout", "--local", "-c", "gc.auto=0", "-c",
                                          "user.name=Bench", "-c", "user.email=bench@example.org",
                                          str(contender.place / "repository"), str(contender.tree)), str(contender.place)))
            if isinstance(contender, GitTuned):
                for key, value in (("feature.manyFiles", "true"), ("core.untrackedCache", "true")):
                    contender.ask("config", key, value)
                contender.ask("commit-graph", "write", "--reachable", "--changed-paths")
            contender.ask("checkout", "-q", "main")


class LongHistory(rows.Session):
    def __init__(self, runner: Runner, root: pathlib.Path, cache: pathlib.Path, rounds: int, kinds: list[type], plan: Plan):
        repository, imported = made_once(runner, cache, plan)
        master = root / "master"
        subprocess.run(["/usr/bin/git", "clone", "-q", str(repository), str(master)], check=True)
        shutil.rmtree(master / ".git")
        super().__init__(runner, root, master, rounds)
        self.plan = plan
        self.repository = repository
        self.contenders = [kind(runner, root) for kind in kinds if kind is Weft or issubclass(kind, Git)]
        open_histories(self, repository, imported)


def run(runner: Runner, scratch: pathlib.Path, cache: pathlib.Path, source: pathlib.Path, kinds: list[type],
        wanted: list[str], rounds: int, commits: int, files: int, notes: list[str]) -> tuple[list[Suite], dict[str, str]]:
    suites: list[Suite] = []
    settings = {kind.name: kind.settings for kind in kinds if kind is Weft or issubclass(kind, Git)}
    if any(row in wanted for row in ("bs3", "bs4")):
        plan = Plan(commits, files)
        root = scratch / "long"
        root.mkdir()
        session = LongHistory(runner, root, cache, max(rounds, min(5, rounds + 2)), kinds, plan)
        ops = (commits - 1) * EDITS_A_COMMIT + files
        notes.append(f"The long history: {commits:,} commits, about {ops:,} ops, {files:,} files; the others than git and weft "
                     "are left out of it: converting takes them hours.")
        if "bs4" in wanted:
            looks(session, plan)
        if "bs3" in wanted:
            rows.commit_edit(session, "bs3-long", f"{files:,} files, after {commits:,} commits with about {ops:,} ops")
        suites += session.suites
    if "bs4" in wanted:
        suites += looks_at_merges(runner, cache, max(rounds, min(5, rounds + 2)), commits)
    if "bs6" in wanted:
        suites += imports(runner, scratch, cache, source, rounds, settings)
    return suites, settings


# --- BS4

def looks(session: LongHistory, plan: Plan) -> None:
    contenders = rows.unchanging(session.contenders)

    def row(id: str, title: str, words: dict[str, tuple[str, ...]], fits: Callable[[bytes], bool]) -> None:
        with session.suite(id, title, contenders) as suite:
            def once(contender: Contender) -> dict[str, float]:
                family = "weft" if contender.name.startswith("weft") else "git"
                cost, printed = session.runner.measure([contender.command(*words[family])])
                require(fits(printed), contender, f"{id}: it printed something else: {printed[:200]!r}")
                return cost.metrics()

            for _, contender, counts in session.turns(contenders):
                session.attempt(suite, contender, lambda c=contender: once(c), counts)
            rows.count_system_calls(session, suite, contenders, lambda contender: [contender.command(
                *words["weft" if contender.name.startswith("weft") else "git"])])

    last = plan.commits - 1
    subjects = [b"Commit %d:" % (last - i) for i in range(20)]
    row("bs4-log", "BS4: log -n 20 at the end of the long history.",
        {"weft": ("log", "-n", "20"), "git": ("log", "-n", "20")},
        lambda printed: all(subject in printed for subject in subjects) and printed.count(b"Commit ") == 20)
    back = 5_000 if plan.commits > 20_000 else plan.commits // 4
    shown = last - back
    while shown in plan.renames or shown % plan.edit_every == 0:
        shown -= 1
    names = _names(session, shown)
    row("bs4-show", f"BS4: show of a change {last - shown:,} back, by its id, with its patch.",
        {"weft": ("show", names.get("weft", "")), "git": ("show", names["git"])},
        lambda printed: b"Commit %d:" % shown in printed and printed.count(b"\n+as of commit %d\n" % shown) == EDITS_A_COMMIT)
    expected = plan.traveller_log()
    row("bs4-file", f"BS4: log of one file across {RENAMES} renames, {expected} commits of {plan.commits:,} "
        "(weft log FILE, git log --follow -- FILE).",
        {"weft": ("log", plan.here()), "git": ("log", "--follow", "--", plan.here())},
        lambda printed: printed.count(b"Commit ") == expected)
    row("bs4-file-20", "BS4: the newest 20 of them.",
        {"weft": ("log", "-n", "20", plan.here()), "git": ("log", "-n", "20", "--follow", "--", plan.here())},
        lambda printed: printed.count(b"Commit ") == 20)


def _names(session: LongHistory, commit: int) -> dict[str, str]:
    """The id of a commit, to each."""
    back = session.plan.commits - 1 - commit
    sha = session.runner.quiet(Command(("/usr/bin/git", "-C", str(session.repository), "rev-parse", f"main~{back}"), "/")).decode().strip()
    out = {"git": sha}
    for contender in session.contenders:
        if isinstance(contender, Weft):
            out["weft"] = json.loads(contender.ask("log", "-n", "1", "--json", f"git:{sha}"))["data"]["changes"][0]["id"]
    return out


def looks_at_merges(runner: Runner, cache: pathlib.Path, rounds: int, commits: int) -> list[Suite]:
    """weft alone, on a history with a merge in every hundred changes and a file renamed a hundred times (make_history)."""
    name = f"merges-{commits}-{_digest(runner.programs / 'make_history', pathlib.Path(Weft.binary))}"
    place = cache / name
    if not place.exists():
        print(f"making {place}", file=sys.stderr, flush=True)

        def fill(staging: pathlib.Path) -> None:
            staging.mkdir()
            made = runner.quiet(Command((str(runner.programs / "make_history"), str(staging / "store"), str(commits),
                                         str(EDITS_A_COMMIT)), "/"))
            (staging / "printed").write_bytes(made)

        for older in cache.glob(f"merges-{commits}-????????????"):
            shutil.rmtree(older)
        _in_one_step(place, fill)
    found = re.search(r"^follow (.+) (\d+)$", (place / "printed").read_text(), re.MULTILINE)
    path, expected = found.group(1), int(found.group(2))
    suites = []
    for id, title, words, fits in (
            ("log", "log -n 20", ("log", "-n", "20"), lambda changes: len(changes) == 20),
            ("file", f"log of one file across 100 renames, {expected} changes", ("log", path), lambda changes: len(changes) == expected)):
        suite = Suite(f"bs4-merges-{id}", f"BS4: {title}; a history of {commits:,} changes, one in a hundred a merge; weft alone.",
                      contenders=["weft"])
        command = Command((Weft.binary, *words), str(place / "store"))
        listed = json.loads(runner.quiet(Command((*command.argv, "--json"), command.cwd)))["data"]["changes"]
        if not fits(listed):
            suite.errors["weft"] = f"{len(listed)} changes listed"
        else:
            for turn in range(1 + rounds):
                cost, _ = runner.measure([command])
                if turn > 0:
                    suite.add("weft", cost.metrics())
        suites.append(suite)
    return suites


# --- BS6

def imports(runner: Runner, scratch: pathlib.Path, cache: pathlib.Path, source: pathlib.Path, rounds: int,
            settings: dict[str, str]) -> list[Suite]:
    settings["weft git import"] = "into a new store, whose workspace then has the files checked out"
    settings["weft git export"] = "of that store into a new repository; must give every ref the commit id it had"
    settings["git rewrite"] = "git fast-export --all | git fast-import: what reading and writing all of it costs git itself"
    plan = Plan(IMPORT_COMMITS, IMPORT_FILES)
    generated = cache / f"import-{plan.commits}-{plan.files}.git"
    if not generated.exists():
        _in_one_step(generated, lambda staging: make_git(plan, staging))
    own = scratch / "own.git"
    subprocess.run(["/usr/bin/git", "clone", "-q", "--mirror", str(source), str(own)], check=True)
    return [_import(runner, scratch, repository, id, what, rounds)
            for id, what, repository in (("bs6-generated", "a generated history", generated),
                                         ("bs6-own", "this repository's own history", own))]


def _import(runner: Runner, scratch: pathlib.Path, repository: pathlib.Path, id: str, what: str, rounds: int) -> Suite:
    git = ("/usr/bin/git", "-C", str(repository))
    commits = int(runner.quiet(Command((*git, "rev-list", "--count", "--branches", "--tags"), "/")))
    refs = _refs(runner, repository)
    suite = Suite(id, f"BS6: git import of {what}, {commits:,} commits, into a new store, and export back, bit for bit; "
                  "no round to warm up.", contenders=["weft git import", "weft git export", "git rewrite"])
    exports = b"git export" in runner.quiet(Command((Weft.binary, "git", "--help"), "/"))
    if not exports:
        suite.notes.append("This weft has no `git export`.")
    for number in range(rounds):
        place = scratch / f"{id}-{number}"
        place.mkdir()
        for contender in suite.contenders:
            if contender in suite.errors or (contender == "weft git export" and not exports):
                continue
            os.sync()
            try:
                cost = _import_turn(runner, contender, place, repository, commits, refs)
            except (Failed, OSError) as error:
                suite.errors[contender] = str(error)
                print(f"{id} {contender} FAILED: {error}", file=sys.stderr, flush=True)
                continue
            suite.add(contender, {**cost.metrics(), "commits_per_second": commits / cost.wall_ms * 1e3})
            print(f"{id} {contender:16} {cost.wall_ms:10.1f} wall_ms", file=sys.stderr, flush=True)
    return suite


def _import_turn(runner: Runner, contender: str, place: pathlib.Path, repository: pathlib.Path, commits: int,
                 refs: dict[str, str]) -> Cost:
    store, exported, rewritten = place / "weft", place / "exported.git", place / "rewritten.git"
    if contender == "weft git import":
        store.mkdir()
        runner.quiet(Command((Weft.binary, "init"), str(store)))
        cost, _ = runner.measure([Command((Weft.binary, "git", "import", str(repository)), str(store))])
        changes = json.loads(runner.quiet(Command((Weft.binary, "info", "--json"), str(store))))["data"]["changes"]
        if changes != commits:
            raise Failed(f"{changes} changes of {commits} commits")
        return cost
    if contender == "weft git export":
        cost, _ = runner.measure([Command((Weft.binary, "git", "export", str(exported)), str(store))])
        return _require_refs(runner, exported, refs, cost)
    script = (f"git init -q --bare '{rewritten}' && git -C '{repository}' fast-export --all --signed-tags=verbatim "
              f"--reencode=no | git -C '{rewritten}' fast-import --quiet")
    cost, _ = runner.measure([Command(("/bin/sh", "-c", script), str(place))])
    return _require_refs(runner, rewritten, refs, cost)


def _refs(runner: Runner, repository: pathlib.Path) -> dict[str, str]:
    printed = runner.quiet(Command(("/usr/bin/git", "-C", str(repository), "for-each-ref", "refs/heads", "refs/tags",
                                    "--format=%(refname) %(objectname)"), "/")).decode()
    return dict(line.split() for line in printed.splitlines())


def _require_refs(runner: Runner, repository: pathlib.Path, refs: dict[str, str], cost: Cost) -> Cost:
    found = _refs(runner, repository)
    wrong = [ref for ref, target in refs.items() if found.get(ref) != target]
    if wrong:
        raise Failed(f"not bit for bit: {len(wrong)} of {len(refs)} refs differ or are missing, such as {wrong[0]}")
    runner.quiet(Command(("/usr/bin/git", "-C", str(repository), "fsck", "--strict", "--no-dangling"), "/"))
    return cost
