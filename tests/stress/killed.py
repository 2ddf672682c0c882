# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: killed.py WHO N SECONDS SONDE-OPTION... -- tests/programs/tally FILE THREADS CALLS

Records tally N times into the folder t and kills WHO ("program", "recorder" or "waiter") once it runs, at a random moment of the
next SECONDS.  Then the trace has to be readable, and, unless the recorder was killed, to hold each call that was over by what the
program has counted itself, and none that had not begun.  A program that was not killed ends as it would.  Each verb of the command
that reads is tried.  SONDE_STRESS_SEED makes the moments the same again.
"""
import collections, ctypes, json, os, random, re, shutil, signal, struct, subprocess, sys, time

PR_SET_CHILD_SUBREAPER = 36
COUNT = struct.Struct("3q")
STATUS = 3  # of a program that came to its end
who, rounds, span = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
options, program = sys.argv[4:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
counts, calls = program[1], int(program[3])
flight = any(o.startswith("--flight") for o in options)
memory = any(o.startswith("--mem") for o in options)
seed = os.environ.get("SONDE_STRESS_SEED") or str(time.time_ns())
dice = random.Random(seed)
if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
    sys.exit("prctl")


def fail(i, text):
    print(f"round {i}, seed {seed}: {text}")
    os.system("cat err; ls -l t")
    sys.exit(1)


def child_of(pid, number):
    """The recorder is the first child, the program the second."""
    try:
        children = open(f"/proc/{pid}/task/{pid}/children").read().split()
    except OSError:
        return None
    return int(children[number]) if number < len(children) else None


def counted():
    """By thread: calls that were begun, calls that were over."""
    try:
        data = open(counts, "rb").read()
    except OSError:
        return {}
    return {tid: (begun, over) for tid, begun, over in COUNT.iter_unpack(data) if tid}


def run():
    """Returns by process how it ended."""
    shutil.rmtree("t", ignore_errors=True)
    if os.path.exists(counts):
        os.unlink(counts)
    sonde = subprocess.Popen(["sonde", "-o", "t", *options, "--", *program], stdin=subprocess.DEVNULL,
                             stdout=open("out", "wb"), stderr=open("err", "wb")).pid
    deadline = time.monotonic() + 60
    while not counted():
        time.sleep(0.0005)
        if time.monotonic() > deadline:
            return None
    recorder, tally = child_of(sonde, 0), child_of(sonde, 1)
    time.sleep(dice.random() * span)
    try:
        os.kill({"waiter": sonde, "recorder": recorder, "program": tally}[who], signal.SIGKILL)
    except ProcessLookupError:
        pass
    ends = {}
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return {"sonde": ends.get(sonde), "recorder": ends.get(recorder), "program": ends.get(tally)}
        ends[pid] = status


def read(i, *verb):
    r = subprocess.run(["sonde", *verb], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    # neither that no calls were recorded nor that the recorder was killed is a complaint
    said = [l for l in r.stderr.splitlines() if ": no " not in l and "the recording has no end" not in l]
    if (r.returncode and ": no memory accesses were recorded" not in r.stderr) or said:
        fail(i, f"sonde {' '.join(verb)}: status {r.returncode}: {r.stderr}")
    return r.stdout


def check_counts(i, what, have, limits, unknown=0):
    for tid, (begun, over) in limits.items():
        if not over - unknown <= have[tid] <= begun:
            fail(i, f"{have[tid]} {what} of thread {tid}, but {over} calls were over and {begun} begun")


def check_trace(i):
    info = read(i, "info", "t")
    read(i, "report", "t")
    lost = re.search(r"^lost +(.*)$", info, re.M)
    entered, left, stored = (collections.Counter() for _ in range(3))
    for line in read(i, "dump", "--json", "t").splitlines():
        event = json.loads(line)
        if event["type"] in ("enter", "leave"):
            (entered if event["type"] == "enter" else left)[event["tid"]] += not event.get("unwound")
    if memory:
        for line in read(i, "dump", "--mem", "t").splitlines():
            word = line.split()
            stored[int(word[0].split(".")[1])] += word[1] == "store"
    if who == "recorder":
        return
    limits = counted()
    if lost.group(1) != "nothing":
        fail(i, f"lost {lost.group(1)}")
    if flight:
        older = re.search(r"; (\d+) older", info)
        have = sum(entered.values()) + sum(left.values()) + int(older.group(1))
        if not sum(2 * o for b, o in limits.values()) <= have <= sum(2 * b for b, o in limits.values()):
            fail(i, f"{have} events, {limits} counted")
    elif "-F" in options or "-m" in options:
        check_counts(i, "entries", entered, limits)
        check_counts(i, "returns", left, limits)
    if memory:
        # that what follows the last word of a stream was done is only known of threads that end by themselves
        check_counts(i, "stores", stored, limits, 1)


def check_ends(i, ends):
    """The program is reaped by whoever is its parent: sonde, which ends as it does, or we if sonde was killed first."""
    if who == "waiter" and ends["program"] is None and ends["sonde"] == signal.SIGKILL:
        ends["sonde"] = STATUS << 8  # killed when it had waited for the program
    end = ends["sonde"] if ends["program"] is None else ends["program"]
    output = open("out").read()
    if end == signal.SIGKILL and who == "program":
        return
    if end != STATUS << 8 or output != f"{calls * int(program[2])} calls\n":
        fail(i, f"ended with {end}, output: {output}")


for i in range(rounds):
    ends = run()
    if not ends:
        fail(i, "the program does not begin")
    check_ends(i, ends)
    check_trace(i)
print(f"{rounds} times: {who} killed, {' '.join(options)} -- {' '.join(program[:1] + program[2:])}")
