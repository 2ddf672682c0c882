# SPDX-License-Identifier: GPL-3.0-or-later
# Where the trace goes: old traces are kept once, what is no trace is left alone.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program ends
work=(-m "$modules/work.c")

# Without -o: sonde.data; the one before becomes sonde.data.old, the one before that goes.
for n in 10 20 30; do
	check_status 3 sonde "${work[@]}" -- "$programs/ends" $n exit
done
events sonde.data
check_calls 30 work
events sonde.data.old
check_calls 20 work
[ "$(ls -d sonde*)" = "$(printf 'sonde.data\nsonde.data.old')" ] || fail "left behind: $(ls -d sonde*)"

# A folder with something else in it, files, and names below what is not there are refused untouched.
mkdir -p mine/deep
echo precious >mine/file
cp -a mine mine.before
check_status 2 sonde "${work[@]}" -o mine -- sh -c 'touch ran'
check_contains err '^sonde: mine: .*not a Sonde trace'
diff -r mine mine.before || fail "touched a folder that is no trace"
[ ! -e ran ] && [ ! -e mine.old ] || fail "went on nevertheless"
echo precious >file
check_status 2 sonde "${work[@]}" -o file -- sh -c 'touch ran'
[ "$(cat file)" = precious ] || fail "touched a file"
check_status 2 sonde "${work[@]}" -o no/such/folder -- sh -c 'touch ran'
[ ! -e ran ] || fail "the program ran without a trace"
# nor is DIR.old deleted when it is no trace
mkdir -p sonde.data.keep
mv sonde.data.old sonde.data.keep/trace
mkdir sonde.data.old
echo precious >sonde.data.old/file
check_status 2 sonde "${work[@]}" -- sh -c 'touch ran'
[ "$(cat sonde.data.old/file)" = precious ] || fail "deleted what is no trace"
events sonde.data
check_calls 30 work

# An empty folder is taken; a name with blanks and other letters works.
mkdir empty
check_status 3 sonde "${work[@]}" -o empty -- "$programs/ends" 5 exit
events empty
check_calls 5 work
check_status 3 sonde "${work[@]}" -o 'a name, – and more' -- "$programs/ends" 5 exit
events 'a name, – and more'
check_calls 5 work

# One that is being recorded into is not moved away.
need_program waits
command sonde "${work[@]}" -o busy -- "$programs/waits" file >out 2>err &
sonde=$!
await 10 grep -q ready out
check_status 2 sonde "${work[@]}" -o busy -- "$programs/ends" 5 exit
check_contains err '^sonde: busy: another sonde is recording there'
>go
wait "$sonde" || fail "the one that was first"
events busy
check_calls 42000 work

# A read-only place.
if [ "$(id -u)" -ne 0 ]; then
	mkdir locked
	chmod a-w locked
	check_status 2 sonde "${work[@]}" -o locked/t -- sh -c 'touch ran'
fi

# Programs that change their folder or root before they end do not matter.
check_status 0 sonde "${work[@]}" -o moved -- sh -c "cd / && $programs/ends 1 return; :"
[ -f moved/metadata ] || fail "where did the trace go?"

# Nobody else reads a trace, whatever the umask says; a rank's neither.
(
	umask 000
	check_status 3 sonde -F '*' --mem "${work[@]}" -o private -- "$programs/ends" 5 exit
	PMI_RANK=1 PMI_SIZE=2 check_status 3 sonde "${work[@]}" -o private-ranks -- "$programs/ends" 5 exit
) || exit 1
[ -f private-ranks/rank-1/metadata ] && [ -n "$(ls private/*.memory)" ] || fail "not all kinds of files"
[ -z "$(find private private-ranks -perm /077)" ] || fail "for others: $(find private private-ranks -perm /077 -ls)"
[ "$(stat -c %a private)" = 700 ] && [ "$(stat -c %a private/metadata)" = 600 ] || fail "not for its owner"

# A trace that is deleted meanwhile: the program does not notice, the user is told.
check_status 5 sonde "${work[@]}" -o gone -- sh -c "rm -r gone; exit 5"
check_contains err '^sonde: gone: the trace was deleted while it was recorded$'
