# SPDX-License-Identifier: GPL-3.0-or-later
# At a terminal: same process group and terminal, Ctrl-C once, Ctrl-Z and fg as always.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
need_program waits env
check_status 0 sonde -o t -m "$modules/work.c" -- true # compiles it

cat >terminal.py <<'EOF'
import os, pty, re, select, sys, time

class Shell:
    """An interactive shell at a terminal of its own."""

    def __init__(self):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["PS1"] = "prompt> "
            # no editing: that wraps the lines it shows, wherever the paths are long enough
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.wait_for("prompt> ")

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, pattern, seconds=30):
        end = time.time() + seconds
        while not re.search(pattern, self.seen):
            left = end - time.time()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                sys.exit("FAIL: no %r in:\n%s" % (pattern, self.seen))
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                sys.exit("FAIL: the shell ended; no %r in:\n%s" % (pattern, self.seen))
        match = re.search(pattern, self.seen)
        self.seen = self.seen[match.end():]
        return match

    def run(self, command):
        self.send(command + "\n")
        self.wait_for(re.escape(command[-20:]) + r"\r?\n")

def state(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rpartition(")")[2].split()

def program_of(sonde):
    return int(os.popen("pgrep -P %d -x waits" % sonde).read())

def wait_state(pid, wanted):
    for _ in range(200):
        if state(pid)[0] in wanted:
            return
        time.sleep(0.05)
    sys.exit("FAIL: process %d is in state %s, not %s" % (pid, state(pid)[0], wanted))

sonde, module, waits = sys.argv[1:4]
command = "%s -o t -m %s -- %s" % (sonde, module, waits)
sh = Shell()

# The same group and terminal as sonde, which has its own group in the foreground.
sh.run(command + " file")
sh.wait_for("ready")
group = os.tcgetpgrp(sh.fd)
leader = state(group)
program = program_of(group)
own = state(program)
for i, what in ((2, "process group"), (3, "session"), (4, "terminal")):
    if own[i] != leader[i]:
        sys.exit("FAIL: %s %s, sonde's is %s" % (what, own[i], leader[i]))

# Ctrl-Z stops both, fg continues both.
for round in range(3):
    sh.send("\x1a")
    sh.wait_for("Stopped")
    wait_state(program, "T")
    wait_state(group, "T")
    sh.run("echo at the shell")
    sh.wait_for("at the shell")
    sh.run("fg")
    wait_state(program, "S")
    wait_state(group, "S")

# bg continues both as well; then fg again.
sh.send("\x1a")
sh.wait_for("Stopped")
sh.run("bg")
wait_state(program, "S")
sh.run("fg")
open("go", "w").close()
sh.wait_for("status 0, 42000 calls")
os.unlink("go")
sh.run("echo status=$?")
sh.wait_for("status=0\r")

# Ctrl-C ends both, with the shell's usual status.
sh.run(command + " file")
sh.wait_for("ready")
sh.send("\x03")
sh.run("echo status=$?")
sh.wait_for("status=130\r")

# A handler gets Ctrl-C exactly once, Ctrl-\ too.
sh.run(command + " signals >log")
time.sleep(0.2)
for _ in range(100):
    if os.path.exists("log") and "ready" in open("log").read():
        break
    time.sleep(0.05)
sh.send("\x03")
time.sleep(0.3)
sh.send("\x1c")
time.sleep(0.3)
open("go", "w").close()
sh.run("echo status=$?")
sh.wait_for("status=0\r")
log = open("log").read()
if log.count("got 2\n") != 1 or log.count("got 3\n") != 1:
    sys.exit("FAIL: Ctrl-C and Ctrl-\\ gave:\n" + log)
os.unlink("go")

# A program in the background that reads from the terminal stops, as it does without sonde.
sh.run("%s -o t2 -- cat &" % sonde)
sh.run("until jobs | grep Stopped; do sleep 0.1; done")
sh.wait_for("Stopped")
sh.run("fg")
time.sleep(0.5)  # what comes while the shell changes the terminal's mode gets stuck there
sh.send("typed\n")
sh.wait_for("typed\r?\ntyped")
sh.send("\x04")
sh.run("echo status=$?")
sh.wait_for("status=0\r")
EOF
check_status 0 "${limit[@]}" python3 terminal.py "$(type -P sonde)" "$modules/work.c" "$programs/waits"
events t
check_calls 42000 work
