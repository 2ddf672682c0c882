# SPDX-License-Identifier: GPL-3.0-or-later
# Programs that cannot be run, or not be traced: the shell's exit statuses, the reason, no trace.
. "$top_srcdir/tests/integration/lib.sh"
need_program ends

# check_refused STATUS MESSAGE COMMAND...
check_refused()
{
	local status=$1 message=$2
	shift 2
	check_status "$status" sonde -o t -- "$@"
	[ ! -s out ] || { show out; fail "it ran: $*"; }
	[ "$(wc -l <err)" -eq 1 ] || { show err; fail "not one line: $*"; }
	check_contains err "^sonde: .*$message"
	[ ! -e t ] || fail "left a trace folder: $*"
}

check_refused 127 'no-such-program: not found' no-such-program
check_refused 127 'not found' ./no-such-program
check_refused 127 'not found' /etc/passwd/nothing
check_refused 126 'is a directory' /tmp
check_refused 126 'is a directory' ./
printf 'echo hello\n' >plain
check_refused 126 'is not executable' ./plain
cp "$programs/ends" ends
chmod -x ends
check_refused 126 'is not executable' ./ends
head -c 100 /dev/urandom >noise
printf '\0' | cat - noise >binary
chmod +x binary
check_refused 126 'neither an ELF program nor a script' ./binary

# ELF files of other machines, of 32 bits, and damaged ones: bytes 4, 5, 16 and 18 of the header.
patched()
{
	cp "$programs/ends" "$1"
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
patched bits32 4 '\001'
check_refused 126 'x32' ./bits32
cp bits32 i386
printf '\003' | dd of=i386 bs=1 seek=18 conv=notrunc 2>/dev/null
check_refused 126 '32-bit' ./i386
patched machine 18 '\267'
check_refused 126 'machine|AArch64|architecture' ./machine
patched endian 5 '\002'
check_refused 126 'bits32|endian|ELF|machine' ./endian
patched object 16 '\001'
check_refused 126 'object|not a program|no program|ELF' ./object
head -c 40 "$programs/ends" >short
chmod +x short
check_refused 126 'short|damaged|truncated|ELF' ./short
if command -v gcc >/dev/null && echo 'int main(void){return 0;}' >m.c && gcc -m32 -nostdlib -static \
	-e main -o real32 m.c 2>/dev/null; then
	check_refused 126 '32-bit' ./real32
fi

# A dynamic linker that is not there.
if $CC -Wl,--dynamic-linker=/nowhere/ld.so -o nolinker "$top_srcdir/tests/programs/ends.c" 2>/dev/null; then
	check_refused 127 'dynamic linker /nowhere/ld.so' ./nolinker
fi

# Scripts.
script()
{
	printf '%b' "$2" >"$1"
	chmod +x "$1"
}
script nointerp '#!/no/such/interpreter\n'
check_refused 127 'interpreter /no/such/interpreter' ./nointerp
script empty '#!\necho hello\n'
check_refused 126 'names no interpreter' ./empty
script self "#!$PWD/self\n"
check_refused 126 'interpreter' ./self

# Programs that gain privileges, for those who do not have them.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	public=$(mktemp -d /tmp/sonde-test.XXXXXX)
	chmod 777 "$public"
	cp "$(type -P sonde)" "$public/sonde"
	cp /bin/true "$public/setuid"
	chown 1:1 "$public/setuid"
	chmod 4755 "$public/setuid"
	status=0
	"${limit[@]}" setpriv --reuid=65534 --regid=65534 --clear-groups \
		env -C "$public" ./sonde -o t -- ./setuid >out 2>err || status=$?
	left=$(ls "$public")
	rm -rf "$public"
	[ "$status" -eq 126 ] || { show err; fail "exit status $status for a set-user-ID program"; }
	check_contains err '^sonde: ./setuid: gains privileges.*set-user-ID'
	[ "$left" = "$(printf 'setuid\nsonde')" ] || fail "left behind: $left"
fi
