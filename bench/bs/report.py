"""Results in the layout of the other suites (bench/report.cc): JSON with every round, and a Markdown table a row of BS."""

import dataclasses
import json
import pathlib
import statistics

# metric, heading, digits after the point; a column appears where a contender has the metric
COLUMNS = [
    ("cpu_ms", "CPU ms", 0),
    ("user_ms", "user ms", 0),
    ("sys_ms", "system ms", 0),
    ("peak_mb", "peak memory MB", 1),
    ("written_kb", "written KB", 0),
    ("store_mb", "store MB", 0),
    ("system_calls", "system calls", 0),
    ("there_ms", "there ms", 0),
    ("back_ms", "back ms", 0),
    ("commits_per_second", "commits/s", 0),
    ("commits", "commits", 0),
    ("failed", "failed", 0),
    ("p50_us", "p50 us", 0),
    ("p99_us", "p99 us", 0),
    ("cpu_us_per_commit", "CPU us a commit", 0),
    ("device_bytes_per_commit", "bytes to the device a commit", 0),
    ("fastest_to_slowest", "fastest to slowest launcher", 2),
]


@dataclasses.dataclass
class Suite:
    id: str
    title: str
    key: str = "wall_ms"
    higher_is_better: bool = False
    contenders: list[str] = dataclasses.field(default_factory=list)
    rounds: dict[str, list[dict[str, float]]] = dataclasses.field(default_factory=dict)
    errors: dict[str, str] = dataclasses.field(default_factory=dict)
    probe: dict[str, float] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)

    def add(self, contender: str, metrics: dict[str, float]) -> None:
        self.rounds.setdefault(contender, []).append(metrics)

    def values(self, contender: str, metric: str) -> list[float]:
        return [metrics[metric] for metrics in self.rounds.get(contender, []) if metric in metrics]


def number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}"


def key_digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 10 else 2


def ratio(suite: Suite, mine: float, other: float) -> str:
    above, below = (mine, other) if suite.higher_is_better else (other, mine)
    return f"{above / below:.{1 if above / below >= 10 else 2}f}x" if below > 0 else ""


def suite_json(suite: Suite) -> dict:
    out = {
        "id": suite.id, "title": suite.title, "key": suite.key, "higher_is_better": suite.higher_is_better,
        "flush_delay_us": 0, "fdatasync_probe_us": suite.probe, "contenders": suite.contenders,
        "rounds": suite.rounds, "errors": suite.errors, "notes": suite.notes, "summary": {},
    }
    for contender in suite.contenders:
        if values := suite.values(contender, suite.key):
            out["summary"][contender] = {"min": min(values), "median": statistics.median(values), "max": max(values)}
    return out


def suite_markdown(suite: Suite) -> str:
    columns = [column for column in COLUMNS if column[0] != suite.key
               and any(suite.values(contender, column[0]) for contender in suite.contenders)]
    mine = next((contender for contender in suite.contenders if contender.startswith("weft")
                 and suite.values(contender, suite.key) and contender not in suite.errors), None)
    lines = [f"### {suite.id}", "", suite.title, "",
             f"| | {suite.key} | min to max | rounds | weft is better by | " + " | ".join(c[1] for c in columns) + " |",
             "|---|---:|---:|---:|---:|" + "---:|" * len(columns)]
    for contender in suite.contenders:
        if contender in suite.errors:
            lines.append(f"| {contender} | failed: {suite.errors[contender]} |")
            continue
        values = suite.values(contender, suite.key)
        if not values:
            continue
        middle = statistics.median(values)
        digits = key_digits(middle)
        better = ""
        if mine is not None and not contender.startswith("weft"):
            better = ratio(suite, statistics.median(suite.values(mine, suite.key)), middle)
        cells = [f"**{number(middle, digits)}**", f"{number(min(values), digits)} to {number(max(values), digits)}",
                 str(len(values)), better]
        for metric, _, places in columns:
            found = suite.values(contender, metric)
            cells.append(number(statistics.median(found), places) if found else "")
        lines.append(f"| {contender} | " + " | ".join(cells) + " |")
    lines.append("")
    for note in suite.notes:
        lines.append(f"- {note}")
    if suite.notes:
        lines.append("")
    probe = suite.probe
    if probe:
        lines += [f"fdatasync of 4 KiB, us, before and after: overwriting {probe['overwrite_before']:.0f}, "
                  f"{probe['overwrite_after']:.0f}; growing {probe['grow_before']:.0f}, {probe['grow_after']:.0f}.", ""]
    return "\n".join(lines) + "\n"


def write(name: str, command: str, machine: dict[str, str], settings: dict[str, str], suites: list[Suite],
          notes: list[str], directory: pathlib.Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    root = {"name": name, "command": command, "machine": machine, "settings": settings, "notes": notes,
            "suites": [suite_json(suite) for suite in suites]}
    (directory / f"{name}.json").write_text(json.dumps(root, indent=1, ensure_ascii=False) + "\n")
    text = f"# {name}\n\nMedians of the rounds, which ran interleaved. Made by\n\n```\n{command}\n```\n\n| machine | |\n|---|---|\n"
    text += "".join(f"| {fact} | {value} |\n" for fact, value in sorted(machine.items()))
    text += "\n| contender | settings |\n|---|---|\n"
    text += "".join(f"| {contender} | {value} |\n" for contender, value in settings.items()) + "\n"
    text += "".join(f"- {note}\n" for note in notes) + ("\n" if notes else "")
    text += "\n".join(suite_markdown(suite) for suite in suites)
    (directory / f"{name}.md").write_text(text)
