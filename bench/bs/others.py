"""Mercurial, Fossil and Jujutsu, where they are installed."""

import pathlib

from contender import Contender, matches
from process import Command


class Mercurial(Contender):
    name = "hg"
    settings = ("Debian's Mercurial, its defaults (dirstate-v1, no rhg in the package, no chg server) with the share extension; "
                "it flushes nothing")
    metadata = (".hg",)
    slow = True
    binary = "/usr/bin/hg"

    def command(self, *words: str, cwd: pathlib.Path | None = None) -> Command:
        return Command((self.binary, *words), str(cwd or self.tree))

    def init(self) -> None:
        self.ask("init")
        (self.tree / ".hg/hgrc").write_text("[ui]\ninteractive = no\n")

    def first_commit(self) -> list[Command]:
        return [self.command("commit", "-q", "-A", "-m", "Everything"), self.command("bookmark", "main")]

    def commit_all(self, message: str) -> list[Command]:
        return [self.command("commit", "-q", "-A", "-m", message)]

    def commit_path(self, message: str, path: str) -> list[Command]:
        return [self.command("commit", "-q", "-m", message, path)]

    def status(self) -> list[Command]:
        return [self.command("status")]

    def checkout(self, to: pathlib.Path) -> list[Command]:
        return [self.command("--config", "extensions.share=", "share", "-q", str(self.tree), str(to), cwd=self.place)]

    def branch(self, name: str) -> None:
        self.ask("bookmark", name)

    def go(self, version: str) -> list[Command]:
        return [self.command("update", "-q", version)]

    def files(self) -> set[bytes]:
        return set(filter(None, self.ask("files", "-0", "-r", ".").split(b"\0")))

    def content(self, path: str) -> bytes:
        return self.ask("cat", "-r", ".", path)

    def message(self) -> str:
        return self.ask("log", "-r", ".", "-T", "{desc|firstline}").decode()

    def changed(self, printed: bytes) -> set[bytes]:
        return matches(rb"^[AMR!?] (.*)$", printed)


class Fossil(Contender):
    name = "fossil"
    settings = ("Debian's Fossil, its defaults but repo-cksum off, symlinks and dot files taken along; "
                "status = `fossil changes --differ`")
    metadata = ("repository.fossil", ".fslckout")
    slow = True
    binary = "/usr/bin/fossil"
    _branch: str | None = None

    def command(self, *words: str, cwd: pathlib.Path | None = None) -> Command:
        return Command((self.binary, *words), str(cwd or self.tree))

    def init(self) -> None:
        repository = str(self.place / "repository.fossil")
        self.ask("init", "-A", "bench", repository)
        for setting, value in (("repo-cksum", "0"), ("allow-symlinks", "1"), ("dotfiles", "1"), ("autosync", "0")):
            self.runner.quiet(self.command("settings", "-R", repository, setting, value, cwd=self.place))
        self.ask("open", "--keep", "--force", "--nosync", repository)

    def commit_all(self, message: str) -> list[Command]:
        branch = ("--branch", self._branch) if self._branch else ()
        self._branch = None
        return [self.command("addremove", "--dotfiles"),
                self.command("commit", "--no-warnings", "--no-prompt", *branch, "-m", message)]

    def commit_path(self, message: str, path: str) -> list[Command]:
        return [self.command("commit", "--no-warnings", "--no-prompt", "-m", message, path)]

    def status(self) -> list[Command]:
        return [self.command("changes", "--differ", "--dotfiles")]

    def checkout(self, to: pathlib.Path) -> list[Command]:
        return [self.command("open", "--nosync", "--workdir", str(to), str(self.place / "repository.fossil"), cwd=self.place)]

    def branch(self, name: str) -> None:
        self._branch = name

    def go(self, version: str) -> list[Command]:
        return [self.command("update", "--nosync", "trunk" if version == "main" else version)]

    def files(self) -> set[bytes]:
        return set(filter(None, self.ask("ls", "-r", "current").split(b"\n")))

    def content(self, path: str) -> bytes:
        return self.ask("cat", path, "-r", "current")

    def message(self) -> str:
        lines = self.ask("info").decode().splitlines()
        comment = next(line for line in lines if line.startswith("comment:"))
        return comment.partition(":")[2].strip().rpartition(" (user:")[0]

    def changed(self, printed: bytes) -> set[bytes]:
        return matches(rb"^(?:EDITED|ADDED|DELETED|MISSING|RENAMED|EXTRA|EXECUTABLE|UNEXEC|SYMLINK|UNLINK) +(.*)$", printed)


class Jujutsu(Contender):
    name = "jj"
    settings = "jj with its git backend, not colocated, snapshot.max-new-file-size=1GiB; status records the working copy"
    metadata = (".jj",)
    slow = True
    binary = "jj"
    _branch: str | None = None

    def command(self, *words: str, cwd: pathlib.Path | None = None) -> Command:
        return Command((self.binary, "--no-pager", "--color=never", "--config", "snapshot.max-new-file-size=1073741824",
                        *words), str(cwd or self.tree))

    def init(self) -> None:
        # Without the working copy: the first snapshot belongs to the first commit.
        self.ask("--config", "snapshot.auto-track=none()", "git", "init", "--no-colocate")

    def first_commit(self) -> list[Command]:
        return [*self.commit_all("Everything"), self.command("bookmark", "create", "--quiet", "main", "-r", "@-")]

    def commit_all(self, message: str) -> list[Command]:
        name, self._branch = self._branch, None
        bookmark = [self.command("bookmark", "create", "--quiet", name, "-r", "@-")] if name else []
        return [self.command("commit", "--quiet", "-m", message), *bookmark]

    def commit_path(self, message: str, path: str) -> list[Command]:
        return [self.command("commit", "--quiet", "-m", message, path)]

    def status(self) -> list[Command]:
        return [self.command("status")]

    def checkout(self, to: pathlib.Path) -> list[Command]:
        return [self.command("workspace", "add", "--quiet", "--name", to.name, "-r", "@-", str(to))]

    def branch(self, name: str) -> None:
        self.ask("bookmark", "set", "--quiet", "main", "-r", "@-")  # a bookmark does not follow commits
        self._branch = name

    def go(self, version: str) -> list[Command]:
        return [self.command("new", "--quiet", version)]

    def files(self) -> set[bytes]:
        return set(filter(None, self.ask("file", "list", "-r", "@-").split(b"\n")))

    def content(self, path: str) -> bytes:
        return self.ask("file", "show", "-r", "@-", path)

    def message(self) -> str:
        return self.ask("log", "--no-graph", "-r", "@-", "-T", "description.first_line()").decode().strip()

    def changed(self, printed: bytes) -> set[bytes]:
        return matches(rb"^[AMDRC] (.*)$", printed)
