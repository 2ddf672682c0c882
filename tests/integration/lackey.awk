# SPDX-License-Identifier: GPL-3.0-or-later
# usage: awk -v functions=FILE -f lackey.awk LACKEY SONDE
#
# LACKEY: what `valgrind --tool=lackey --trace-mem=yes` says, SONDE: memcompare -p; functions: "ADDRESS SIZE NAME",
# ascending.  Compares per instruction how many bytes were loaded and stored, in functions of which something is
# in both, and says in which they differ.
function number(hex,   i, n) {
	n = 0
	for (i = 1; i <= length(hex); i++)
		n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return n
}
function function_of(addr,   low, high, middle) {
	if (addr in known)
		return known[addr]
	low = 0
	high = nfunctions
	while (low < high) {
		middle = int((low + high) / 2)
		if (start[middle] <= number(addr))
			low = middle + 1
		else
			high = middle
	}
	known[addr] = low && number(addr) < start[low - 1] + size[low - 1] ? name[low - 1] : ""
	return known[addr]
}
function add(which, addr, kind, bytes) {
	all[addr] = 1
	if (kind ~ /^(L|M|load|modify)$/)
		loaded[which, addr] += bytes
	if (kind ~ /^(S|M|store|modify)$/)
		stored[which, addr] += bytes
	accesses[which, function_of(addr)]++
}
BEGIN {
	while ((getline line < functions) > 0) {
		split(line, v, " ")
		start[nfunctions] = number(v[1])
		size[nfunctions] = number(v[2])
		name[nfunctions++] = v[3]
	}
}
FNR == NR && $1 == "I" {
	split($2, v, ",")
	insn = v[1]
	sub(/^0+/, "", insn)
	next
}
FNR == NR && $1 ~ /^[LSM]$/ && NF == 2 {
	split($2, v, ",")
	add("lackey", insn, $1, v[2])
	next
}
FNR != NR && NF == 4 && $1 != "prefetch" && $2 ~ /^[0-9]+$/ { add("sonde", $4, $1, $2) }
END {
	for (addr in all) {
		f = function_of(addr)
		if (f == "" || !(("sonde", f) in accesses) || loaded["lackey", addr] == loaded["sonde", addr] &&
		    stored["lackey", addr] == stored["sonde", addr])
			continue
		differs[f]++
		example[f] = addr ": " (loaded["lackey", addr] + 0) " loaded " (stored["lackey", addr] + 0) " stored, " \
			"in the trace " (loaded["sonde", addr] + 0) " " (stored["sonde", addr] + 0)
	}
	for (k in accesses) {
		split(k, v, SUBSEP)
		total[v[1]] += accesses[k]
		if (v[1] == "lackey" && (v[2] == "" || !(("sonde", v[2]) in accesses))) {
			missing += accesses[k]
			names = names " " (v[2] == "" ? "(none)" : v[2]) "(" accesses[k] ")"
		}
		else if (v[1] == "lackey" && !(v[2] in differs))
			same += accesses[k]
	}
	for (f in differs)
		print "differs " f " at " differs[f] " instructions, one: " example[f] 
	printf "%d accesses, lackey %d: %d the same, %d in functions that are not in the trace:%s\n",
		total["sonde"], total["lackey"], same, missing, names
}
