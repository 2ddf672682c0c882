# SPDX-License-Identifier: GPL-3.0-or-later
# The compiler plugin on many files and at all levels of optimization: all of tests/integration/tags.sh, then each of the programs
# that are traced, and all of Sonde's own sources, as they are compiled here.  Code has to be what it is without the plugin.
all_levels=('-O0 -g' '-O2 -g' '-O3 -march=native' '-O1 -ffunction-sections' '-Os')
. "$top_srcdir/tests/integration/tags.sh"

rm -f ./*.o failed
n=0
while read -r file; do
	for flags in "${all_levels[@]}"; do
		n=$((n + 1))
		echo "$n $gcc -w -D_GNU_SOURCE -I$top_builddir -I$top_srcdir -I$top_srcdir/modules/include -I$top_srcdir/tracefmt/include" \
			"-I$top_srcdir/tests/programs $flags $file"
	done
done < <(find "$top_srcdir"/{launcher,injector,trampolines,memtrace,tracefmt,tests/programs} -name '*.c' | sort) >commands
# what lacks a header of another package does not compile, without the plugin either
xargs -P "$(nproc)" -L 1 bash both <commands 2>/dev/null || fail "cannot compile"
pairs=()
for i in $(seq $n); do
	[ ! -e "$i.b.o" ] || pairs+=("$i.a.o" "$i.b.o")
done
[ ${#pairs[@]} -ge 1000 ] || fail "only $((${#pairs[@]} / 2)) pairs"
for i in $(seq $n); do
	[ ! -e "$i.a.o" ] || [ -e "$i.b.o" ] || fail "does not compile with the plugin: $(sed -n "${i}p" commands)"
done
printf '%s\n' "${pairs[@]}" | xargs -n 200 python3 "$top_srcdir/tests/integration/tags-same.py" || fail "other code"
