# SPDX-License-Identifier: GPL-3.0-or-later
# What `make install` puts in place works by itself: no environment, no build tree.
# With INSTALLED, the bin folder of an installation (`make installcheck`), tests that one.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

if [ -z "${INSTALLED-}" ]; then
	# The flags are those of the make that runs the tests, which is none of ours.
	unset MAKEFLAGS MFLAGS MAKELEVEL
	make -C "$top_builddir" install DESTDIR="$PWD/root" >make.log 2>&1 || {
		tail -n 40 make.log
		fail "make install"
	}
	INSTALLED=$(dirname "$(find "$PWD/root" -path '*/bin/sonde')")
fi
PATH=$INSTALLED:/usr/bin:/bin
[ "$(command -v sonde)" = "$INSTALLED/sonde" ] || [ -x "$INSTALLED/sonde" ] || fail "no sonde"

check_status 0 sonde --version
check_contains out "^sonde $PACKAGE_VERSION\$"
check_status 0 sonde module list --brief
for module in cachesim mark memcount memory memprofile memtrace openmp posixio pthread sharing; do
	check_contains out "^$module "
done

head -c 100000 /dev/zero >data
same_run -o t -m posixio -- head -c 50000 data
check_status 0 sonde dump t
check_contains out ' enter +read '
check_status 0 sonde report t
check_contains out 'read'

cat >x.c <<'X'
#include <unistd.h>
#include <sonde/module.h>

SONDE_MODULE("x", "reads");

SONDE_WRAP(ssize_t, read, (int fd, void *buf, size_t n))
{
	sonde_enter(SONDE_U64("n", n));
	ssize_t result = SONDE_REAL(read)(fd, buf, n);
	sonde_leave(SONDE_I64("result", result));
	return result;
}
X
same_run -o t -m ./x.c -- head -c 50000 data
check_status 0 sonde dump t
check_contains out ' leave +read result='

# The library that reads traces, for programs of others.
need_command pkg-config
prefix=$(dirname "$INSTALLED")
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name sonde-trace.pc)")
export PKG_CONFIG_PATH
cat >reader.c <<'X'
#include <sonde/trace.h>
#include <stdio.h>

int main(void)
{
	struct sonde_trace *trace;

	if (sonde_trace_open("t", &trace, NULL) != SONDE_TRACE_OK)
		return 1;
	printf("%zu threads\n", sonde_trace_threads(trace));
	sonde_trace_close(trace);
	return 0;
}
X
flags=$(pkg-config --define-prefix --cflags --libs sonde-trace) || fail "pkg-config sonde-trace"
# shellcheck disable=SC2086
$CC -o reader reader.c $flags || fail "does not compile with: $flags"
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") check_status 0 ./reader
check_contains out '^1 threads$'

# Memory accesses, with the example that is installed.
example=$(find "$prefix" -path '*/examples/accesses.c')
# shellcheck disable=SC2086
$CC -o accesses "$example" $flags || fail "accesses.c does not compile with: $flags"
check_status 0 sonde --mem -o m -- ls -l /usr/bin
check_status 0 sonde dump --mem m
wc -l <out >dumped
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") check_status 0 ./accesses m
[ "$(wc -l <out)" -gt 100 ] || fail "few accesses"
[ "$(wc -l <out)" -eq "$(cat dumped)" ] || fail "$(wc -l <out) accesses instead of $(cat dumped)"
