# SPDX-License-Identifier: GPL-3.0-or-later
# What the command accepts and refuses, before any program is run; its exit statuses.
. "$top_srcdir/tests/integration/lib.sh"

check_status 0 sonde --version
check_contains out "^sonde $PACKAGE_VERSION\$"
check_status 0 sonde --help
check_contains out '^Usage: sonde '
check_status 0 sonde -h
check_status 0 sonde help
check_usage_error sonde
check_usage_error sonde help nonsense
check_usage_error sonde --nonsense
check_contains err '--nonsense'
check_contains err 'sonde record --help'

# Every verb names the bad option and the way to its help.
for verb in record attach detach ctl top report cache dump export info list disasm blocks tags doctor; do
	check_usage_error sonde $verb --nonsense
	check_contains err 'unknown option --nonsense'
	check_contains err "sonde $verb --help"
done
for verb in "module" "module list" "module new" "module build"; do
	# shellcheck disable=SC2086
	check_usage_error sonde $verb --nonsense
	check_contains err "sonde $verb --help"
done
check_usage_error sonde module
check_usage_error sonde module nonsense
check_usage_error sonde list
check_usage_error sonde blocks
check_usage_error sonde tags
check_usage_error sonde cache --csv --json
check_usage_error sonde cache --list --csv
check_usage_error sonde blocks --csv --json /bin/true
check_usage_error sonde disasm
check_usage_error sonde disasm /bin/true
check_usage_error sonde doctor something

# Nothing is left behind by errors.
check_usage_error sonde -m nonsuch /bin/true
check_contains err "no module 'nonsuch'"
check_usage_error sonde -m ptread /bin/true
check_contains err "did you mean 'pthread'"
check_usage_error sonde -m ./none.so /bin/true
check_usage_error sonde -m '' /bin/true
check_usage_error sonde --buffer=3 /bin/true
check_usage_error sonde --overflow=maybe /bin/true
check_usage_error sonde -F '/(/' /bin/true
check_usage_error sonde -F '*' --clock=none --depth=3 /bin/true
check_usage_error sonde --time=1ms /bin/true
check_contains err 'no -F'
check_usage_error sonde -o
check_usage_error sonde -o /proc/nowhere/below /bin/true
check_status 127 sonde ./nonsuch
check_status 127 sonde nonsuch-program
check_status 126 sonde /
check_status 126 sonde /etc/passwd
check_status 127 sonde -m pthread -o kept -- nonsuch-program
[ ! -e sonde.data ] && [ ! -e kept ] || fail "a failed start left a trace folder"

# A folder of the user's own is not touched.
mkdir own && echo precious >own/file
check_usage_error sonde -o own /bin/true
check_contains err 'not a Sonde trace'
echo precious | cmp -s - own/file || fail "the user's file was changed"
[ "$(ls -A own)" = file ] || fail "something was added to the user's folder"

# A full disk behind the output is an error.
if [ -w /dev/full ]; then
	sonde --help >/dev/full 2>err && fail "success on a full disk"
	check_contains err 'standard output'
fi

# The doctor: 0 or 1, never a crash; a line for each check.
sonde doctor >out 2>err
[ $? -le 1 ] || fail "the doctor's exit status"
[ "$(grep -cE '^(ok|warn|FAIL) ' out)" -ge 8 ] || { show out err; fail "the doctor's lines"; }

# list: what a program of ours has, what it has not.
cat >small.c <<-'END'
	int twice(int x) { return 2 * x; }
	void tiny(void) {}
	int main(void) { return twice(0); }
END
$CC -O0 -o small small.c
check_status 0 sonde list ./small twice
check_contains out '  twice$'
check_contains out 'modules can wrap 1 of 1 function'
check_usage_error sonde list ./small 'nonsuch*'
check_status 0 sonde list -l ./small malloc
check_contains out 'malloc'
check_status 126 sonde list ./small.c
