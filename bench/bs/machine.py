"""What machine this is, and how long its flushes take."""

import datetime
import os
import pathlib
import re
import statistics
import subprocess
import time


def _line(path: str, beginning: str = "") -> str:
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(beginning):
            return line
    return ""


def _output(*argv: str) -> str:
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.decode(errors="replace").strip()


def _mount_of(directory: pathlib.Path) -> str:
    best, found = "", ""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        device, point, kind, options = line.split()[:4]
        if (str(directory) + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(best):
            best, found = point, f"{kind} ({options}) on {device}"
    return found


def facts(scratch: pathlib.Path, source: pathlib.Path) -> dict[str, str]:
    system = os.uname()
    out = {
        "cpu": _line("/proc/cpuinfo", "model name").partition(": ")[2],
        "cpus": str(os.cpu_count()),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "file_system": _mount_of(scratch),
        "kernel": f"{system.sysname} {system.release} {system.machine}",
        "load": _line("/proc/loadavg"),
        "memory": _line("/proc/meminfo", "MemTotal"),
        "revision": _output("git", "-C", str(source), "rev-parse", "--short=12", "HEAD"),
        "git": _output("/usr/bin/git", "--version"),
        "python": _output("python3", "--version"),
    }
    if found := re.search(r"version ([^)]+)", _output("/usr/bin/hg", "--version", "-q")):
        out["hg"] = found.group(1)
    if found := re.search(r"version (\S+)", _output("/usr/bin/fossil", "version")):
        out["fossil"] = found.group(1)
    return {name: value for name, value in out.items() if value}


def probe(directory: pathlib.Path) -> tuple[float, float]:
    """Median microseconds of an fdatasync of 4 KiB: overwriting, growing."""
    path = directory / "probe"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)

    def times(count: int, grow: bool) -> float:
        taken = []
        for i in range(count):
            start = time.perf_counter_ns()
            os.pwrite(descriptor, bytes([i % 256]) * 4096, 4096 * (i if grow else i % 16))
            os.fdatasync(descriptor)
            taken.append((time.perf_counter_ns() - start) / 1e3)
        return statistics.median(taken)

    try:
        grow = times(100, True)
        return times(200, False), grow
    finally:
        os.close(descriptor)
