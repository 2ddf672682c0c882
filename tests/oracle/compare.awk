# SPDX-License-Identifier: GPL-3.0-or-later
# usage: awk -f compare.awk -v list=FILE [-v unknown=1] [-v begin=NAME] ORACLE DUMP
#
# Compares, thread by thread and event by event, what the oracle saw (tests/oracle/stepper.c) with what Sonde
# recorded (sonde dump --by-thread --flat --mangled). Threads are matched in the order of their numbers.
# FILE is the output of sonde list -F '*' --mangled, each line with the name of the file in front of it: functions
# that it says are not recorded are taken out of the oracle's list, and with -v unknown=1 also those that it
# does not know (in stripped programs).
# With -v begin=NAME both begin where a function of this name is entered first.
# Prints the first difference with what was in front of it; exit status 1. Else says how much was the same.

function add(kind, thread, text, shown)
{
	if (!((kind, thread) in n)) {
		n[kind, thread] = 0
		order[kind, ++threads[kind]] = thread
	}
	what[kind, thread, ++n[kind, thread]] = text
	show[kind, thread, n[kind, thread]] = shown
}

function skipped(file, addr)
{
	return (file, addr) in out || (unknown && !((file, addr) in known))
}

# "enter NAME" of the dump is one of the names that the oracle knows for that address.
function same(o, d,	a, b, k, i, part)
{
	split(o, a, " ")
	split(d, b, " ")
	if (a[1] != b[1])
		return 0
	k = split(a[3], part, "|")
	for (i = 1; i <= k; i++)
		if (part[i] == b[2])
			return 1
	return b[2] == "sub_" a[2]
}

# A thread with a smaller number than its process came when the numbers had begun anew.
function rank(tid, pid)
{
	return tid < pid ? tid + 2147483647 : tid
}

# Ascending numbers PID.TID.
function sort(kind,	i, j, t)
{
	for (i = 2; i <= threads[kind]; i++) {
		t = order[kind, i]
		for (j = i - 1; j >= 1 && before(t, order[kind, j]); j--)
			order[kind, j + 1] = order[kind, j]
		order[kind, j + 1] = t
	}
}

function before(s, t,	a, b)
{
	split(s, a, ".")
	split(t, b, ".")
	if (a[1] + 0 != b[1] + 0)
		return a[1] + 0 < b[1] + 0
	return rank(a[2] + 0, a[1] + 0) < rank(b[2] + 0, b[1] + 0)
}

function context(kind, label, t, at,	i)
{
	print "  " label ", thread " t ", event " at " of " n[kind, t] + 0 ":"
	for (i = at > 8 ? at - 8 : 1; i <= at + 3; i++)
		if ((kind, t, i) in show)
			print (i == at ? "   > " : "     ") show[kind, t, i]
		else if (i == at)
			print "   > (nothing)"
}

function compare(to, td,	i, k)
{
	k = n["o", to] > n["d", td] ? n["o", to] : n["d", td]
	for (i = 1; i <= k; i++)
		if (i > n["o", to] || i > n["d", td] || !same(what["o", to, i], what["d", td, i])) {
			context("o", "oracle", to, i)
			context("d", "sonde", td, i)
			exit bad = 1
		}
}

function read_list(	line, part)
{
	while ((getline line < list) > 0) {
		# file, address, size, blocks, loops, name
		if (split(line, part, " ") < 6 || part[3] !~ /^[0-9]+$/)
			continue
		known[part[1], part[2]] = 1
		if (line ~ /  -- not instrumented/)
			out[part[1], part[2]] = 1
	}
}

BEGIN { read_list() }

FNR == 1 {
	file++
	begun = begin == ""
}
!begun && index("|" $4 "|", "|" begin "|") { begun = 1 }
!begun { next }
file == 1 && ($2 == "enter" || $2 == "leave") {
	if (!skipped($6, $3))
		add("o", $1, $2 " " $3 " " $4, $0)
}
file == 2 && ($3 == "enter" || $3 == "leave") {
	sub(/^.*:/, "", $2) # the rank
	add("d", $2, $3 " " $4, $0)
}
file == 2 && $3 == "lost" {
	print "  sonde lost events: " $0
	exit bad = 1
}

END {
	if (bad)
		exit 1
	sort("o")
	sort("d")
	for (i = 1; i <= threads["o"] || i <= threads["d"]; i++) {
		compare(order["o", i], order["d", i])
		total += n["o", order["o", i]]
	}
	if (!total) {
		print "  the oracle saw nothing"
		exit 1
	}
	print total " events of " threads["o"] " threads agree"
}
