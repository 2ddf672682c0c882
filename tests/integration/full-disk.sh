# SPDX-License-Identifier: GPL-3.0-or-later
# The disk is full: the user is told, the program is not harmed, and what was written can be read.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program random

cat >on-small-disk.sh <<'EOF'
. "$top_srcdir/tests/integration/lib.sh"
mkdir disk
mount -t tmpfs -o size=4m none disk || exit 77
# 600,000 events, 24 MB that do not compress
plain=0
"$programs/random" 300000 >plain.out || plain=$?
check_status "$plain" sonde -o disk/t -m "$modules/noise.c" -- "$programs/random" 300000
check_same plain.out out "stdout"
check_contains err '^sonde: .*[Nn]o space left on device.*discarded$'
check_contains err '^sonde: .* [0-9]+ events could not be written$'
[ "$(wc -l <err)" -le 4 ] || { show err; fail "too many words"; }
discarded=$(sed -n 's/.* \([0-9]*\) events could not be written$/\1/p' err)
sonde info disk/t >info.txt 2>info.err || { show info.txt info.err; fail "sonde info"; }
sonde dump --json disk/t >events.json 2>dump.err || { show dump.err; fail "sonde dump"; }
recorded=$(count 'enter("noise") || returned("noise")')
[ "$recorded" -gt 10000 ] || fail "only $recorded events are readable"
[ "$((recorded + discarded))" -eq 600000 ] || fail "$recorded read, $discarded discarded, of 600000"
sonde report disk/t >report.txt 2>&1 || { show report.txt; fail "sonde report"; }
check_contains report.txt noise

# Memory accesses: parts of streams, not events.
rm -rf disk/t
mount -o remount,size=400k disk
head -c 200000 /dev/urandom >noise
gzip -c noise >plain.gz
check_status 0 sonde --mem -o disk/t -- gzip -c noise
check_same plain.gz out "stdout"
check_contains err '^sonde: .* [0-9]+ parts of the memory accesses were lost$'
check_lacks err '[0-9] events '
sonde info disk/t >info.txt
check_contains info.txt '^lost  *[0-9]+ parts of memory streams$'
check_lacks info.txt '^lost  *(nothing|.* events)$'
mount -o remount,size=4m disk

# Full from the start: nothing can be recorded.
rm -rf disk/t
head -c 8M /dev/zero >disk/filler 2>/dev/null
sonde -o disk/t -m "$modules/noise.c" -- "$programs/random" 1000 >out 2>err
status=$?
[ -s err ] || fail "nobody said that the disk is full"
check_contains err '^sonde: '
case $status in
2)
	[ ! -s out ] || fail "the program ran though Sonde failed"
	[ ! -e disk/t ] || fail "a folder is left that is no trace"
	;;
5) ;;
*) fail "exit status $status" ;;
esac
EOF
unshare -m true 2>/dev/null || skip "no mount namespaces"
unshare -m bash on-small-disk.sh
