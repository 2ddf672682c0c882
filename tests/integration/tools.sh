# SPDX-License-Identifier: GPL-3.0-or-later
# Programs as they are installed, with all modules that fit: databases, compressors, git, gcc, gdb.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
all=posixio,memory,pthread

# have COMMAND...: are they installed? What is not is left out.
have()
{
	local name
	for name; do
		command -v "$name" >/dev/null || { echo "left out: no $name"; return 1; }
	done
	done_any=1
}
done_any=

some_calls()
{
	events t
	[ "$(count "enter(\"$1\")")" -ge "$2" ] || fail "$(count "enter(\"$1\")") calls of $1"
}

seq 1 200000 >numbers
STDIN=numbers same_run -o t -m "$all" -- wc
some_calls read 10
if have gzip; then
	same_run -o t -m "$all" -- gzip -9 -n -c numbers
	some_calls read 5
	cp traced.out numbers.gz
	same_run -o t -m "$all" -- gzip -d -c numbers.gz
	check_same traced.out numbers "what gzip made of it"
fi
if have xz; then
	same_run -o t -m "$all" -- xz -T2 -1 -c numbers
	some_calls malloc 5
	cp traced.out numbers.xz
	same_run -o t -m "$all" -- xz -d -c numbers.xz
	check_same traced.out numbers "what xz made of it"
fi
if have zstd; then
	same_run -o t -m "$all" -- zstd -q -T2 -c numbers
	cp traced.out numbers.zst
	same_run -o t -m "$all" -- zstd -q -d -c numbers.zst
	check_same traced.out numbers "what zstd made of it"
	some_calls pthread_create 1
fi

if have sqlite3; then
	cat >script.sql <<-'EOF'
		create table t(a integer primary key, b text, c real);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
			insert into t select i, 'row ' || (i * 7919 % 3001), i / 3.0 from n;
		create index by_b on t(b);
		select count(*), sum(a), round(avg(c), 3), max(b) from t;
		select b from t where b like 'row 29%' order by b limit 10;
		delete from t where a % 3 = 0;
		vacuum;
		select count(*) from t;
		.tables
		pragma integrity_check;
	EOF
	STDIN=script.sql same_run -o t -m "$all" -- sqlite3 :memory:
	check_contains traced.out '^3000\|'
	some_calls malloc 1000
	sqlite3 plain.db <script.sql >plain.out
	check_status 0 sonde -o t -m "$all" -- sqlite3 traced.db ".read script.sql"
	check_same plain.out out "what sqlite3 printed"
	check_same plain.db traced.db "the database"
fi

if have git; then
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
	export GIT_CONFIG_NOSYSTEM=1 HOME=$PWD
	for way in plain traced; do
		mkdir $way
		cp numbers $way/
		for command in "init -q -b main ." "add numbers" "commit -q -m first" "log --stat" \
			"gc -q" "fsck --full" "rev-parse HEAD"; do
			# shellcheck disable=SC2086
			if [ $way = traced ]; then
				(cd $way && sonde -o ../t -m "$all" -- git $command)
			else
				(cd $way && git $command)
			fi >>$way.git 2>>$way.git.err || { show $way.git.err; fail "$way git $command"; }
		done
	done
	check_same plain.git traced.git "what git printed"
	check_same plain.git.err traced.git.err "what git complained of"
fi

if have gcc; then
	printf '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n' >hello.c
	same_run -o t -m "$all" -- gcc -O2 -c -o hello.o hello.c
	cp hello.o first.o
	gcc -O2 -c -o hello.o hello.c
	check_same hello.o first.o "the object file"
	same_run -o t -m "$all" -- gcc -o hello hello.o
	same_run -o t -m "$all" -- ./hello
	echo 'int x = y;' >wrong.c
	same_run -o t -m "$all" -- gcc -c wrong.c
fi

if have gdb && [ -x "$programs/ends" ]; then
	same_run -o t -m "$all" -- gdb -nx -q -batch -ex 'info line main' -ex 'ptype struct sigaction' \
		"$programs/ends"
	some_calls malloc 1000
fi
[ -n "$done_any" ] || skip "none of them is installed"
