# SPDX-License-Identifier: GPL-3.0-or-later
# The sums of each thread are kept in a trace: the next report reads no events, and is the same byte for byte.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program steps io_mix

printf 'enter\nmain 400000\nleave\n100000\n' >lines
command sonde -o t -F 'work,enclose' -m posixio -- sh -c "$programs/steps <lines; $programs/steps <lines; $programs/io_mix .; exit 0" \
	>/dev/null 2>rec.err || { show rec.err; fail "status of the job"; }
cp -r t fresh

kept()
{
	ls -i "$1" | grep report-sums || true
}

# same FOLDER OPTION...: without what was kept, when it is made, and with it
same()
{
	local folder=$1
	shift
	rm -f "$folder"/report-sums.*
	check_status 0 sonde report "$@" "$folder"
	mv out first
	kept "$folder" >files
	[ "$(wc -l <files)" -eq 1 ] || { show files; fail "nothing is kept: $*"; }
	check_status 0 sonde report "$@" "$folder"
	cmp out first || fail "what is kept is not the same: $*"
	kept "$folder" | cmp -s files - || fail "it was made again: $*"
}

same t
for options in "-b thread" "-b process" "-b rank" --json --csv "-s self" "-F work" "-n 1"; do
	same t $options
done
same t --raw
same t --tail-calls=jump
# all tables are made of the same
check_status 0 sonde report t
kept t >files
for options in "-b thread" --json "-s calls -n 2" "-F enclose"; do
	check_status 0 sonde report $options t
	kept t | cmp -s files - || fail "it was made again: $options"
done

# a part of a trace has its own, or none, and never that of another
pid=$(ls -d t/process-* | head -n 1 | sed 's/.*-//')
for options in "--process=steps" "--process=$pid" "-t $pid" "-t $pid --json"; do
	check_status 0 sonde report $options t
	mv out got
	rm -rf other && cp -r fresh other
	check_status 0 sonde report $options other
	sed 's/other/t/' out | cmp - <(sed 's/other/t/' got) || fail "not the same: $options"
done

# elsewhere, by another path: the same content
rm -f t/report-sums.*
check_status 0 sonde report --csv t
mv out first
[ "$(stat -c %a t/report-sums.*)" = 600 ] || fail "mode $(stat -c %a t/report-sums.*)"
cp -r t moved
kept moved >files
(cd moved && sonde report --csv . >../out) || fail "moved"
cmp first out || fail "moved"
kept moved | cmp -s files - || fail "it was made again, elsewhere"

# whatever is in there, the figures are right
name=$(basename t/report-sums.*)
bytes=$(wc -c <t/$name)
for damage in truncate empty flip noise folder link; do
	rm -rf bad && cp -r t bad
	case $damage in
	truncate) head -c $((bytes / 2)) t/$name >bad/$name ;;
	empty) : >bad/$name ;;
	flip) printf 'x' | dd of=bad/$name bs=1 seek=$((bytes / 2)) conv=notrunc 2>/dev/null ;;
	noise) head -c "$bytes" /dev/urandom >bad/$name ;;
	folder) rm bad/$name && mkdir bad/$name ;;
	link) rm bad/$name && echo mine >victim && ln -s ../victim bad/$name ;;
	esac
	check_status 0 sonde report --csv bad
	cmp first out || fail "kept: $damage"
done
[ "$(cat victim)" = mine ] || fail "what a link leads to was written to"

# of what is damaged, or has no end, nothing is kept, and what was kept is not taken
file=$(ls -S t/process-"$pid"/*.sonde | head -n 1)
for damage in flip end; do
	rm -rf bad && cp -r t bad
	case $damage in
	flip) printf 'xxxx' | dd of="bad/${file#t/}" bs=1 seek=2000 conv=notrunc 2>/dev/null ;;
	end) sed -i '$d' "bad/process-$pid/metadata" ;;
	esac
	kept bad >files
	sonde report --csv bad >out 2>err
	[ -s err ] || fail "$damage: not noticed"
	kept bad | cmp -s files - || fail "$damage: kept"
done
exit 0
