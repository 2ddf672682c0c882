# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced, after lib.sh, by tests of `sonde export': what each format has, as its own reader sees it. Readers that are not
# installed are left out.

otf2=
grep -q '^#define HAVE_OTF2 1' "$top_builddir/config.h" && otf2=otf2

# exported FORMAT [OPTION...]: t in this format, as exported.py sees it, into the file exported.
exported()
{
	local file=trace.$1
	rm -rf "$file" exported
	check_status 0 sonde export -f "$1" -o "$file" "${@:2}" t
	case $1 in
	perfetto)
		command -v protoc >/dev/null || return 0
		protoc -I"$top_srcdir/tests/integration" --decode=Trace perfetto.proto <"$file" >decoded || fail "protoc"
		! grep -q '^ *[0-9]* *[:{]' decoded || fail "fields that Perfetto does not have"
		file=decoded
		;;
	otf2)
		command -v otf2-print >/dev/null || return 0
		{ otf2-print -G "$file/traces.otf2" && otf2-print "$file/traces.otf2"; } >decoded 2>decoded.err || fail "otf2-print"
		[ ! -s decoded.err ] || { show decoded.err; fail "otf2-print warns"; }
		file=decoded
		;;
	ctf)
		command -v babeltrace2 >/dev/null || return 0
		babeltrace2 --clock-cycles --no-delta "$file" >decoded 2>decoded.err || { show decoded.err; fail "babeltrace2"; }
		[ ! -s decoded.err ] || { show decoded.err; fail "babeltrace2 warns"; }
		file=decoded
		;;
	esac
	python3 "$top_srcdir/tests/integration/exported.py" "$1" "$file" >exported || fail "$1"
}

# without_places: "NAME PLACE COUNT" of standard input as "NAME COUNT", added up.  A place is a file and a line, or without debugging
# information what allocations have: a function, or a library and an offset.
without_places()
{
	awk '/=/ { print; next } # of a thread
	     { n = $NF; sub(/( [^ ]+:[0-9]+)? [0-9]+$/, ""); sub(/^(malloc|calloc|realloc|free) [^ ]+$/, $1); sum[$0] += n }
	     END { for (name in sum) print name, sum[name] }' | LC_ALL=C sort
}

# check_formats [MESSAGES]: each has all calls of t, and all have the same; those that have messages of MPI have so many.
check_formats()
{
	local format calls
	sonde dump --json --tail-calls=jump t >events.json
	calls=$(count 'enter()')
	for format in chrome csv ctf perfetto speedscope $otf2; do
		exported $format --tail-calls=jump
		[ -s exported ] || continue
		[ "$(awk '/calls=/ { sub(/.*calls=/, ""); n += $1 } END { print n }' exported)" -eq "$calls" ] ||
			{ show exported; fail "$format has not $calls calls"; }
		[ "${1:-0}" -eq 0 ] || [[ $format = c[st]* ]] || [ $format = speedscope ] || check_contains exported "^messages=$1\$"
		# speedscope and otf2 have neither points nor marks
		grep -v '^messages=' exported >all
		if [ $format = csv ]; then
			without_places <all >some
			check_same chrome.some some "csv, and not chrome,"
		elif [ $format = chrome ]; then
			without_places <all >chrome.some
			mv all chrome.exported
		elif [ $format != speedscope ] && [ $format != otf2 ]; then
			check_same chrome.exported all "$format, and not chrome,"
		fi
	done
}
