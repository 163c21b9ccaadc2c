"""Fuzz with new seeds for some minutes: `make fuzz MINUTES=30`.

Cases run in a process of their own, so that a crash or a hang costs that case alone and is told.
"""

import argparse
import faulthandler
import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

CASES = {"fit": 200, "file": 200, "kill": 3}  # that a process judges
LONGEST = {"fit": 60, "file": 60, "kill": 900}  # seconds of a case
KINDS = ("fit", "fit", "fit", "file", "kill")
SEEDS_APART = 200


def work(kind, first, count):
    """Judge cases one after the other; a line when one begins, and one with its verdict."""
    from files import judge_file, make_file
    from fits import make_case
    from kills import judge_kill
    from verdicts import judge

    faulthandler.register(signal.SIGUSR1)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            print(json.dumps([seed]), flush=True)
            said = ""
            if kind == "fit":
                case = make_case(seed)
                verdict, said = judge(case), f"{case.kind.__name__} {case.params} {case.said}"
            elif kind == "file":
                case = make_file(seed)
                verdict, said = judge_file(case, Path(folder)), case.said
            else:
                verdict = judge_kill(seed, Path(folder))
            found = [verdict.text, said] if verdict.is_finding else []
            print(json.dumps([seed, verdict.what, *found]), flush=True)


def run(minutes, seed, told):
    """Fuzz on all cores until the time is over; how often there was each verdict, and the
    findings."""
    batches, end, stopped = itertools.count(), time.time() + 60 * minutes, threading.Event()

    def over():
        return stopped.is_set() or time.time() > end

    def go_on(_):
        counts, findings = {kind: Counter() for kind in CASES}, []
        while not over():
            batch = next(batches)
            kind = KINDS[batch % len(KINDS)]
            first = seed + batch * SEEDS_APART
            last = first + CASES[kind]
            while first < last and not over():
                first = _watched(kind, first, last - first, over, counts[kind], findings, told)
        return counts, findings

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            found = list(pool.map(go_on, range(os.cpu_count())))
        finally:  # Ctrl-C ends the processes, too
            stopped.set()
    counts = {kind: sum((part[kind] for part, _ in found), Counter()) for kind in CASES}
    return counts, [finding for _, findings in found for finding in findings]


def _watched(kind, first, count, over, counts, findings, told):
    """Run a process of cases; where to go on."""
    command = [sys.executable, __file__, "--work", kind, str(first), str(count)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun, lines, hung = None, queue.Queue(), False

    def listen():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=listen, daemon=True).start()
    while (line := _next(lines, process.pid, LONGEST[kind])) is not None:
        hung = line == ""
        if hung:
            process.send_signal(signal.SIGUSR1)
            time.sleep(1.0)
            process.kill()
            break
        seed, *rest = json.loads(line)
        if not rest:
            begun = seed
            continue
        begun = None
        counts[rest[0]] += 1
        if len(rest) > 1:
            findings.append({"kind": kind, "seed": seed, "verdict": rest[0], "text": rest[1:]})
            told(f"{kind} {seed}: {' | '.join(rest)}")
        if over():
            process.kill()
            return first + count
    errors = process.stderr.read()
    process.wait()
    if begun is None:
        return first + count
    what = "hang" if hung else "crash"
    counts[what] += 1
    findings.append({"kind": kind, "seed": begun, "verdict": what, "text": [errors[-3000:]]})
    told(f"{kind} {begun}: {what}\n{errors[-3000:]}")
    return begun + 1


def _next(lines, pid, longest):
    """The next line of a process, or "" of one that hangs: it has computed for so many seconds
    since the last, or not at all for so long. Others may use the machine, or it may sleep."""
    began = before = _computed(pid)
    idle = 0
    while idle < longest and before - began < longest:
        try:
            return lines.get(timeout=1.0)
        except queue.Empty:
            now = _computed(pid)
            idle, before = (idle + 1 if now == before else 0), now
    return ""


def _computed(pid):
    """Seconds that a process and those that it has started have computed."""
    try:
        process = psutil.Process(pid)
        each = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    except psutil.Error:  # one has just ended
        return 0.0
    return sum(times.user + times.system for times in each)


def as_text(seed, counts, findings):
    """What a run found, for people."""
    verdicts = sorted({verdict for found in counts.values() for verdict in found})
    lines = [
        f"Hostile fits, damaged files and killed runs, seeds from {seed} on: the last run, of "
        f"{time.strftime('%Y-%m-%d', time.gmtime())}.",
        "A fit is right, with a certificate that an independent computation bears out (ok), or",
        "refused in a sentence that names a parameter or the data; a run that is killed leaves no",
        "process behind, and goes on with every row that was finished. All else is a finding.",
        "",
        f"{'':30}" + "".join(f"{kind + 's':>8}" for kind in counts),
    ]
    for name in ["all", *verdicts]:
        numbers = [found.total() if name == "all" else found[name] for found in counts.values()]
        lines.append(f"{name:30}" + "".join(f"{number:8,}" for number in numbers))
    lines += ["", f"findings: {len(findings)}"]
    lines += [f"  {one['kind']} {one['seed']}: {one['verdict']}" for one in findings]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=None, help="of the first case; by the clock")
    parser.add_argument("--summary", type=Path, default=Path(".artefacts/fuzz.json"))
    parser.add_argument("--record", type=Path, help="where figures/gallery tells of the last run")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        return work(chosen.work[0], int(chosen.work[1]), int(chosen.work[2]))
    seed = int(time.time()) if chosen.seed is None else chosen.seed
    counts, findings = run(chosen.minutes, seed, lambda text: print(text, flush=True))
    told = {kind: dict(found) for kind, found in counts.items()}
    chosen.summary.parent.mkdir(parents=True, exist_ok=True)
    summary = {"first seed": seed, "minutes": chosen.minutes, "counts": told, "findings": findings}
    chosen.summary.write_text(json.dumps(summary, indent=1) + "\n")
    if chosen.record:
        chosen.record.write_text(as_text(seed, counts, findings))
    for kind, found in counts.items():
        print(f"{sum(found.values()):,} {kind}s: {dict(found.most_common())}")
    print(f"{len(findings)} findings; the summary is in {os.fspath(chosen.summary)}")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
