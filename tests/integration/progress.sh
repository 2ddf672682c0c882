# SPDX-License-Identifier: GPL-3.0-or-later
# --progress says on standard error how far a recording is, while it runs: a line each time, or on a terminal one that is gone at the end.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/steps.sh"
need_ptrace
need_program steps

erase=$(printf '\r\033[K')

# says LINE: it is said, by the last line if that is one.
says()
{
	tr '\r' '\n' <"$1" | grep -Eqx "(.*\[K)?sonde: recording for [0-9]+ s: $2"
}

for program in steps steps-static; do
	[ -x "$programs/$program" ] || continue
	begin $program -F work --progress
	step 100
	await 60 says steps.err '600 events, [0-9.]+ (B|KiB), nothing lost'
	step 100
	await 60 says steps.err '1200 events, [0-9.]+ (B|KiB), nothing lost'
	finish 7
	grep -qF "$erase" steps.err && fail "escape sequences where there is no terminal"
	grep -Evq '^sonde: recording for ' steps.err && { show steps.err; fail "other lines"; }
	printf '100\n100\n' | cmp -s - steps.out || { show steps.out; fail "the program's output"; }
done

# nobody waits for who does not read
mkfifo unread
exec 6<>unread
dd if=/dev/zero of=unread bs=4096 count=256 oflag=nonblock 2>/dev/null && fail "a pipe is never full"
rm -rf in t steps.out
mkfifo in
command sonde -o t -F work --progress -- "$programs/steps" <in >steps.out 2>unread &
sonde=$!
exec 5>in
await 20 [ -e steps.out ]
done=0
step 100
sleep 2.2
step 100
finish 7
exec 6<&-
events t
check_calls 600 work

# on a terminal there is one line, and nothing is left of it; without the option there is none
command -v script >/dev/null || exit 0
for option in --progress ''; do
	rm -rf in t steps.out
	mkfifo in
	LC_ALL=C script -qefc "sonde -o t -F work $option -- '$programs/steps' <in >steps.out" typescript </dev/null >/dev/null &
	sonde=$!
	exec 5>in
	await 20 [ -e steps.out ]
	done=0
	step 100
	[ ! "$option" ] || await 60 says typescript '600 events, [0-9.]+ (B|KiB), nothing lost'
	finish 7
	if [ "$option" ]; then
		case $(sed '/^Script done/,$d' typescript | grep . | tail -n 1) in
		*"$erase") ;;
		*) show typescript; fail "the line is still there" ;;
		esac
	else
		grep -q 'recording for' typescript && fail "nobody has asked for it"
	fi
done
exit 0
