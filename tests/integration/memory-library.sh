# SPDX-License-Identifier: GPL-3.0-or-later
# Clients of libsondetrace read memory accesses: doc/examples/accesses.c prints what `sonde dump --mem` does.
. "$top_srcdir/tests/integration/lib.sh"
need_program threads
need_ptrace

# shellcheck disable=SC2086
$CC -Wall -Wextra -Werror -I"$top_srcdir/tracefmt/include" -o accesses "$top_srcdir/doc/examples/accesses.c" \
	-L"$top_builddir" -lsondetrace || fail "the example does not compile"
LD_LIBRARY_PATH=$top_builddir
export LD_LIBRARY_PATH

# without the columns' widths
sorted()
{
	tr -s ' ' <"$1" | sed 's/ 0x0*/ 0x/' | sort -s -k1,1
}

check_status 0 sonde --mem -o t -- "$programs/threads" 2 2 5000
check_status 0 sonde dump --mem --lines --mangled t
mv out dump
check_status 0 ./accesses t
[ -s out ] || fail "no accesses"
cmp <(sorted dump) <(sorted out) || fail "not the same accesses"
grep -q ' [a-z_]*+0x[0-9a-f]* .*threads\.c:[0-9]*$' out || fail "no source lines"

# ---- one thread ----

thread=$(cut -d' ' -f1 out | sort -u | tail -n 1)
check_status 0 sonde dump --mem --lines --mangled --thread="${thread#*.}" t
mv out dump
check_status 0 ./accesses t "${thread#*.}"
cmp <(sorted dump) <(sorted out) || fail "not the same accesses of a thread"
whole=$(wc -l <out)

# ---- cut off, damaged, without ----

stream=t/$thread.memory
cp "$stream" stream
truncate -s -40 "$stream"
check_status 1 ./accesses t "${thread#*.}"
check_contains err 'truncated here'
[ "$(wc -l <out)" -lt "$whole" ] || fail "nothing is missing"
rm "$stream"
check_status 0 ./accesses t "${thread#*.}"
[ ! -s out ] || fail "accesses of no stream"
printf 'x' | dd of=t/code.memory bs=1 conv=notrunc status=none
check_status 1 ./accesses t
check_contains err 'damaged'
