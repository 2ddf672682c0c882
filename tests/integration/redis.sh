# SPDX-License-Identifier: GPL-3.0-or-later
# A server: threads, a fork for its snapshot, thousands of requests; SIGTERM through sonde ends it.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command redis-server redis-cli redis-benchmark

socket=$PWD/socket
cli=(redis-cli -s "$socket")
command sonde -o t -m posixio,memory,pthread -- redis-server --port 0 --unixsocket "$socket" --save '' \
	--dir "$PWD" --io-threads 2 >server.out 2>server.err &
sonde=$!
await 20 eval '"${cli[@]}" ping 2>/dev/null | grep -q PONG'

redis-benchmark -s "$socket" -q -n 3000 -c 10 -t set,get,lpush,lrange_100 >bench.out 2>&1 ||
	{ show bench.out; fail "redis-benchmark"; }
check_status 0 "${cli[@]}" set key value
check_contains out '^OK$'
check_status 0 "${cli[@]}" bgsave
await 20 eval '"${cli[@]}" info persistence | grep -q rdb_bgsave_in_progress:0'
check_status 0 "${cli[@]}" info persistence
check_contains out 'rdb_last_bgsave_status:ok'
check_status 0 "${cli[@]}" eval 'local s = 0; for i = 1, 1000 do s = s + i end; return s' 0
check_contains out 500500
check_status 0 "${cli[@]}" get key
check_contains out '^value$'

kill -TERM "$sonde"
status=0
wait "$sonde" || status=$?
[ "$status" -eq 0 ] || { show server.out server.err; fail "exit status $status"; }
check_contains server.out 'User requested shutdown'
check_lacks server.out 'BUG REPORT'
[ ! -s server.err ] || { show server.err; fail "messages on stderr"; }
events t
[ "$(count 'enter("read")')" -ge 3000 ] || fail "$(count 'enter("read")') calls of read"
[ "$(grep -c '"type":"process"' t/metadata)" -ge 2 ] || fail "the child of BGSAVE is missing"
