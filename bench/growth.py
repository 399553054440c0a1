"""How seconds and memory grow with the number of sessions and of results.

``python -m bench.growth [MOST] [--plot FILE]``

Runs 10, 100, 1,000, 10,000 sessions of a trivial agent, and reports 10 to 100,000 stored results of up to 64 shards, as
far as ``MOST``. Prints seconds, those of the processor, peak megabytes of the largest process, and the ratio of each to
the step before. With ``--plot`` it also writes an SVG file. ``--from FILE`` plots figures that were saved before.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench.__main__ import JOBS, TOOL, suite
from bench.sinks import report_of

from skillgym_action.results.results_file import render

SESSIONS = (10, 100, 1_000, 10_000)
RESULTS = (10, 100, 1_000, 10_000, 100_000)
SHARDS = 64
MEASURES = {"processor": "CPU time (s)", "megabytes": "peak memory in MB"}
WIDTH, HEIGHT, EDGE = 640, 300, 48
STYLE = """
  svg { font: 12px sans-serif; }
  .run { stroke: #0969da; fill: #0969da; } .report { stroke: #bc4c00; fill: #bc4c00; }
  path { fill: none !important; stroke-width: 2; } text { fill: #1f2328; stroke: none; }
  .grid { stroke: #d0d7de; } .page { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .grid { stroke: #3d444d; } .page { fill: #0d1117; }
    .run { stroke: #58a6ff; fill: #58a6ff; } .report { stroke: #f0883e; fill: #f0883e; }
  }
"""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one process took; ``what`` is ``run`` or ``report``."""

    what: str
    number: int
    seconds: float
    processor: float
    megabytes: float


def measured(what: str, number: int, argv: list[str], cwd: Path) -> Figures:
    """Run a program that may end with 0 or 1."""
    began = time.perf_counter()
    with (cwd / "log").open("wb") as log:
        started = subprocess.Popen(argv, cwd=cwd, stdout=log, stderr=log)
        _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(argv)}: {(cwd / 'log').read_text(encoding='utf-8')[-2_000:]}")
    return Figures(
        what=what, number=number, seconds=time.perf_counter() - began, processor=used.ru_utime + used.ru_stime,
        megabytes=used.ru_maxrss / 1024,
    )  # fmt: skip


def run(number: int, folder: Path) -> Figures:
    suite(folder / "suite", number)
    return measured("run", number, [TOOL, "run", "suite", "--jobs", str(JOBS), "--output", "out"], folder)


def report(number: int, folder: Path) -> Figures:
    whole = report_of(number)
    shards = min(SHARDS, number)
    for part in range(shards):
        one = replace(whole, id=f"s{part}", results=whole.results[part::shards], shard=f"{part + 1}/{shards}")
        (folder / one.id).mkdir()
        with (folder / one.id / "results.json").open("w", encoding="utf-8") as file:
            file.writelines(render(one))
    return measured("report", number, [TOOL, "report", "s*", "--output", "merged"], folder)


def show(found: list[Figures]) -> None:
    print(f"{'':<8} {'number':>8} {'seconds':>9} {'processor':>10} {'MB':>7}   ratios to the step before")
    before: Figures | None = None
    for one in found:
        line = f"{one.what:<8} {one.number:>8,} {one.seconds:>9.2f} {one.processor:>10.2f} {one.megabytes:>7.0f}"
        if before and before.what == one.what:
            line += f"   {one.seconds / before.seconds:.1f}  {one.processor / before.processor:.1f}"
            line += f"  {one.megabytes / before.megabytes:.1f}"
        print(line, flush=True)
        before = one


# --- the plot ---------------------------------------------------------------------------------------


def plot(found: list[Figures]) -> str:
    """An SVG text: a chart for each measure, both axes logarithmic. Its colours follow the reader's settings."""
    charts = [
        f'<g transform="translate(0 {HEIGHT * row})">{"".join(chart(found, key, title))}</g>'
        for row, (key, title) in enumerate(MEASURES.items())
    ]
    size = f'viewBox="0 0 {WIDTH} {HEIGHT * len(MEASURES)}"'
    page = '<rect class="page" width="100%" height="100%"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>{page}{"".join(charts)}</svg>\n'


def chart(found: list[Figures], key: str, title: str) -> list[str]:
    values = [getattr(one, key) for one in found]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    last = max(math.log10(one.number) for one in found)

    def at(number: float, value: float) -> tuple[float, float]:
        x = EDGE + (math.log10(number) - 1) / (last - 1) * (WIDTH - 2 * EDGE)
        y = HEIGHT - EDGE - (math.log10(value) - low) / max(1, high - low) * (HEIGHT - 2 * EDGE)
        return round(x, 1), round(y, 1)

    parts = [f'<text x="{EDGE}" y="24">{title}: run (blue, sessions), report (orange, results)</text>']
    for power in range(low, high + 1):
        _, y = at(10, 10**power)
        parts.append(f'<line class="grid" x1="{EDGE}" y1="{y}" x2="{WIDTH - EDGE}" y2="{y}"/>')
        parts.append(f'<text x="{EDGE - 6}" y="{y + 4}" text-anchor="end">{10**power:g}</text>')
    for power in range(1, int(last) + 1):
        x, _ = at(10**power, 10**low)
        parts.append(f'<text x="{x}" y="{HEIGHT - EDGE + 18}" text-anchor="middle">{10**power:,}</text>')
    for what in ("run", "report"):
        points = [at(one.number, getattr(one, key)) for one in found if one.what == what]
        parts.append(f'<path class="{what}" d="M{" L".join(f"{x} {y}" for x, y in points)}"/>')
        parts += [f'<circle class="{what}" cx="{x}" cy="{y}" r="3"/>' for x, y in points]
    return parts


def main() -> None:
    arguments = sys.argv[1:]
    plotted = Path(arguments[arguments.index("--plot") + 1]) if "--plot" in arguments else None
    saved = Path(arguments[arguments.index("--from") + 1]) if "--from" in arguments else None
    most = int(arguments[0]) if arguments and arguments[0].isdigit() else max(RESULTS)
    if saved:
        found = [Figures(**one) for one in json.loads(saved.read_text(encoding="utf-8"))]
    else:
        found = []
        for measure, numbers in ((run, SESSIONS), (report, RESULTS)):
            for number in numbers:
                if number <= most:
                    with tempfile.TemporaryDirectory() as folder:
                        found.append(measure(number, Path(folder)))
                    print(json.dumps(asdict(found[-1])), file=sys.stderr, flush=True)
    show(found)
    if plotted:
        plotted.write_text(plot(found), encoding="utf-8")


if __name__ == "__main__":
    main()
