# SPDX-License-Identifier: GPL-3.0-or-later
# Attach and detach many times in a row to programs under load: the code is as before each time, and no reply is lost or wrong.
# SONDE_TEST_ROUNDS: how often each (500). Arguments: which of them (all that are installed).
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_program busy
rounds=${SONDE_TEST_ROUNDS:-500}
[ $# -gt 0 ] || set -- threads busybox python3 node java redis nginx

# cycles NAME OPTION...: all rounds; says how many, how long, and the longest stop that attach reported.
cycles()
{
	local name=$1 i began=$SECONDS
	rm -f stops.txt
	shift
	for ((i = 0; i < rounds; i++)); do
		attach_briefly -v "$@"
		check_code
		grep -oE '(at|de)tached: .* for [0-9.]+' attach.err >>stops.txt
	done
	echo "$name: $rounds rounds in $((SECONDS - began)) s, stopped at most $(awk '{ print $NF }' stops.txt | sort -n | tail -1) ms: $*"
}

# attach_briefly with what it says kept apart: -v has messages.
attach_briefly()
{
	local status=0
	rm -rf t
	command sonde attach -o t "$@" --duration=20ms "$target" >attach.out 2>attach.err || status=$?
	[ "$status" -eq 0 ] || { show attach.out attach.err; fail "exit status $status of sonde attach $*"; }
	! grep -E 'warning|cannot|lost|refused' attach.err || fail "messages of sonde attach $*"
}

# run_threads: 64 threads that compute and check
run_threads()
{
	start "$programs/busy" 64
	cycles threads -F '*' --libs
	finish
	check_contains target.out '^wrong 0, signals missed 0, handler kept, rounds many$'
}

run_busybox()
{
	start busybox sh -c 'echo ready; i=0; wrong=0
		while [ $i -ge 0 ]; do
			x=$((i * 7 % 13)); case $x in [0-9]|1[0-2]) ;; *) wrong=$((wrong + 1)) ;; esac
			[ "$(printf %03d $x)" -lt 13 ] || wrong=$((wrong + 1))
			i=$((i + 1)); [ $((i % 100)) -ne 0 ] || [ ! -e over ] || break
		done; read line; echo wrong $wrong'
	cycles busybox -F '*'
	touch over
	finish
	check_contains target.out '^wrong 0$'
}

run_python3()
{
	start_python3
	cycles python3 -F '*'
	finish
	check_contains target.out '^right$'
}

run_node()
{
	cat >served.js <<-'END'
		const http = require('http');
		let wrong = 0, served = 0, over = false;
		const server = http.createServer((request, response) => {
			const numbers = Array.from({length: 200}, (_, i) => (i * 7919) % 200).sort((a, b) => a - b);
			response.end(JSON.stringify({url: request.url, numbers}));
		}).listen(0, '127.0.0.1', () => { console.log('ready'); ask(0); ask(1); });
		function ask(n) {
			if (over) return;
			http.get({port: server.address().port, path: '/' + n, agent: false}, (response) => {
				let text = '';
				response.on('data', (part) => text += part);
				response.on('end', () => {
					const answer = JSON.parse(text);
					served++;
					if (answer.url !== '/' + n || answer.numbers.some((value, i) => value !== i)) wrong++;
					ask(n + 2);
				});
			}).on('error', () => { wrong++; ask(n + 2); });
		}
		process.stdin.on('data', () => { over = true; setTimeout(() => {
			console.log(`wrong ${wrong}, served ${served > 1000 ? 'many' : served}`); process.exit(0); }, 500); });
	END
	start node served.js
	cycles node -F 'node::*' -F 'uv_*' # of 100,000 functions
	finish
	check_contains target.out '^wrong 0, served many$'
}

run_java()
{
	cat >Busy.java <<-'END'
		public class Busy {
			static volatile boolean over;
			static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
			public static void main(String[] args) throws Exception {
				Thread[] all = new Thread[8];
				long[] wrong = new long[8];
				for (int t = 0; t < 8; t++) {
					int me = t;
					(all[t] = new Thread(() -> { while (!over) if (fib(20) != 6765 || new String(new char[99]).length() != 99) wrong[me]++; })).start();
				}
				System.out.println("ready");
				System.in.read();
				over = true;
				long sum = 0;
				for (int t = 0; t < 8; t++) { all[t].join(); sum += wrong[t]; }
				System.out.println("wrong " + sum);
			}
		}
	END
	start java Busy.java
	cycles java -F '*'
	finish
	check_contains target.out '^wrong 0$'
}

run_redis()
{
	local socket=$PWD/socket bench
	redis-server --port 0 --unixsocket "$socket" --save '' --dir "$PWD" --io-threads 2 >target.out 2>target.err &
	target=$!
	await 20 eval 'redis-cli -s "$socket" ping 2>/dev/null | grep -q PONG'
	note_target
	redis-benchmark -s "$socket" -q -l -n 10000 -c 10 -t set,get,lpush,lrange_100 >bench.out 2>&1 &
	bench=$!
	cycles redis -F '*'
	kill -0 "$bench" || { show bench.out; fail "redis-benchmark has ended"; }
	kill "$bench"
	check_left
	! grep -i error bench.out || fail "an error of redis-benchmark"
	kill -TERM "$target"
	wait "$target" || { show target.out target.err; fail "exit status $? of redis-server"; }
	check_lacks target.out 'BUG REPORT'
}

run_nginx()
{
	local port=$((20000 + $$ % 20000)) master bench
	mkdir -p nginx/html
	seq 20000 >nginx/html/numbers
	cat >nginx.conf <<-END
		daemon off;
		worker_processes 1;
		user root;
		error_log $PWD/nginx/log;
		pid $PWD/nginx/pid;
		events { worker_connections 64; }
		http { access_log off; server { listen 127.0.0.1:$port; root $PWD/nginx/html; } }
	END
	nginx -c "$PWD/nginx.conf" >master.out 2>master.err &
	master=$!
	await 20 curl -sf -o numbers "http://127.0.0.1:$port/numbers"
	target=$(pgrep -P "$master")
	note_target
	while [ ! -e served ]; do # until the rounds are over
		ab -q -n 3000 -c 5 "http://127.0.0.1:$port/numbers" >ab.out 2>&1
		grep -qE '^Complete requests: +3000$' ab.out && grep -qE '^Failed requests: +0$' ab.out || mv ab.out failed.out
	done &
	bench=$!
	cycles nginx -F '*'
	touch served
	wait "$bench"
	[ ! -e failed.out ] || { show failed.out; fail "ab"; }
	check_left
	kill -QUIT "$master"
	wait "$master" || { show master.out master.err; fail "exit status $? of nginx"; }
}

for name; do
	case $name in
	redis) installed redis-server redis-cli redis-benchmark ;;
	nginx) installed nginx ab curl ;;
	threads) true ;;
	*) installed "$name" ;;
	esac || { echo "$name: not installed"; continue; }
	"run_$name"
done
