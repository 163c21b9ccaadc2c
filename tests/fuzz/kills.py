"""Kill `kernlab reproduce` at some moment, with all its processes or alone, and let it go on: what
was finished is kept as it was, and the rest is computed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import psutil
from verdicts import Verdict

STUDIES = "errata", "fpc-f10", "fpc-t3", "hss-f2", "hss-t5", "llsvm-f1", "llsvm-t4", "sparse-f6"
NOTEBOOKS = "10_llsvm", "21_lasn_cost", "40_hss_matrix", "50_fpc_simulations"
LATEST, LONGEST, LINGERING = 12.0, 300.0, 15.0  # seconds


def judge_kill(seed, folder):
    """What became of a run that was killed, and of the next one."""
    draw, out = random.Random(seed), folder / f"kill-{seed}"
    name = draw.choice(NOTEBOOKS if draw.random() < 1 / 6 else STUDIES)
    command = [sys.executable, "-c", "from kernlab.lab.cli import main; main()"]
    command += ["reproduce", name, "--out", str(out)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, start_new_session=True, **quiet)
    time.sleep(draw.uniform(0.5, LATEST))
    finished, others = _rows(out), _started_by(process.pid)
    if draw.random() < 0.5:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    if psutil.wait_procs(others, timeout=LINGERING)[1]:
        return Verdict("processes outlive a kill", name)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return Verdict("does not end", name)
    if done.returncode:
        return Verdict("does not go on", f"{name}: {done.stderr[-1000:]}")
    lost = finished - _rows(out)
    return Verdict("a finished row lost", f"{name}: {[*lost][:1]}") if lost else Verdict("ok")


def _rows(out):
    """The lines of all stores of rows that are whole, and how often each is there."""
    texts = [path.read_text() for path in out.glob("*/tables/*.rows.jsonl")]
    return Counter(line for text in texts for line in text.splitlines(True) if line[-1] == "\n")


def _started_by(pid):
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:  # it has ended
        return []
