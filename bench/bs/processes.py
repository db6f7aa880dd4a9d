"""BS8: 32 launchers, a process per commit, each in a workspace of its own. bw2c measures it; this takes its numbers along."""

import json
import pathlib
import subprocess

from process import Failed
from report import Suite

CONTENDERS = ["weft-workspaces", "bare", "git-worktrees", "git-worktrees-defaults", "git-one-worktree"]


def run(programs: pathlib.Path, scratch: pathlib.Path, rounds: int, settings: dict[str, str], seconds: float = 3) -> Suite:
    results = scratch / "bw2c"
    done = subprocess.run([str(programs / "bw2c"), "--only", ",".join(CONTENDERS), "--rounds", str(rounds), "--seconds",
                           str(seconds), "--dir", str(scratch), "--name", "bs8", "--results", str(results)],
                          stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1) or not (results / "bs8.json").exists():
        raise Failed("bw2c did not run")
    made = json.loads((results / "bs8.json").read_text())
    for name in CONTENDERS:
        settings[name] = made["settings"][name]
    (one,) = made["suites"]
    probe = one["fdatasync_probe_us"]
    return Suite("bs8", "BS8: 32 launchers for {:g} s, a commit of one small file each time, a workspace or worktree each; "
                 "a new store each round.".format(seconds), key="per_second", higher_is_better=True,
                 contenders=one["contenders"], rounds=one["rounds"] or {}, errors=one["errors"] or {}, probe=probe,
                 notes=["git needs two processes a commit, `git add -A` and `git commit`.",
                        "git-one-worktree, no peer but a remark: 32 processes commit a file each in one checkout; `failed` "
                        "counts those refused because of index.lock or HEAD.lock, or because another commit took their file along."])
