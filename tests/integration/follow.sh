# SPDX-License-Identifier: GPL-3.0-or-later
# What processes of the program execute is recorded, too: each program in the way that the first one is, with the same
# output, exit status and environment as without Sonde.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command jq
need_program executes executes-static ends ends-static

# programs DIR: the programs that were recorded, by base name, sorted, one line.
programs()
{
	sonde info "$1" >/dev/null 2>err || { show err; fail "sonde info $1"; }
	cat "$1"/metadata "$1"/process-*/metadata 2>/dev/null | jq -r 'select(.type == "trace") | .program' |
		sed 's#.*/##' | sort | tr '\n' ' '
}

# calls N NAME DIR
calls()
{
	local n
	sonde report --csv "$3" >report.csv 2>err || { show err; fail "sonde report $3"; }
	n=$(awk -F, -v name="\"$2\"" '$1 == name { n += $4 } END { print n + 0 }' report.csv)
	[ "$n" -eq "$1" ] || { show report.csv; fail "$n calls of $2 instead of $1"; }
}

# Each way to execute a program, from a dynamic and from a static one, to either kind.
for from in executes executes-static; do
	for to in ends ends-static; do
		for how in execve execvp fexecve execveat vfork spawn thread; do
			rm -rf t
			same_run -F work -o t -- "$programs/$from" $how "$programs/$to" 7 return
			calls 7 work t
		done
	done
done
rm -rf t
same_run -F work -o t -- "$programs/executes" signals "$programs/ends" 2 return
calls 42 work t

# What is not there, or no program.
echo text >text
chmod +x text
for how in execve execvp execveat vfork spawn thread; do
	rm -rf t
	same_run -q -F work -o t -- "$programs/executes" $how ./nothing-here a b
	[ "$(programs t)" = 'executes ' ] || fail "recorded: $(programs t)"
done
rm -rf t
same_run -q -F work -o t -- "$programs/executes" execve ./text a b

# Shells: pipelines, lists, scripts, what replaces them; their statuses.
cat >job.sh <<END
#!/bin/sh
"$programs/ends" 3 return | cat
"$programs/ends" 4 return >/dev/null || (exec "$programs/ends-static" 5 return)
env A=1 "$programs/ends" 6 exit
echo status \$?
exec "$programs/ends" 8 abort
END
chmod +x job.sh
rm -rf t
same_run -F work -o t -- ./job.sh
calls 26 work t
sonde report t >out 2>&1
check_contains out 'ends'
rm -rf t
same_run --no-follow -q -F work,main -o t -- ./job.sh
[ "$(ls t | grep -c process-)" -eq 0 ] || fail "followed all the same"
rm -rf t
same_run --follow='*-static,cat' -F work -o t -- ./job.sh
calls 5 work t

# The environment is the user's own, for modules that are preloaded, too; and the user's LD_PRELOAD stays.
cat >empty.c <<-'END'
	int nothing;
END
cc -shared -fPIC -o libempty.so empty.c
for preload in '' "$PWD/libempty.so"; do
	[ -z "$preload" ] || export LD_PRELOAD=$preload
	env | sort >plain.env
	rm -rf t
	sonde -q -m "$modules/work.c" -o t -- sh -c "env; \"$programs/ends\" 3 return >/dev/null; exec \"$programs/ends\" 2 return >/dev/null" |
		sort >traced.env
	diff <(grep -v '^_=\|^SHLVL=\|^OLDPWD=' plain.env) <(grep -v '^_=\|^SHLVL=\|^OLDPWD=' traced.env) ||
		fail "another environment"
	unset LD_PRELOAD
	calls 5 work t
done

# Many at a time; nobody is forgotten, whoever completes the traces: with one worker, the thread that traces does it.
for n in 1 2 5; do
	rm -rf t
	same_run --workers=$n -F work -o t -- \
		sh -c "for i in \$(seq 40); do echo \$i; done | xargs -P 4 -I{} \"$programs/ends\" {} return | sort | tail -1"
	calls 820 work t
	[ "$(find t -name metadata -exec grep -l '"complete":true' {} + | wc -l)" -eq "$(find t -name metadata | wc -l)" ] ||
		fail "with $n workers a trace is not complete"
	[ "$(find t -name metadata -exec grep -l '"ending":"exited","exit":[0-9]' {} + | wc -l)" -ge 40 ] || fail "with $n workers an end is not known"
done

# Killed while it is traced: the others go on, and what they had recorded is there.
rm -rf t
same_run -F work -o t -- sh -c "\"$programs/ends\" 9 segv; \"$programs/ends\" 9 abort; echo \$?"
calls 18 work t

# What is in none of them is said once, at the end.
rm -rf t
check_status 0 sonde -F slove -o t -- sh -c 'true; /bin/true; /bin/true'
check_contains err 'none of the 3 programs has a function that was to be recorded'
[ "$(wc -l <err)" -eq 2 ] || { show err; fail "more than that, and what the first one has not"; }

# Options that do not go together.
check_usage_error sonde --no-follow --follow=a -F work -- true
check_contains err 'not with'
