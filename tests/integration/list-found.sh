# SPDX-License-Identifier: GPL-3.0-or-later
# Functions without symbols and unwind tables: found in programs that were stripped of both, and compared with the symbols that
# they had.  None may be wrong, 80 % of them found by default, 92 % with --guess, of which one in a hundred may be wrong.
. "$top_srcdir/tests/integration/lib.sh"
command -v objcopy >/dev/null || skip "no objcopy"
programs=$top_srcdir/tests/programs

# bare FILE FROM: neither symbols, nor unwind tables, nor section headers
bare()
{
	objcopy --strip-all --remove-section=.eh_frame --remove-section=.eh_frame_hdr \
		--remove-section=.gcc_except_table "$2" "$1"
	printf '\0\0\0\0\0\0\0\0' | dd of="$1" bs=1 seek=40 conv=notrunc status=none # e_shoff
	printf '\0\0\0\0' | dd of="$1" bs=1 seek=60 conv=notrunc status=none         # e_shnum, e_shstrndx
}

# symbols FILE: addresses of its functions ("F"), and of what else has a name in its code ("L")
symbols()
{
	readelf -sW "$1" | awk '$7 ~ /^[0-9]+$/ && ($4 == "FUNC" || $4 == "IFUNC" || $4 == "NOTYPE") {
		sub(/^0+/, "", $2); print $8 ~ /\.cold$/ || $4 == "NOTYPE" ? "L" : "F", $2 }'
}

# found FILE SYMBOLS MOST: what is certain, which is all that is listed by default, is 80 % of the functions at least, none wrong; with what is
# guessed 92 %, and at most MOST percent wrong
found()
{
	sonde list -F '*' --csv --guess "./$1" >listed 2>list.err || fail "sonde list $1"
	awk -F, -v most="$3" -v what="$1" '
		FILENAME == ARGV[1] { split($0, s, " "); kind[s[2]] = kind[s[2]] s[1]; next }
		FNR > 1 { addr = substr($2, 3); listed[addr] = 1; n++; if (/,certain,/) { certain[addr] = 1; sure++ } }
		END {
			for (a in kind) if (kind[a] ~ /F/) { all++; hit += a in listed; hit_sure += a in certain }
			for (a in listed) { wrong += !(a in kind); wrong_sure += a in certain && !(a in kind) }
			printf "%s: %.1f %% of %d found, %d of %d wrong; with guessed ones %.1f %%, %d of %d wrong\n", what,
				100 * hit_sure / all, all, wrong_sure, sure, 100 * hit / all, wrong, n
			exit !(all && 100 * hit_sure / all >= 80 && !wrong_sure && 100 * hit / all >= 92 && 100 * wrong / n <= most)
		}' "$2" listed || fail "not as many, or more wrong ones"
}

$CC -O2 -static -I"$programs" -o static "$programs/demo.c" -pthread || skip "no static C library"
$CC -O2 -I"$programs" -o dynamic "$programs/fn_tails.c" -lm
# Code and data in one segment, where nothing says which is which: data after the code, and before it, as other linkers have it.
$CC -O2 -static -no-pie -Wl,-z,noseparate-code -I"$programs" -o joined "$programs/demo.c" -pthread || fail "no program of one segment"
! command -v ld.lld >/dev/null || clang -fuse-ld=lld -O2 -static -Wl,--no-rosegment -I"$programs" -o before "$programs/demo.c" -pthread ||
	rm -f before
for file in static dynamic joined before; do
	[ -e "$file" ] || continue
	bare "$file.bare" "$file"
	symbols "$file" >"$file.symbols"
	found "$file.bare" "$file.symbols" 1
	grep -q '"called' listed || fail "no evidence"
	[ $file = static ] || continue
	sonde list -F '*' --csv ./static.bare | sort >plain
	grep -v ',guessed,' listed | sort | cmp - plain || fail "not what is certain is listed by default"
done

# C++, in which exceptions leave code that nothing leads to without its tables, and tables of virtual functions are at hand
if command -v g++ >/dev/null; then
	g++ -O2 -o virtual "$programs/fn_virtual.cc" && g++ -O2 -o throws "$programs/fn_throws.cc" ||
		fail "no C++ programs"
	for file in virtual throws; do
		bare $file.bare $file
		symbols $file >$file.symbols
		found $file.bare $file.symbols 2 # of some there are only a few dozen
		[ $file = throws ] || grep -q 'address in data, virtual' listed || fail "no virtual functions"
	done
fi

# how much code is in none of them is said where functions are chosen, in the trace, too
sonde list -F '*' -v ./static.bare >listed 2>list.err || fail "sonde list -v"
grep -Eq '^(sonde: warning: )?./static.bare: .* of its code \(.* %\) belong to no known function; --guess takes more$' listed list.err ||
	fail "nothing is said of code in no function"
grep -q ' sub_[0-9a-f]*  (.*called' listed || fail "no evidence"

# a warning, where it is much: what a jump leads to that only the program can compute is not known
cat >hidden.s <<'END'
	.globl _start
_start:	lea hidden(%rip), %rax
	xor %ecx, %ecx
	xor %rcx, %rax
	jmp *%rax
	ud2
	.fill 3000, 1, 6
hidden:	mov $231, %eax
	mov $4, %edi
	syscall
	hlt
END
$CC -nostdlib -static -o hidden hidden.s || fail "no program of assembly"
bare hidden.bare hidden
sonde list -F '*' ./hidden.bare >listed 2>list.err || fail "sonde list"
grep -q '^sonde: warning: ./hidden.bare: .* of its code (.* %) belong to no known function' list.err || { show listed list.err; fail "no warning"; }
same_run -F '*' -o t -- ./dynamic.bare
sonde dump t >dump || fail "sonde dump"
grep -q 'enter *sub_' dump || fail "no calls"
check_status 2 sonde list --guess ./dynamic.bare
