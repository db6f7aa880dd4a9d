"""bs: working trees. weft's release binary against git, Mercurial, Fossil and Jujutsu, each run as a process, as a user would.

One --tree a run: a real tree (BS1, BS2, BS3, BS5), or `history`: what depends on history and not on a tree (BS3 and BS4
after 1,000,000 ops, BS6 import and export, BS8 processes). Results: results/bs-TREE.json and .md.
"""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import tempfile

import history
import machine
import others
import processes
import report
import rows
import trees
from git import Git, GitCommitAll, GitDefaults, GitFlushEach, GitTuned
from process import Failed, Runner
from weft import Weft

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONTENDERS = [Weft, Git, GitTuned, GitCommitAll, GitDefaults, GitFlushEach, others.Jujutsu, others.Mercurial, others.Fossil]
TREE_ROWS = ["bs2", "bs1", "bs3", "bs5"]  # in this order: the first commit makes what the others work on
HISTORY_ROWS = ["bs4", "bs3", "bs6", "bs8"]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", default="self", help="linux, node_modules, self, history, or a directory (default: self)")
    parser.add_argument("--rounds", type=int, default=3, help="that count; short commands run two more (default: 3)")
    parser.add_argument("--only", default="", help="rows: BS1,BS5")
    parser.add_argument("--contenders", default="", help="default: all that are installed, of " + ", ".join(c.name for c in CONTENDERS))
    parser.add_argument("--name", help="of the results (default: bs-TREE)")
    parser.add_argument("--no-results", action="store_true", help="print tables, write nothing")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path(os.environ.get("WEFT_BENCH_DIR") or "/var/tmp"),
                        help="where the working directory is made (default: $WEFT_BENCH_DIR or /var/tmp)")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(os.environ.get("WEFT_BENCH_CACHE") or pathlib.Path.home() / ".cache/weft-bench"),
                        help="where fetched trees and made histories stay (default: $WEFT_BENCH_CACHE or ~/.cache/weft-bench)")
    parser.add_argument("--history", default="100000:80000", help="commits:files of the long history (default: 100000:80000)")
    parser.add_argument("--results", type=pathlib.Path, default=SOURCE / "bench/results")
    parser.add_argument("--weft", type=pathlib.Path, default=SOURCE / "build/release/weft")
    parser.add_argument("--jj", default=os.environ.get("JJ") or shutil.which("jj") or str(pathlib.Path.home() / ".cargo/bin/jj"))
    parser.add_argument("--self-check", action="store_true", help="does the suite fail contenders that are wrong? Seconds.")
    parser.add_argument("--programs", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def installed(kind: type, notes: list[str]) -> bool:
    if issubclass(kind, Git) or kind is Weft or os.access(kind.binary, os.X_OK):
        return True
    notes.append(f"{kind.name} is not installed and was left out.")
    return False


def chosen(arguments: argparse.Namespace, notes: list[str]) -> list[type]:
    Weft.binary = str(arguments.weft.resolve())
    others.Jujutsu.binary = arguments.jj
    if not os.access(Weft.binary, os.X_OK):
        raise SystemExit(f"bs: no {Weft.binary}: ./dev build release")
    kinds = CONTENDERS
    if arguments.contenders:
        wanted = arguments.contenders.split(",")
        if unknown := set(wanted) - {kind.name for kind in CONTENDERS}:
            raise SystemExit(f"bs: no such contender: {', '.join(sorted(unknown))}")
        kinds = [kind for kind in CONTENDERS if kind.name in wanted]
    return [kind for kind in kinds if installed(kind, notes)]


def wanted_rows(only: str, known: list[str]) -> list[str]:
    asked = [row.strip().lower() for row in only.split(",") if row.strip()]
    if unknown := [row for row in asked if row not in known]:
        raise SystemExit(f"bs: this tree has {', '.join(known)}, not {', '.join(unknown)}")
    return [row for row in known if not asked or row in asked]


def run_tree(arguments: argparse.Namespace, runner: Runner, root: pathlib.Path, notes: list[str]) -> rows.Session:
    wanted = wanted_rows(arguments.only, TREE_ROWS)
    master = root / "master"
    trees.make_master(arguments.tree, arguments.cache, SOURCE, master)
    session = rows.Session(runner, root, master, arguments.rounds)
    for kind in chosen(arguments, notes):
        session.add(kind)
    size = sum(entry[1] for entry in session.truth.values() if entry[0] != "link")
    notes.append(f"The tree: {len(session.truth):,} files and links, {size / 1e6:,.0f} MB.")
    if "bs2" in wanted:
        rows.first_commit(session)
    else:
        rows.prepare(session)
    session.rounds = max(arguments.rounds, min(5, arguments.rounds + 2))  # short ones
    if "bs1" in wanted:
        rows.status(session)
    if "bs3" in wanted:
        rows.commit_edit(session)
    session.rounds = arguments.rounds
    if "bs5" in wanted:
        rows.checkout(session)
        session.rounds = max(arguments.rounds, min(5, arguments.rounds + 2))
        rows.switch(session)
    return session


def measure(arguments: argparse.Namespace, scratch: pathlib.Path) -> bool:
    runner = Runner(scratch, arguments.programs)
    notes: list[str] = []
    facts = machine.facts(scratch, SOURCE)
    name = arguments.name or f"bs-{arguments.tree if '/' not in arguments.tree else pathlib.Path(arguments.tree).name}"
    if arguments.tree == "history":
        wanted = wanted_rows(arguments.only, HISTORY_ROWS)
        commits, files = map(int, arguments.history.split(":"))
        suites, settings = history.run(runner, scratch, arguments.cache, SOURCE, chosen(arguments, notes), wanted,
                                       arguments.rounds, commits, files, notes)
        if "bs8" in wanted:
            suites.append(processes.run(arguments.programs, scratch, arguments.rounds, settings))
    else:
        session = run_tree(arguments, runner, scratch, notes)
        suites = session.suites
        settings = {contender.name: contender.settings for contender in session.contenders}
    words = [word for i, word in enumerate(sys.argv[1:]) if word != "--programs" and (i == 0 or sys.argv[i] != "--programs")]
    command = " ".join(["./dev bench bs", *words])
    for suite in suites:
        print(report.suite_markdown(suite))
    if not arguments.no_results:
        report.write(name, command, facts, settings, suites, notes, arguments.results)
    return not any(suite.errors for suite in suites)


def main() -> int:
    arguments = options()
    if arguments.rounds < 1:
        raise SystemExit("bs: --rounds is at least 1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the scratch directory goes away then, too
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="weft-bench-", dir=arguments.dir.resolve()))
    try:
        if arguments.self_check:
            import self_check
            chosen(arguments, [])
            return self_check.run(Runner(scratch, arguments.programs), scratch)
        return 0 if measure(arguments, scratch) else 1
    except Failed as error:
        print(f"bs: {error}", file=sys.stderr)
        return 1
    finally:
        # A file system made for this run goes away as a whole (bench/loop_ext4.sh).
        if not os.environ.get("WEFT_BENCH_DISPOSABLE"):
            assert scratch.is_absolute() and scratch.name.startswith("weft-bench-")
            shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
