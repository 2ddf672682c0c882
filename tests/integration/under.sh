# SPDX-License-Identifier: GPL-3.0-or-later
# --under: only what is called while certain functions are on the thread's stack is recorded.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program confined

# check_outside: nothing is there that is not called from confine().
check_outside()
{
	check_count 0 'enter("outside")'
	check_count 0 'enter("main")'
	check_count 0 'enter("after")'
}

for program in confined confined-static confined_throws; do
	[ -x "$programs/$program" ] || continue
	for how in "" "-F *" "-F * --depth=30" "-F * --threshold-calls=1000000" "-F * --time=1ns"; do
		rm -rf t
		set -f
		same_run -o t --under='confine*' $how -- "$programs/$program"
		set +f
		events t
		check_outside
		check_contains info.txt ' --under=confine\*$'
		# calls that last no time are not to be there
		case $how in
		*--time*) continue ;;
		esac
		check_count "$(cat plain.out)" 'enter("inside")'
		[ "$program" = confined_throws ] || check_count "$(cat plain.out)" 'enter("work")'
	done
done

# what a module wraps, besides and alone: then nothing shows that longjmp() has left confine() before work() is called
for program in confined confined-static; do
	[ -x "$programs/$program" ] || continue
	for how in "-m $modules/work.c" "-F * -m $modules/work.c"; do
		rm -rf t
		set -f
		same_run -o t --under='confine,confine_tail' $how -- "$programs/$program" calm
		set +f
		events t
		check_count "$(cat plain.out)" 'enter("work")'
		check_count 0 'enter("outside")'
	done
done

# counted only
rm -rf t
same_run -o t --under='confine*' --clock=none -F 'inside,outside,work' -- "$programs/confined" calm
sonde report t >report.txt
check_contains report.txt "\\b$(cat plain.out) .*inside\$"
check_contains report.txt "\\b$(cat plain.out) .*work\$"
check_lacks report.txt 'outside'

# a list, and other functions beside
rm -rf t
same_run -o t --under=deeper,other_thread -- "$programs/confined"
events t
check_count 0 'enter("confine")'
check_count 0 'enter("outside")'
check_count 12 'enter("inside")'
check_count 1 'enter("other_thread")'

# switched off and on in the middle, and before: it is as open as it would be
rm -rf t
same_run -o t --under='confine*' --start-off --trigger='after=on' -F '*' -- "$programs/confined"
events t
check_count 0 'enter("outside")'
[ "$(count 'enter("inside")')" -gt 0 ] || fail "nothing after it was switched on"
rm -rf t
same_run -o t --under='confine' --start-off --trigger='deeper=on' -F '*' -- "$programs/confined"
events t
check_count 0 'enter("outside")'
check_count 6 'enter("deeper")'

rm -rf t
sonde -o t --under=nonsuch -- "$programs/confined" >out 2>err
check_contains err 'under nonsuch: no such function'
for bad in --under= --under=/\(/ "--under=a --mem"; do
	check_usage_error sonde -o bad $bad -- true
done
