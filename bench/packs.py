"""How small packs are beside git's, and what reading them costs.

    ./dev bench packs [--name NAME] [--releases PACKAGE@V1,V2,...] [--no-aggressive] [REPOSITORY...]

Each git repository (default: this one's) is cloned and collected by `git gc`, and by `git gc --aggressive`; the same
history is imported into weft and packed by repack_store as `weft gc` packs it. `--releases` makes a history out of the
named releases of an npm package, a commit each: registries carry no repositories, but sources of many versions.
Everything is made in a new directory below --dir and removed at the end; --name writes bench/results/NAME.{json,md}.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ENV = {**os.environ, "WEFT_AUTHOR": "Bench <bench@example.org>", "GIT_AUTHOR_NAME": "Bench", "GIT_COMMITTER_NAME": "Bench",
       "GIT_AUTHOR_EMAIL": "bench@example.org", "GIT_COMMITTER_EMAIL": "bench@example.org", "GIT_CONFIG_GLOBAL": "/dev/null"}


def run(*command, cwd=None):
    """Runs a command; returns its output and its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        sys.exit(f"packs: {' '.join(map(str, command))}: {done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bytes_below(directory, *endings):
    return sum(path.stat().st_size for path in pathlib.Path(directory).rglob("*")
               if path.is_file() and (not endings or path.suffix in endings))


def releases(spec, directory):
    """A git repository with a commit for each release, in the order given."""
    package, _, versions = spec.rpartition("@")
    repository = directory / "releases"
    run("git", "init", "-q", "-b", "main", repository)
    for number, version in enumerate(versions.split(",")):
        name, _ = run("npm", "pack", "--silent", f"{package}@{version}", cwd=directory)
        archive = directory / name.strip()
        for entry in repository.iterdir():
            if entry.name != ".git":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                member.name = member.name.partition("/")[2]
                if member.isfile() and member.name and ".." not in member.name.split("/"):
                    member.mode = 0o644
                    tar.extract(member, repository)
        archive.unlink()
        ENV["GIT_AUTHOR_DATE"] = ENV["GIT_COMMITTER_DATE"] = f"{1600000000 + number * 86400} +0000"
        run("git", "add", "-A", "-f", cwd=repository)
        run("git", "commit", "-q", "-m", f"{package} {version}", cwd=repository)
    return repository


def git_sizes(repository, directory, aggressive):
    clone = directory / "clone.git"
    run("git", "clone", "-q", "--bare", "--no-local", repository, clone)
    result = {}
    for name, options in [("gc", [])] + ([("aggressive", ["--aggressive"])] if aggressive else []):
        _, seconds = run("git", "-C", clone, "-c", "gc.autoDetach=false", "gc", "--quiet", "--prune=now", *options)
        objects = clone / "objects"
        result[name] = {"pack": bytes_below(objects, ".pack"), "idx": bytes_below(objects, ".idx"), "cpu_s": seconds}
    _, seconds = run("git", "-C", clone, "repack", "-adfq")
    objects = clone / "objects"
    result["repack -adf"] = {"pack": bytes_below(objects, ".pack"), "idx": bytes_below(objects, ".idx"), "cpu_s": seconds}
    count, _ = run("git", "-C", clone, "rev-list", "--all", "--count")
    result["commits"] = int(count)
    shutil.rmtree(clone)
    return result


def weft_sizes(options, repository, directory):
    store = directory / "store"
    store.mkdir()
    run(options.weft, "init", "-q", "--no-git", cwd=store)
    _, seconds = run(options.weft, "git", "import", repository, cwd=store)
    imported = bytes_below(store / ".weft" / "packs") + bytes_below(store / ".weft" / "log")
    out = directory / "packs"
    out.mkdir()
    text, _ = run(options.repack_store, store / ".weft", out)
    result = {"imported": imported, "import_cpu_s": seconds, "index": bytes_below(store / ".weft" / "index"), "kinds": {}}
    for line in text.splitlines():
        kinds = re.match(r"([a-z ]+): (.*)", line)
        if kinds:
            words = kinds[2].split()
            result["kinds"][kinds[1]] = dict(zip(words[::2], map(float, words[1::2])))
        else:
            name, _, value = line.rpartition(" ")
            result[name] = float(value)
    shutil.rmtree(store)
    shutil.rmtree(out)
    return result


def mb(size):
    return f"{size / 1e6:.2f}"


def report(rows):
    lines = ["# Packs beside git's", "",
             "Made by `./dev bench packs`. MB are 10^6 bytes; git's are of pack and idx, weft's of the pack with its table. "
             "Processor seconds of one process each.", "",
             "| history | commits | objects | `git gc` | `gc --aggressive` | `repack -adf` | weft imported | weft packed | of `git gc` | of `repack -adf` "
             "| git gc s | repack -adf s | weft s | weft MiB |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        git, weft = row["git"], row["weft"]
        size = {name: git[name]["pack"] + git[name]["idx"] for name in git if name != "commits"}
        aggressive = mb(size["aggressive"]) if "aggressive" in size else ""
        lines.append(f"| {row['name']} | {git['commits']} | {weft['objects']:.0f} | {mb(size['gc'])} | {aggressive} | {mb(size['repack -adf'])} "
                     f"| {mb(weft['imported'])} | {mb(weft['pack bytes'])} | **{weft['pack bytes'] / size['gc']:.2f}** "
                     f"| {weft['pack bytes'] / size['repack -adf']:.2f} | {git['gc']['cpu_s']:.1f} | {git['repack -adf']['cpu_s']:.1f} "
                     f"| {weft['pack cpu_s']:.1f} | {weft['pack memory_kib'] / 1024:.0f} |")
    lines += ["", "What is in weft's packs; *older* refers to something. Each: bytes an object takes, without the 40 of the table.", "",
              "| history | kind | objects | groups | content MB | stored MB | heads MB | each |", "|---|---|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        for kind, sums in row["weft"]["kinds"].items():
            if "stored" not in sums:
                continue
            lines.append(f"| {row['name']} | {kind} | {sums['objects']:.0f} | {sums['groups']:.0f} | {mb(sums['content'])} "
                         f"| {mb(sums['stored'])} | {mb(sums['heads'])} | {sums['each']:.1f} |")
    lines += ["", "Reading one object, picked at random among 4,000 newest and 4,000 older versions: microseconds and allocations. "
              "*By itself*: the same objects in a pack that holds each alone.", "",
              "| history | by itself p50 / p99 | newest | older | allocations | 20 newest changes, first read of a process |", "|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        weft = row["weft"]
        if "read older p50_ns" not in weft:
            continue
        times = [f"{weft[f'read {which} p50_ns'] / 1e3:.1f} / {weft[f'read {which} p99_ns'] / 1e3:.0f}" for which in ("alone", "newest", "older")]
        each = " / ".join(f"{weft[f'read {which} allocations_each_x10'] / 10:.1f}" for which in ("alone", "newest", "older"))
        lines.append(f"| {row['name']} | {' | '.join(times)} | {each} | {weft['read 20 changes_ns'] / 1e3:.0f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--repack-store", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--name")
    parser.add_argument("--releases", action="append", default=[])
    parser.add_argument("--no-aggressive", action="store_true")
    parser.add_argument("--dir", default=os.environ.get("WEFT_BENCH_DIR", "/var/tmp"))
    parser.add_argument("repositories", nargs="*")
    options = parser.parse_args()
    options.weft, options.repack_store = pathlib.Path(options.weft).resolve(), pathlib.Path(options.repack_store).resolve()
    sources = [(pathlib.Path(path).resolve().name, path) for path in options.repositories]
    if not sources and not options.releases:
        sources = [("this repository", HERE.parent)]
    rows = []
    for name, path in sources + [(spec.rpartition("@")[0] + " releases", spec) for spec in options.releases]:
        with tempfile.TemporaryDirectory(prefix="weft-packs-", dir=options.dir) as directory:
            directory = pathlib.Path(directory)
            repository = releases(path, directory) if name.endswith(" releases") else pathlib.Path(path).resolve()
            print(f"packs: {name}", file=sys.stderr)
            rows.append({"name": name, "git": git_sizes(repository, directory, not options.no_aggressive),
                         "weft": weft_sizes(options, repository, directory)})
    text = report(rows)
    print(text)
    if options.name:
        (HERE / "results" / f"{options.name}.md").write_text(text)
        (HERE / "results" / f"{options.name}.json").write_text(json.dumps(rows, indent=1) + "\n")


main()
