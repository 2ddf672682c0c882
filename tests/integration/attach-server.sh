# SPDX-License-Identifier: GPL-3.0-or-later
# A server under load, an interpreter, a program of another user: recorded while they run, no reply is lost or wrong.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_program busy

# another user's, by root: it cannot open what is root's
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	own=$(mktemp -d /tmp/sonde-attach.XXXXXX)
	chmod 755 "$own"
	cp "$programs/busy" "$own"
	start setpriv --reuid=65534 --regid=65534 --clear-groups "$own/busy" 2
	rm -r "$own"
	# its file is gone, too
	attach_briefly -F '*'
	check_left
	check_status 0 sonde report t
	check_contains out ' mix( |$)'
	finish
	check_contains target.out '^wrong 0, signals missed 0, handler kept, rounds many$'
fi

if installed redis-server redis-cli redis-benchmark; then
	socket=$PWD/socket
	redis-server --port 0 --unixsocket "$socket" --save '' --dir "$PWD" --io-threads 2 >target.out 2>target.err &
	target=$!
	cli=(redis-cli -s "$socket")
	await 20 eval '"${cli[@]}" ping 2>/dev/null | grep -q PONG'
	note_target
	redis-benchmark -s "$socket" -q -n 10000 -c 10 -t set,get,lpush,lrange_100 >bench.out 2>&1 &
	bench=$!
	for _ in 1 2 3 4 5 6; do
		attach_briefly -F '*'
		check_status 0 "${cli[@]}" incr counter
		check_status 0 "${cli[@]}" eval 'local s = 0; for i = 1, 1000 do s = s + i end; return s' 0
		check_contains out 500500
	done
	wait "$bench" || { show bench.out; fail "redis-benchmark"; }
	check_left
	check_status 0 "${cli[@]}" get counter
	check_contains out '^6$'
	kill -TERM "$target"
	status=0
	wait "$target" || status=$?
	[ "$status" -eq 0 ] || { show target.out target.err; fail "exit status $status of redis-server"; }
	check_lacks target.out 'BUG REPORT'
fi

if installed nginx ab curl && [ "$(id -u)" -eq 0 ]; then
	port=$((20000 + $$ % 20000))
	mkdir -p nginx/html
	seq 20000 >nginx/html/numbers
	cat >nginx.conf <<-END
		daemon off;
		worker_processes 1;
		user root;
		error_log $PWD/nginx/log;
		pid $PWD/nginx/pid;
		events { worker_connections 64; }
		http {
			access_log off;
			client_body_temp_path $PWD/nginx/1; proxy_temp_path $PWD/nginx/2; fastcgi_temp_path $PWD/nginx/3;
			uwsgi_temp_path $PWD/nginx/4; scgi_temp_path $PWD/nginx/5;
			server { listen 127.0.0.1:$port; root $PWD/nginx/html; }
		}
	END
	nginx -c "$PWD/nginx.conf" >target.out 2>target.err &
	target=$!
	await 20 curl -sf -o numbers "http://127.0.0.1:$port/numbers"
	worker=$(pgrep -P "$target")
	code_of "$worker" | cksum >worker.before
	note_target
	ab -q -n 3000 -c 5 "http://127.0.0.1:$port/numbers" >ab.out 2>&1 &
	bench=$!
	for _ in $(seq 10); do
		attach_briefly -F '*' "$worker"
		code_of "$worker" | cksum >worker.after
		check_same worker.before worker.after "the code of nginx' worker"
		rm numbers
		check_status 0 curl -sf -o numbers "http://127.0.0.1:$port/numbers"
		check_same nginx/html/numbers numbers "what nginx served"
	done
	wait "$bench" || { show ab.out; fail "ab"; }
	check_contains ab.out '^Complete requests: +3000$'
	check_contains ab.out '^Failed requests: +0$'
	check_left
	kill -QUIT "$target"
	status=0
	wait "$target" || status=$?
	[ "$status" -eq 0 ] || { show target.out target.err; fail "exit status $status of nginx"; }
fi

if command -v /usr/bin/python3 >/dev/null; then
	start_python3
	for _ in 1 2 3; do
		attach_briefly -q -F 'Py*' --libs='*python*'
		check_left
	done
	finish
	check_contains target.out '^right$'
fi
