"""weft, as a user runs it: the release binary."""

import base64
import json
import pathlib

from contender import Contender, matches
from process import Command


class Weft(Contender):
    name = "weft"
    settings = "as it comes; a commit is durable when it returns"
    metadata = (".weft",)
    binary = ""

    def command(self, *words: str, cwd: pathlib.Path | None = None) -> Command:
        return Command((self.binary, *words), str(cwd or self.tree))

    def init(self) -> None:
        self.ask("init")

    def commit_all(self, message: str) -> list[Command]:
        return [self.command("commit", "-m", message)]

    def commit_path(self, message: str, path: str) -> list[Command]:
        return [self.command("commit", "-m", message, path)]

    def status(self) -> list[Command]:
        return [self.command("status")]

    def checkout(self, to: pathlib.Path) -> list[Command]:
        return [self.command("workspace", "add", to.name, "--path", str(to))]

    def branch(self, name: str) -> None:
        self.ask("switch", "-c", name)

    def go(self, version: str) -> list[Command]:
        return [self.command("switch", version)]

    def files(self) -> set[bytes]:
        out = set()
        for line in self.ask("ls", "-r", "--json-lines").splitlines():
            entry = json.loads(line)["data"]
            if "path" in entry and entry["kind"] != "directory":
                path = entry["path"]
                out.add(base64.b64decode(path["bytes"]) if isinstance(path, dict) else path.encode())
        return out

    def content(self, path: str) -> bytes:
        return self.ask("cat", f"@:{path}")

    def message(self) -> str:
        return json.loads(self.ask("log", "-n", "1", "--json"))["data"]["changes"][0]["message"].splitlines()[0]

    def changed(self, printed: bytes) -> set[bytes]:
        return matches(rb"^[AMDRT] (.*)$", printed)
