# SPDX-License-Identifier: GPL-3.0-or-later
# sonde -c FILE: each type at each kind of place, on a program whose numbers are known; several entries in one recording are what each
# would be alone; the program does the same.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program measured sharing

program=$programs/measured
source=$top_srcdir/tests/programs/measured.cc

# line MARK: its number in the source
line()
{
	grep -n "/\* $1 \*/" "$source" | cut -d: -f1
}
loop=measured.cc:$(line LOOP)

# entry TYPE PLACE [KEYS]: an entry whose output is TYPE.txt
entry()
{
	echo "  - { type: $1, location: \"$2\", output: $1.txt${3:+, $3} }"
}

# has FILE REGEX: a line of it, with blanks as they come
has()
{
	tr -s ' ' <"$1" | sed 's/^ //' >squeezed
	check_contains squeezed "$2"
}

{
	echo 'instrumentation:'
	entry invocation-counter "function num::kernel(int), function bar(int, int), function bar(const double *)"
	entry function-trace "function bar(int,int)" "when: { call: 2-3, thread: 2 }"
	entry value "function num::kernel" "arguments: n, top: 2"
	entry block-counter "function num::twice"
	entry trip-counter "loop at $loop"
	entry branch-outcome "line measured.cc:$(line BRANCH)"
	entry address-traces "loop at $loop" "variables: table"
	entry stride "variable table"
	entry alignment "function edge"
	entry cache "function num::*" "variables: [table], by: function, system: opteron"
	entry working-set "lines measured.cc:$(line LOAD)-$(line LOOP)" "variables: table"
} >all.yaml

check_results()
{
	has invocation-counter.txt '^10 1 num::kernel\(int\)$'
	has invocation-counter.txt '^8 2 bar\(int, int\)$'
	has invocation-counter.txt '^2 1 bar\(double const\*\)$'
	[ "$(grep -c 'enter .*bar(int, int) a=10[12] b=[12]$' function-trace.txt)" -eq 2 ] || { show function-trace.txt; fail "not two calls"; }
	[ "$(grep -vc '^#' function-trace.txt)" -eq 4 ] || { show function-trace.txt; fail "not four events"; }
	has value.txt '^num::kernel\(int\), n: 10 values, 10 different, smallest 1, largest 10$'
	[ "$(grep -c '10.00%' value.txt)" -eq 2 ] || { show value.txt; fail "not two values"; }
	has block-counter.txt '^# num::twice: inlined into few\(int\) \(line [0-9]+\): instrumented there$'
	has block-counter.txt '^3 .* few\(int\) measured.cc:'
	has trip-counter.txt "^10 55 5.50 1 10 .*num::kernel\(int\)"
	has branch-outcome.txt '^(7 3 70.00%|3 7 30.00%) .*few\(int\) \(measured.cc:'
	[ "$(grep -c ' load  *8 0x.* num::kernel(int)+0x' address-traces.txt)" -eq 55 ] || { show address-traces.txt; fail "not 55 loads"; }
	[ "$(grep -vc '^#' address-traces.txt)" -eq 55 ] || { show address-traces.txt; fail "not 55 accesses"; }
	has stride.txt '^55 440 B .* -8 \(83%\) .*num::kernel\(int\)\+0x'
	has alignment.txt '^4 8 4 4 0 edge\(char const\*\)'
	has cache.txt '^55 2 \(3.6%\) 0 2 .* num::kernel\(int\)$'
	has working-set.txt '^55 440 B .* 128 B 2 .* num::kernel\(int\)$'
}

# all in one recording: of calls, memory accesses and the order of blocks
same_run -c all.yaml -o all -- "$program"
check_results
check_contains address-traces.txt "^# loop at $loop: 1 loop in num::kernel\(int\)$"

# the same from the trace, later
mkdir -p first
mv ./*.txt first
check_status 0 sonde config output all.yaml all
for file in first/*.txt; do
	[ "${file#first/}" = squeezed ] && continue
	grep -v '^#' "$file" >expected
	grep -v '^#' "${file#first/}" >got
	check_same expected got "${file#first/} of the same trace"
done

# and each in a recording of its own: of counts of blocks, of counts of calls
rm -f ./*.txt
for type in $(sed -n 's/.*type: \([a-z-]*\),.*/\1/p' all.yaml); do
	{
		head -1 all.yaml
		grep "type: $type," all.yaml
	} >one.yaml
	same_run -c one.yaml -o one -- "$program"
done
check_results

# what would be done, in words and as options
check_status 0 sonde config check all.yaml "$program"
check_contains out "loop at $loop: 1 loop in num::kernel\(int\)"
check_contains out '^sonde .*--blocks .*--mem='
check_status 0 sonde config check all.yaml
check_contains out '^all.yaml: 11 entries$'

# the example is one
check_status 0 sonde config example
mv out example.yaml
check_status 0 sonde config check example.yaml "$program"
same_run -q -c example.yaml -- "$program"
has calls.txt 'leave main return=7$'

# schema
schema=$top_srcdir/doc/sonde-config.schema.json
if python3 -c 'import jsonschema, yaml' 2>/dev/null; then
	cat >validate.py <<-'END'
	import json, sys, yaml, jsonschema
	schema = json.load(open(sys.argv[1]))
	jsonschema.validators.validator_for(schema).check_schema(schema)
	jsonschema.validate(yaml.safe_load(open(sys.argv[2])), schema)
	END
	for file in example.yaml all.yaml; do
		python3 validate.py "$schema" $file >schema.out 2>&1 || { show schema.out; fail "$file is not what the schema says"; }
	done
	printf 'instrumentation:\n  - { type: strides, location: all }\n' >wrong.yaml
	! python3 validate.py "$schema" wrong.yaml >/dev/null 2>&1 || fail "the schema accepts a type that there is not"
fi
if command -v jq >/dev/null; then
	check_status 0 sonde config explain
	sed -n '/^Types:/,/^$/s/^  \([a-z-]*\) .*/\1/p' out | sort >types
	jq -r '."$defs".type.enum[]' "$schema" | sort >types.schema
	check_same types types.schema "the types of the schema"
fi

# places and entries that are none: one line, with line and column, and what may have been meant
wrong()
{
	local text=$1 message=$2
	printf 'instrumentation:\n  - { type: %s }\n' "$text" >wrong.yaml
	check_usage_error sonde config check wrong.yaml "$program"
	check_contains err "^sonde: wrong.yaml: line 2, column [0-9]+: $message"
	check_usage_error sonde -c wrong.yaml -o none "$program"
	[ ! -e none ] || fail "a trace was begun"
}

wrong 'stride, location: function num::kernl' "num::kernl: no such function; did you mean 'num::kernel'"
wrong 'stride, location: function bar(long)' "bar\(long\): no such function; did you mean"
wrong 'stride, location: "loop at measured.cc:'"$(line UNROLLED)"'"' ".*(no loop: if the source has one there, it was unrolled|no code at this line).*loop.* at line"
wrong 'stride, location: "loop at measured.c:7"' ".*no code of .* such a source file; did you mean 'measured.cc'"
wrong 'stride, location: "lines measured.cc:1-2"' '.*there is no code there'
wrong 'stride, location: variable tabel, output: x' "tabel: no such variable of the program, or of functions at the location; did you mean 'table'"
wrong 'invocation-counter, location: function num::twice' 'num::twice: inlined into few\(int\).*so nothing calls it'
wrong 'invocation-counter, location: "lines measured.cc:1-99"' 'invocation-counter is about calls'
wrong 'strides, location: all' "no type is called 'strides'; did you mean 'stride'"
wrong 'stride, location: al' "'al': a place is"
wrong 'stride, loaction: all' "nothing is called 'loaction'"
wrong 'stride' "'location:' is missing"
wrong 'stride, location: all, arguments: n' "stride has no 'arguments:'"
wrong 'function-trace, location: all, limit: 3' 'the trace holds all'
wrong 'value, location: all, output: x, when: { argument: n }' "'n': not like 'n > 100'"
wrong 'value, location: all, output: x, when: { call: 3-2 }' "'3-2': not like"
wrong 'stride, location: all, sample: often' "'often': not like burst"
wrong 'stride, location: [], output: x' 'an empty list'
wrong 'stride, location: "all, library libc", output: x, variables: table' 'variables are accessed by code of the program'
wrong 'cache, location: all, output: x, system: pentium' "pentium: neither a system"
printf 'instrumentation:\n  - { type: stride, location: all, output: missing/x }\n' >wrong.yaml
check_usage_error sonde -c wrong.yaml -o none "$program"
check_contains err 'line 2, column .*: cannot write to missing/x'
printf 'instrumentation:\n - { type: stride, location: all, sample: "burst:1M,every:10M" }\n - { type: cache, location: all }\n' >wrong.yaml
check_usage_error sonde -c wrong.yaml -o none "$program"
check_contains err "line 3, .*'sample:' has to be the same"
printf 'instrumentation:\n - { type: stride, location: all, output: a }\n - { type: cache, location: all, output: a }\n' >wrong.yaml
check_usage_error sonde config check wrong.yaml
check_contains err 'another entry writes a$'
printf 'a: [' >wrong.yaml
check_usage_error sonde config check wrong.yaml
check_usage_error sonde -c /dev/null "$program"
check_usage_error sonde -c "$PWD" "$program"
check_usage_error sonde config
check_usage_error sonde config explain strides

# a library may be loaded later: it is no error, but said
printf 'instrumentation:\n  - { type: stride, location: library libd }\n' >library.yaml
check_status 0 sonde config check library.yaml "$program"
check_contains err "line 2, column [0-9]+: library libd: the program is not linked with it; did you mean 'libc'"

# C: a signature's parameters are those of debug information
if [ -x "$programs/args_mix" ]; then
	printf 'instrumentation:\n  - { type: invocation-counter, location: "function main(int, char **)" }\n' >c.yaml
	check_status 0 sonde config check c.yaml "$programs/args_mix"
	printf 'instrumentation:\n  - { type: invocation-counter, location: "function main(double, char)" }\n' >c.yaml
	check_usage_error sonde config check c.yaml "$programs/args_mix"
	check_contains err 'its parameters are others: main\('
fi

# false sharing, and none
printf 'instrumentation:\n  - { type: false-sharing, location: all, output: sharing.txt }\n' >sharing.yaml
same_run -c sharing.yaml -o shared -- "$programs/sharing" false 20000
has sharing.txt '1\. false sharing: counters'
same_run -c sharing.yaml -o shared -- "$programs/sharing" padded 20000
has sharing.txt '^no line '

# a job that a script starts
printf '#!/bin/sh\n"%s"\n"%s"\nexit 5\n' "$program" "$program" >job.sh
chmod +x job.sh
printf 'program: %s\ninstrumentation:\n  - { type: invocation-counter, location: "function bar(int, int)", output: job.txt }\n' "$program" >job.yaml
same_run -c job.yaml -o job -- ./job.sh
has job.txt '^16 4 bar\(int, int\)$'

# ranks of a job write files of their own; an entry about one of them is not there for others; from the trace it is one file again
printf 'instrumentation:\n' >ranks.yaml
entry invocation-counter "function num::kernel" >>ranks.yaml
entry function-trace "function edge" "when: { rank: 0 }" >>ranks.yaml
rm -f invocation-counter.txt function-trace.txt
for rank in 1 0; do
	PMI_JOBID=config PMI_RANK=$rank PMI_SIZE=2 same_run -c ranks.yaml -o ranks -- "$program"
	has invocation-counter.txt.rank-$rank '^10 1 num::kernel\(int\)$'
	[ $rank -eq 0 ] || [ ! -e function-trace.txt ] || fail "rank 1 writes what is about rank 0"
done
[ "$(grep -c ' enter .*edge' function-trace.txt)" -eq 4 ] || { show function-trace.txt; fail "not four calls in rank 0"; }
[ ! -e invocation-counter.txt ] || fail "a file of no rank"
check_status 0 sonde config output ranks.yaml ranks
has invocation-counter.txt '^20 2 num::kernel\(int\)$'
