# SPDX-License-Identifier: GPL-3.0-or-later
# A program that single-steps itself: it is stepped through its own instructions, each once, and comes to its end.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program traps
which='work,chosen,depth,leaf'

for program in traps traps-static; do
	[ -x "$programs/$program" ] || continue
	# every step and where it was
	for how in "-F $which" "-F $which --eager"; do
		same_run -q -o t $how -- "$programs/$program" info
		check_status 0 sonde info t
		check_contains out '^state +intact$'
	done
	same_run -q -o t -F "$which" -- "$programs/$program"

	# but for jumps that copies do without, and entries with two probes: a few in a hundred
	"$programs/$program" info >plain
	for how in --blocks --blocks=trace "--mem=$which" "--mem=$which -F $which" "--mem=$which --sample=burst:1k,every:10k"; do
		check_status 6 sonde -q -o t $how -- "$programs/$program" info
		mv out steps
		check_status 0 sonde info t
		check_contains out '^state +intact$'
		paste plain steps >both
		awk '{ exit !($3 == $6 && $4 <= $1 && $4 > 0.97 * $1) }' both || fail "$how: $(cat both)"
	done
done
