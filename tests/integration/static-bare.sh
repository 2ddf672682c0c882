# SPDX-License-Identifier: GPL-3.0-or-later
# Static programs of Debian, as they are, and without unwind tables and section headers: they do the same with all functions recorded,
# and with what may be functions as well.  Those that Go made are left alone, which is said.
#
# STATIC_BARE=full    larger ones, too (some minutes)
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command objcopy

# What shells do: builtins, pipes, functions, a subshell, a here document, an exit status.
cat >job.sh <<'END'
f() { i=0; while [ $i -lt 20 ]; do i=$((i + 1)); done; echo "f $1 $i"; }
f one
f two | cat
(cd /; echo "in $(pwd)"; exit 3)
echo "status $?"
case abc in a*) echo matches ;; esac
cat <<EOT
here $((6 * 7))
EOT
exit 5
END
cat >simple.sh <<'END'
-echo one two
-pwd
echo three
exit
END
mkdir files && cp job.sh simple.sh files

# bare FILE: without symbols, unwind tables, section headers
bare()
{
	objcopy --strip-all --remove-section=.eh_frame --remove-section=.eh_frame_hdr --remove-section=.gcc_except_table "$1" "$2" 2>objcopy.err ||
		return
	printf '\0\0\0\0\0\0\0\0' | dd of="$2" bs=1 seek=40 conv=notrunc status=none # e_shoff
	printf '\0\0\0\0' | dd of="$2" bs=1 seek=60 conv=notrunc status=none         # e_shnum, e_shstrndx
}

tried=0
# each NAME FILE ARGUMENT...
each()
{
	local name=$1 file=$2 how
	shift 2
	[ -x "$file" ] || { echo "no $file"; return; }
	cp "$file" "$name"
	bare "$file" "$name.bare" || fail "objcopy of $file"
	for how in "$name" "$name.bare"; do
		# what looks for its own tables does not run without
		[ "$how" = "$name" ] || "./$how" "$@" <"${STDIN:-/dev/null}" >alone.out 2>&1 || [ $? -lt 126 ] || { echo "$how does not run"; continue; }
		same_run -q --no-follow -F '*' -o t -- "./$how" "$@"
		damaged=expected events t
		check_contains info.txt '^lost +nothing$'
		[ "$(count 'enter()')" -gt 100 ] || fail "$how: $(count 'enter()') calls"
		same_run -q --no-follow -F '*' --guess -o t -- "./$how" "$@"
	done
	tried=$((tried + 1))
}

each busybox /bin/busybox sh job.sh
each klibc /usr/lib/klibc/bin/mksh job.sh
each ldconfig /sbin/ldconfig -p
if [ "${STATIC_BARE:-}" = full ]; then
	STDIN=simple.sh each sash /bin/sash
	each bash /bin/bash-static job.sh
	each zsh /bin/zsh-static -f job.sh
	each dar /usr/bin/dar_static -N -Q -w -c archive -z -R files
	[ ! -x /usr/bin/dar_static ] || dar_static -N -Q -t archive >dar.out 2>&1 || { show dar.out; fail "not the archive that dar makes alone"; }
fi
[ $tried -gt 0 ] || skip "no static programs"

# Go's functions move their stacks; none is touched.
for go in /usr/lib/go-*/pkg/tool/linux_amd64/compile; do
	[ -x "$go" ] || continue
	same_run -q -F '*' -o t -- "$go" -V
	sonde list -F '*' "$go" >listed 2>list.err
	cat listed >>list.err
	check_contains list.err 'made by Go, whose functions are left alone|compiled by Go'
done
