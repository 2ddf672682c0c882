# SPDX-License-Identifier: GPL-3.0-or-later
# Interpreters and scripts: Python with threads, processes and signals; Perl; bash with pipelines;
# #! lines.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
all=posixio,memory,pthread
need_command bash

cat >script.sh <<'EOF'
seq 1 1000 | sort -n | while read -r n; do echo $((n * n)); done | tail -n 3
x=$(echo sub | tr a-z A-Z; exit 3); echo "$x $?"
trap 'echo trapped' USR1; kill -USR1 $$
for i in 1 2 3; do (sleep 0.0$i; exit $i) & done
for i in 1 2 3; do wait -n; done
cat <<END | wc -l
here
END
cat < <(echo substituted)
echo to stderr >&2
exit 7
EOF
same_run -o t -m "$all" -- bash script.sh
check_contains traced.out '^trapped$'
events t
[ "$(count 'enter("pipe") || enter("pipe2")')" -ge 3 ] || fail "no pipes of bash seen"
[ "$(grep -c '"type":"process"' t/metadata)" -ge 5 ] || fail "too few processes"

# #! lines, with and without an argument; a script without one; arguments with blanks.
printf '#!/bin/bash -e\necho "$0 $# $2"\nfalse\necho not reached\n' >with.sh
printf 'echo "$# $2"; exit 4\n' >without.sh
chmod +x with.sh without.sh
same_run -o t -m "$all" -- ./with.sh 'a b' 'c  d'
check_contains traced.out '^./with.sh 2 c  d$'
check_status 4 sonde -o t -m "$all" -- ./without.sh 'a b' 'c  d'
check_contains out '^2 c  d$'

# The real ones: a shim would only trace the shell that looks for it.
python=/usr/bin/python3
if [ -x $python ]; then
	cat >script.py <<-'EOF'
		import json, os, signal, subprocess, sys, threading, hashlib, zlib, tempfile, collections

		results = [None] * 8
		lock = threading.Lock()
		total = 0

		def work(k):
		    global total
		    results[k] = sum(i * i for i in range(1000 * (k + 1)))
		    for _ in range(100):
		        with lock:
		            total += 1

		threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
		for t in threads: t.start()
		for t in threads: t.join()
		print(results, total)
		print(json.loads(json.dumps({"a": list(range(100)), "b": {"c": "ä" * 50}}))["b"])
		print(subprocess.run(["sh", "-c", "echo child; exit 3"], capture_output=True))
		print(hashlib.sha256(zlib.compress(b"x" * 100000)).hexdigest())
		with tempfile.TemporaryFile() as f:
		    f.write(b"y" * 300000); f.seek(0); print(len(f.read()))
		pid = os.fork()
		if pid == 0:
		    os._exit(5)
		print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
		got = []
		signal.signal(signal.SIGALRM, lambda *a: got.append(1))
		signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
		while len(got) < 20:
		    sum(range(1000))
		signal.setitimer(signal.ITIMER_REAL, 0)
		def deep(n):
		    return deep(n + 1)
		try:
		    deep(0)
		except RecursionError:
		    print("too deep")
		sys.stdout.flush()
		sys.exit(9)
	EOF
	PYTHONMALLOC=malloc same_run -o t -m "$all" -- $python script.py
	check_contains traced.out '^too deep$'
	events t
	[ "$(count 'enter("malloc")')" -gt 10000 ] || fail "too few calls of malloc"
	[ "$(count 'enter("pthread_create")')" -ge 8 ] || fail "too few threads"
	check_status 0 grep -c '"type":"thread-end"' t/metadata
	[ "$(cat out)" -ge 10 ] || fail "threads or children are missing"
fi

if command -v perl >/dev/null; then
	cat >script.pl <<-'EOF'
		use strict; use warnings; use POSIX ();
		my %h = map { $_ => $_ ** 2 } 1 .. 5000;
		print join(",", map { "$_=$h{$_}" } (sort { $a <=> $b } keys %h)[0 .. 9]), "\n";
		my $out = `echo from a child`; print $out, $? >> 8, "\n";
		open(my $p, "-|", "seq 1 100") or die; my $s = 0; $s += $_ while <$p>; close $p; print "$s\n";
		my $pid = fork(); if (!$pid) { POSIX::_exit(6) } waitpid($pid, 0); print $? >> 8, "\n";
		local $SIG{ALRM} = sub { die "alarm\n" };
		eval { alarm 1; select(undef, undef, undef, 3); }; print "caught $@";
		(my $t = "abc" x 1000) =~ s/b(.)/$1$1/g; print length($t), "\n";
		exit 8;
	EOF
	same_run -o t -m "$all" -- perl script.pl
	check_contains traced.out '^caught alarm$'
fi
