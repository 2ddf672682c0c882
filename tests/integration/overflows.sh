# SPDX-License-Identifier: GPL-3.0-or-later
# Stack overflows that the program handles on another stack: also where the runtime's own frames find no room.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program overflows

# Small buffers, short bursts: the runtime is called often, so some of the hundred overflows are its.
for program in overflows overflows-static; do
	[ -x "$programs/$program" ] || continue
	same_run -q -o t -F '*' --buffer=64K -- "$programs/$program"
	same_run -q -o t --mem --sample=burst:50,every:150 -- "$programs/$program"
	same_run -q -o t --mem --mem-buffer=256K -- "$programs/$program"
	same_run -q -o t -m "$modules/recurse.c" --buffer=64K -- "$programs/$program"
	sonde info t >info
	check_contains info '^state  *intact'
done
