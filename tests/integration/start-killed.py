# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: start-killed.py WHO N EXPECTED SONDE [ARGUMENT...]

Runs a recording N times and kills WHO ("sonde", "recorder": its child of the same name, or "program": the other
child) at N moments of it, early to late. Exit status 1 where a program that lost its sonde ends otherwise than by SIGKILL or with status 0 and the
output in the file EXPECTED, or where sonde has something to say about one that was killed.
"""
import ctypes, os, signal, subprocess, sys, time

PR_SET_CHILD_SUBREAPER = 36
NOT_EXECUTED = 127 << 8  # the child, before it is traced
who, n, expected, command = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], "rb").read(), sys.argv[4:]
if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
    sys.exit("prctl")


def start():
    out, err = open("out", "wb"), open("err", "wb")
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err).pid


def child_of(pid, number):
    """The recorder is the first child, the program the second."""
    try:
        children = open(f"/proc/{pid}/task/{pid}/children").read().split()
    except OSError:
        return None
    return int(children[number]) if number < len(children) else None


def wait_all():
    """Statuses by process, of what ends; the orphan is ours."""
    statuses = {}
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return statuses
        statuses[pid] = status


def text(name):
    with open(name, "rb") as f:
        return f.read()


begin = time.monotonic()
start()
wait_all()
span = time.monotonic() - begin
ends = {"killed": 0, "finished": 0}
for i in range(n):
    os.system("rm -rf t")
    sonde = start()
    time.sleep(span * (i + 1) / (n + 1))
    recorder, program = child_of(sonde, 0), child_of(sonde, 1)
    victim = {"sonde": sonde, "recorder": recorder, "program": program}[who]
    if victim:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
    statuses = wait_all()
    if who == "program":
        if text("err"):
            sys.exit(f"round {i}: {text('err').decode()}")
        continue
    if who == "recorder" and statuses[sonde] not in (0, 125 << 8):
        sys.exit(f"round {i}: sonde's status {statuses[sonde]:#x}: {text('err').decode()}")
    for pid, status in statuses.items():
        if pid in (sonde, recorder):
            continue
        if status in (signal.SIGKILL, NOT_EXECUTED) and not text("out"):
            ends["killed"] += 1
        elif status == 0 and text("out") == expected:
            ends["finished"] += 1
        else:
            sys.exit(f"round {i}: status {status:#x}, output {text('out')!r}: {text('err').decode()}")
print(ends)
