# SPDX-License-Identifier: GPL-3.0-or-later
# For scripts that try many programs, which are to print, and end, as they do without Sonde: all of them, also after
# one has failed.  They set
#	record		array: options of sonde
#	examine		function that looks at the trace, t, and removes it; its last line is shown
#	long		not empty: try_long counts, too
#	only		not empty: only programs of these names
# and end with all_same.
tried=0 failed=0

# have COMMAND...: are they installed?
have()
{
	local name
	for name; do
		command -v "$name" >/dev/null || { echo "left out: no $name"; return 1; }
	done
}

# wanted NAME: is it to be tried?
wanted()
{
	[ -z "$only" ] && return
	case " $only " in *" $1 "*) ;; *) return 1 ;; esac
}

# result NAME STATUS SECONDS
result()
{
	tried=$((tried + 1))
	if [ "$2" -eq 0 ]; then
		echo "$1: the same, $3"
		rm -rf "$1.d"
	else
		failed=$((failed + 1))
		echo "$1: FAILED"
		sed 's/^/    /' "$1.d/log" 2>/dev/null | head -30
	fi
}

# try NAME [SONDE-OPTION...] -- COMMAND...: in a folder of its own, the files of which are in ..
try()
{
	local name=$1 begin=$SECONDS status
	shift
	wanted "$name" || return 0
	mkdir -p "$name.d"
	(
		cd "$name.d" || exit 1
		same_run -q -o t "${record[@]}" "$@" && "$examine"
	) >"$name.d/log" 2>&1 </dev/null
	status=$?
	result "$name" "$status" "$((SECONDS - begin)) s, $(tail -n 1 "$name.d/log")"
}

# The long ones.
try_long()
{
	[ "$long" ] || return 0
	try "$@"
}

all_same()
{
	[ "$tried" -gt 0 ] || fail "nothing was tried"
	echo "$tried programs tried, $failed failed"
	[ "$failed" -eq 0 ]
}
