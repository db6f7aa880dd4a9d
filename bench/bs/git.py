"""git, in the ways a competent user would set it up.

What git flushes: by its own defaults only packs and commit-graphs (`core.fsync=committed,-loose-object`), so that a commit,
whose objects are loose, is durable when the kernel gets to it. With core.fsync=all every object, the index and refs; with
fsyncMethod=batch, objects of one `git add` are written back first and made durable by one flush at the end (this needs a
journaled file system, as git's documentation says; directories are never flushed, as everywhere in git). The objects that
`git commit` itself writes (trees, the commit) are flushed one by one.

The untracked cache is used; a file-system monitor is not: git 2.39 has no daemon of its own on Linux, and the hook needs
watchman running.
"""

import pathlib

from contender import Contender, matches
from process import Command


class Git(Contender):
    name = "git"
    settings = ("core.fsync=all, core.fsyncMethod=batch (the durability of weft's commit), gc.auto=0, else its defaults; "
                "commit = `git add -A && git commit`")
    metadata = (".git",)
    options: tuple[str, ...] = ("core.fsync=all", "core.fsyncMethod=batch")
    by_itself = False  # `git commit -a` instead of `git add -A && git commit`

    def command(self, *words: str, cwd: pathlib.Path | None = None) -> Command:
        flags = tuple(word for option in self.options for word in ("-c", option))
        return Command(("/usr/bin/git", *flags, *words), str(cwd or self.tree))

    def init(self) -> None:
        self.ask("init", "-q", "-b", "main")
        for key, value in (("user.name", "Bench"), ("user.email", "bench@example.org"), ("gc.auto", "0"),
                           ("advice.detachedHead", "false")):
            self.ask("config", key, value)

    def commit_all(self, message: str) -> list[Command]:
        if self.by_itself:
            return [self.command("commit", "-q", "-a", "-m", message)]
        return [self.command("add", "-A"), self.command("commit", "-q", "-m", message)]

    def commit_path(self, message: str, path: str) -> list[Command]:
        return [self.command("commit", "-q", "-m", message, "--", path)]

    def status(self) -> list[Command]:
        return [self.command("status", "--short")]

    def checkout(self, to: pathlib.Path) -> list[Command]:
        return [self.command("worktree", "add", "-q", "--detach", str(to))]

    def branch(self, name: str) -> None:
        self.ask("switch", "-q", "-c", name)

    def go(self, version: str) -> list[Command]:
        return [self.command("switch", "-q", version)]

    def files(self) -> set[bytes]:
        return set(filter(None, self.ask("ls-tree", "-r", "-z", "--name-only", "HEAD").split(b"\0")))

    def content(self, path: str) -> bytes:
        return self.ask("cat-file", "blob", f"HEAD:{path}")

    def message(self) -> str:
        return self.ask("log", "-1", "--format=%s").decode().strip()

    def changed(self, printed: bytes) -> set[bytes]:
        return matches(rb"^[ AMDRT?]{2} (.*)$", printed)


class GitCommitAll(Git):
    name = "git-commit-a"
    place_name = "git"
    settings = "as git; commit = `git commit -a`, which does not look for new files"
    by_itself = True


class GitTuned(Git):
    name = "git-tuned"
    settings = "as git, with feature.manyFiles (untracked cache, index version 4), checkout.workers=0 (one a processor)"

    def init(self) -> None:
        super().init()
        for key, value in (("feature.manyFiles", "true"), ("core.untrackedCache", "true"), ("checkout.workers", "0")):
            self.ask("config", key, value)


class GitDefaults(Git):
    name = "git-defaults"
    place_name = "git"
    settings = "git's own defaults: objects of a commit, index and refs are not flushed (less than the others give)"
    options = ()


class GitFlushEach(Git):
    name = "git-fsync"
    place_name = "git"
    settings = "core.fsync=all, core.fsyncMethod=fsync: one flush an object"
    options = ("core.fsync=all", "core.fsyncMethod=fsync")
