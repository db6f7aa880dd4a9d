"""The trees that are measured, and what a copy of one must hold.

A tree is fetched once into the cache directory; each run copies it to its scratch directory as the master (the truth that
every contender is checked against) and from there to each contender. The master holds what git would record, so that
contenders with other ignore rules do the same work: what the tree's own .gitignore files leave out, other systems' metadata
and empty directories are taken away.
"""

import os
import pathlib
import re
import shutil
import subprocess

METADATA = {b".git", b".weft", b".hg", b".jj", b".fslckout", b"_FOSSIL_"}

# Well-known packages with large trees of dependencies; versions pinned, and --ignore-scripts: only files.
NODE_PACKAGES = {
    "@angular/cli": "17.3.8", "@angular/core": "17.3.9", "@babel/preset-env": "7.24.5", "@mui/material": "5.15.18",
    "date-fns": "3.6.0", "eslint": "8.57.0", "gatsby-link": "5.13.1", "jest": "29.7.0", "lodash": "4.17.21",
    "lodash-es": "4.17.21", "next": "14.2.3", "react-icons": "5.2.1", "react-scripts": "5.0.1", "rxjs": "7.8.1",
    "storybook": "8.1.1", "three": "0.164.1", "typescript": "5.4.5", "webpack": "5.91.0",
}


def _run(*argv: str, cwd: pathlib.Path | None = None) -> None:
    subprocess.run(argv, cwd=cwd, check=True, stdin=subprocess.DEVNULL)


def linux(cache: pathlib.Path) -> pathlib.Path:
    """Debian's linux-source, unpacked once. Its last two .gitignore lines (all but debian/) are Debian's, not Linux's."""
    for ready in sorted(cache.glob("linux-source-*")):
        if ready.is_dir() and (ready / "MAINTAINERS").exists():
            return ready
    archives = sorted(pathlib.Path("/usr/src").glob("linux-source-*.tar.xz"))
    if not archives:
        _run("apt-get", "update", "-qq")
        _run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "linux-source", "xz-utils")
        archives = sorted(pathlib.Path("/usr/src").glob("linux-source-*.tar.xz"))
    staging = cache / "unpacking"
    staging.mkdir(parents=True)
    _run("tar", "-xf", str(archives[-1]), "-C", str(staging))
    (unpacked,) = staging.iterdir()
    ignore = unpacked / ".gitignore"
    ignore.write_text("".join(line for line in ignore.read_text().splitlines(True) if line.strip() not in ("/*", "!/debian/")))
    unpacked.rename(cache / unpacked.name)
    staging.rmdir()
    return cache / unpacked.name


def node_modules(cache: pathlib.Path) -> pathlib.Path:
    """npm install of NODE_PACKAGES, once."""
    place = cache / "node"
    if not (place / "ready").exists():
        place.mkdir(parents=True, exist_ok=True)
        manifest = ",\n".join(f'  "{name}": "{version}"' for name, version in sorted(NODE_PACKAGES.items()))
        (place / "package.json").write_text('{"name": "bench", "version": "1.0.0", "private": true, "dependencies": {\n'
                                            + manifest + "\n}}\n")
        _run("npm", "install", "--ignore-scripts", "--omit=optional", "--legacy-peer-deps", "--no-audit", "--no-fund",
             "--loglevel=error", cwd=place)
        (place / "ready").touch()
    return place


def make_master(name: str, cache: pathlib.Path, source: pathlib.Path, master: pathlib.Path) -> None:
    if name == "linux":
        _run("cp", "-a", str(linux(cache)), str(master))
    elif name == "node_modules":
        master.mkdir()
        place = node_modules(cache)
        _run("cp", "-a", str(place / "node_modules"), str(place / "package.json"), str(master))
        # Packages bring ignore and attribute files meant for their own repositories: not everybody reads them.
        for directory, _, files in os.walk(master):
            for file in files:
                if file in (".gitignore", ".gitattributes", ".hgignore"):
                    os.unlink(os.path.join(directory, file))
    elif name == "self":
        _run("git", "clone", "-q", "--no-hardlinks", str(source), str(master))
    else:
        if not pathlib.Path(name).is_dir():
            raise SystemExit(f"bs: no such tree: {name}")
        _run("cp", "-a", name, str(master))
    _drop_metadata(master)
    _drop_ignored(master)
    for directory, _, _ in os.walk(master, topdown=False):
        if directory != str(master) and not os.listdir(directory):
            os.rmdir(directory)


def _drop_metadata(master: pathlib.Path) -> None:
    """Below `master`, which is in this run's scratch directory, and only names of METADATA."""
    for directory, directories, files in os.walk(os.fsencode(master)):
        for name in list(directories):
            if name in METADATA:
                shutil.rmtree(os.path.join(directory, name))
                directories.remove(name)
        for name in files:
            if name in METADATA:
                os.unlink(os.path.join(directory, name))


def _drop_ignored(master: pathlib.Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    git = ["/usr/bin/git", "--git-dir", str(master.parent / "ignored.git"), "--work-tree", str(master)]
    subprocess.run([*git, "init", "-q"], cwd=master, env=environment, check=True)
    listed = subprocess.run([*git, "ls-files", "-z", "--others", "--ignored", "--exclude-standard"], cwd=master,
                            env=environment, check=True, stdout=subprocess.PIPE).stdout
    for path in listed.split(b"\0"):
        if path:
            os.unlink(os.path.join(os.fsencode(master), path))


def copy(master: pathlib.Path, to: pathlib.Path) -> None:
    _run("cp", "-a", "--reflink=never", str(master), str(to))


Survey = dict[bytes, tuple]


def survey(top: pathlib.Path) -> Survey:
    """Every file and link below: path to (kind, size or target). Metadata of version control aside."""
    out: Survey = {}
    pending = [b""]
    root = os.fsencode(top)
    while pending:
        prefix = pending.pop()
        with os.scandir(os.path.join(root, prefix) if prefix else root) as entries:
            for entry in entries:
                if entry.name in METADATA:
                    continue
                path = prefix + entry.name
                if entry.is_symlink():
                    out[path] = ("link", os.readlink(entry.path))
                elif entry.is_dir(follow_symlinks=False):
                    pending.append(path + b"/")
                else:
                    status = entry.stat(follow_symlinks=False)
                    out[path] = ("program" if status.st_mode & 0o100 else "file", status.st_size)
    return out


def difference(expected: Survey, found: Survey) -> str:
    """Empty if equal; else what differs, for a person."""
    if expected == found:
        return ""
    missing = sorted(expected.keys() - found.keys())
    extra = sorted(found.keys() - expected.keys())
    other = sorted(path for path in expected.keys() & found.keys() if expected[path] != found[path])
    return (f"{len(missing)} missing {missing[:3]}, {len(extra)} too many {extra[:3]}, "
            f"{len(other)} different {other[:3]}")


def same_content(master: pathlib.Path, other: pathlib.Path) -> bool:
    excluded = [word for name in METADATA for word in ("-x", os.fsdecode(name))]
    done = subprocess.run(["/usr/bin/diff", "-rq", "--no-dereference", *excluded, str(master), str(other)], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.returncode == 0


_PLAIN = re.compile(rb"[A-Za-z0-9_/-]+\.[A-Za-z0-9]+")


def editable(files: Survey, count: int) -> list[bytes]:
    """`count` ordinary files of 200 bytes to 100 KB, spread over the whole tree."""
    fit = sorted(path for path, (kind, size) in files.items()
                 if kind == "file" and 200 <= size <= 100_000 and _PLAIN.fullmatch(path))
    if len(fit) < count:
        raise SystemExit(f"bs: the tree has {len(fit)} files to edit, {count} are needed")
    return [fit[i * len(fit) // count] for i in range(count)]
