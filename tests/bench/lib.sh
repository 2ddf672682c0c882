# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by run.sh, in an empty folder: lists of commands, their medians, figures from their output.
set -u

list=()

have()
{
	command -v "$1" >/dev/null
}

# missing WHAT...: a line for what is not measured.
missing()
{
	echo "  not measured: $*"
}

section()
{
	printf '\n%s\n' "$*"
}

# row TEXT FIGURE...: one line of a table.
row()
{
	local text=$1 figure
	shift
	printf '  %-44s' "$text"
	for figure; do
		printf ' %13s' "$figure"
	done
	printf '\n'
}

# add LABEL COMMAND...: a command for the next measure; $label is its folder, removed before it runs.
add()
{
	local label=$1
	shift
	list+=("$(printf '%s\trm -rf %s.d %s.d.old\t%s' "$label" "$label" "$label" "$*")")
}

# measure RUNS: run everything that was added, in turns; fills wall and cpu (medians) and least (wall), in ms, by label.
declare -A wall cpu least
measure()
{
	local label w c l f
	while read -r label w c l f; do
		wall[$label]=$w cpu[$label]=$c least[$label]=$l
		[ "$f" -eq 0 ] || echo "  $label failed in $f of $1 runs: $(tail -n 1 "$label.err")"
	done < <(printf '%s\n' "${list[@]}" | "$bench/interleave" "$1" 60)
	list=()
}

# calc EXPRESSION [FORMAT]: "-" where a figure is missing or the divisor is zero.
calc()
{
	case $1 in *[!-+*/.0-9\ \(\)e]*) echo -; return ;; esac
	awk "BEGIN { printf \"${2:-%.2f}\", $1 }" 2>/dev/null || echo -
}

# median FILE COLUMN, or of the difference of two columns
median()
{
	awk -v a="$2" -v b="${3:-0}" '{ print b ? $a - $b : $a }' "$1" 2>/dev/null | sort -n |
		awk '{ v[NR] = $1 } END { if (NR) printf "%.2f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2
			else printf "none" }'
}

# bytes PATH...: of all files in there.
bytes()
{
	find "$@" -type f -printf '%s\n' 2>/dev/null | awk '{ s += $1 } END { printf "%.0f", s }'
}

# zstd_bytes PATH...: the same after zstd -3, file by file.
zstd_bytes()
{
	have zstd || { echo none; return; }
	find "$@" -type f -size +4k -exec zstd -q -3 -c {} \; 2>/dev/null | wc -c
}

# events LABEL: what sonde -v said of its last run; "lost" where it lost any.
events()
{
	if grep -Eq 'lost|damaged|could not' "$1.err"; then
		echo lost
	else
		sed -n 's/^sonde: \([0-9]*\) events of .*/\1/p' "$1.err" | tail -n 1
	fi
}

# expect LABEL EVENTS: complain unless a run recorded exactly so many.
expect()
{
	local got
	got=$(events "$1")
	[ "$got" = "$2" ] || echo "  $1: INCOMPLETE, recorded ${got:-no} events instead of $2"
}
