# SPDX-License-Identifier: GPL-3.0-or-later
# How many functions are found in programs that were stripped of their symbols, and of their unwind tables as well, and how
# many places are wrongly taken for functions: measured against the symbols, and printed as a table.  Without tables, by default at most one in a
# thousand may be wrong in the worst of them, with --guess one in fifty.
#
# The programs: a large part of Sonde (dynamic, so that no library's code is in it), a small one with the static C library, with data in the
# segment of the code as well, and one in C++, with libstdc++ in it and without; by gcc and clang, at all levels.
#
# STARTS_BUILDS    only these ("gcc-O2 clang-Os")
. "$top_srcdir/tests/integration/lib.sh"
need_command objcopy readelf
limit=(timeout --foreground -s KILL 600)

# bare FILE TABLES: without symbols and section headers; with TABLES "none" without unwind tables as well
bare()
{
	local remove=(--strip-all)
	[ "$2" != none ] || remove+=(--remove-section=.eh_frame --remove-section=.eh_frame_hdr --remove-section=.gcc_except_table)
	objcopy "${remove[@]}" "$1" "$1.bare"
	[ "$2" = none ] || return 0 # only section headers say where the table is in a static program
	printf '\0\0\0\0\0\0\0\0' | dd of="$1.bare" bs=1 seek=40 conv=notrunc status=none # e_shoff
	printf '\0\0\0\0' | dd of="$1.bare" bs=1 seek=60 conv=notrunc status=none         # e_shnum, e_shstrndx
}

# symbols FILE: addresses of its functions ("F"), and of what else has a name in its code ("L")
symbols()
{
	readelf -sW "$1" | awk '$7 ~ /^[0-9]+$/ && ($4 == "FUNC" || $4 == "IFUNC" || $4 == "NOTYPE") {
		sub(/^0+/, "", $2); print $8 ~ /\.cold/ || $4 == "NOTYPE" ? "L" : "F", $2, $8 }'
}

# found FILE OPTION...: all functions, percentage found, how many are wrong, of how many listed; missed and wrong ones go to files
found()
{
	local file=$1 what=$1${2-}
	shift
	sonde list -F '*' --csv --signatures=none "$@" "./$file.bare" >listed 2>list.err || { show list.err; fail "sonde list $file"; }
	awk -F, -v what="$what" '
		FILENAME == ARGV[1] { split($0, s, " "); kind[s[2]] = kind[s[2]] s[1]; name[s[2]] = s[3]; next }
		FNR > 1 { sub(/^0x/, "", $2); listed[$2] = $0; n++ }
		END {
			for (a in kind) if (kind[a] ~ /F/) { all++; if (a in listed) hit++; else print a, name[a] > what ".missed" }
			for (a in listed) if (!(a in kind)) { wrong++; print listed[a] > what ".wrong" }
			printf "%d %.1f %d %d\n", all, all ? 100 * hit / all : 0, wrong, n
		}' "$file.symbols" listed
}

# row NAME FILE: a line of the table; the worst shares of wrong ones are kept
worst=0 worst_guessed=0
row()
{
	local tables plain guess
	symbols "$2" >"$2.symbols"
	for tables in all none; do
		bare "$2" $tables
		plain=($(found "$2")) || fail "${plain[*]}"
		guess=($(found "$2" --guess)) || fail "${guess[*]}"
		[ "${plain[0]:-0}" -gt 0 ] || fail "$2 has no functions"
		printf '%-26s %-6s %6d  %6s%% %6d  %6s%% %6d of %d\n' "$1" $tables "${plain[0]}" "${plain[1]}" "${plain[2]}" \
			"${guess[1]}" "${guess[2]}" "${guess[3]}"
		[ $tables = none ] || continue # assembly has tables for pieces of functions
		worst=$(awk -v a=$worst -v w="${plain[2]}" -v n="${plain[3]}" 'BEGIN { w = 1000 * w / n; print (w > a ? w : a) }')
		worst_guessed=$(awk -v a=$worst_guessed -v w="${guess[2]}" -v n="${guess[3]}" 'BEGIN { w = 1000 * w / n; print (w > a ? w : a) }')
	done
}

# ---- the programs ----

cat >mixed.cc <<'END'
#include <algorithm>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

struct shape {
	virtual ~shape() {}
	virtual double area() const = 0;
	virtual std::string name() const { return "shape"; }
};
struct square : shape {
	double side;
	explicit square(double s) : side(s) {}
	double area() const override { return side * side; }
	std::string name() const override { return "square"; }
};
struct circle : virtual shape {
	double radius;
	explicit circle(double r) : radius(r) { if (r < 0) throw std::invalid_argument("radius"); }
	double area() const override { return 3.14159 * radius * radius; }
};
struct both : square, circle {
	both(double a, double b) : square(a), circle(b) {}
	double area() const override { return square::area() + circle::area(); }
	std::string name() const override { return "both"; }
};

template <class T> static T total(const std::vector<T> &v)
{
	T sum{};
	for (const auto &x : v)
		sum += x;
	return sum;
}

static std::map<std::string, std::vector<int>> words(std::istream &in)
{
	std::map<std::string, std::vector<int>> found;
	std::regex word("[[:alpha:]]+([-'][[:alpha:]]+)*");
	std::string line;
	for (int n = 1; std::getline(in, line); n++)
		for (std::sregex_iterator i(line.begin(), line.end(), word), end; i != end; ++i)
			found[i->str()].push_back(n);
	return found;
}

static long work(int n)
{
	std::vector<std::future<long>> parts;
	std::mutex lock;
	std::unordered_map<int, std::string> seen;
	for (int i = 0; i < n; i++)
		parts.push_back(std::async(std::launch::deferred, [&, i] {
			std::lock_guard<std::mutex> held(lock);
			seen[i % 7] += std::to_string(i);
			return static_cast<long>(seen.size());
		}));
	long sum = 0;
	for (auto &p : parts)
		sum += p.get();
	return sum;
}

int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<shape>> shapes;
	std::variant<int, double, std::string> any = argc > 2 ? std::variant<int, double, std::string>(1.5) : std::string("x");
	std::istringstream text("one two one-two\nthree two");
	std::ostringstream out;
	std::set<double> areas;
	std::list<std::function<double()>> later;

	shapes.emplace_back(new square(argc));
	try {
		shapes.emplace_back(static_cast<square *>(new both(argc, argc > 5 ? -1 : 2)));
	} catch (const std::invalid_argument &e) {
		std::cerr << e.what() << '\n';
	}
	for (const auto &s : shapes) {
		areas.insert(s->area());
		later.push_back([&s] { return s->area(); });
		out << s->name() << ' ' << s->area() << '\n';
	}
	for (const auto &w : words(text))
		out << w.first << ' ' << w.second.size() << '\n';
	std::vector<double> all(areas.begin(), areas.end());
	std::sort(all.begin(), all.end(), std::greater<double>());
	for (auto &f : later)
		out << f();
	std::cout << out.str() << total(all) << ' ' << work(20) << ' ' << any.index() << ' ' << argv[0] << std::endl;
	return 0;
}
END

# Sonde's own, as far as one of its tools for developers needs it
own=$(find "$top_srcdir"/{trampolines,memtrace,tracefmt,injector} -name '*.c' | sort)
compile_own()
{
	"$@" -w -D_GNU_SOURCE -ffunction-sections -fdata-sections -Wl,--gc-sections -I"$top_builddir" -I"$top_srcdir" \
		-I"$top_srcdir/modules/include" -I"$top_srcdir/tracefmt/include" -o own "$top_srcdir/tests/unit/memplan/passes.c" $own \
		-lbfd -lelf -lzstd -lxxhash -lZydis -lpthread 2>own.err
}

builds()
{
	local level compiler
	for compiler in gcc clang; do
		command -v $compiler >/dev/null || continue
		for level in -O0 -O1 -O2 -O3 -Os; do
			echo "$compiler$level"
		done
	done
}

printf '%-26s %-6s %6s  %7s %6s  %7s %6s\n' program tables all found wrong --guess wrong
for build in ${STARTS_BUILDS:-$(builds)}; do
	compiler=${build%%-*} level=-${build#*-}
	cxx=g++
	[ "$compiler" = gcc ] || cxx=clang++
	compile_own "$compiler" "$level" && row "$build own" own
	"$compiler" "$level" -static -I"$top_srcdir/tests/programs" -o static "$top_srcdir/tests/programs/demo.c" -pthread 2>static.err &&
		row "$build static" static
	"$compiler" "$level" -static -Wl,-z,noseparate-code -I"$top_srcdir/tests/programs" -o joined "$top_srcdir/tests/programs/demo.c" -pthread \
		2>joined.err && row "$build one segment" joined
	"$cxx" -std=c++17 "$level" -static -o mixed mixed.cc -pthread 2>mixed.err && row "$build C++ static" mixed
	"$cxx" -std=c++17 "$level" -o mixed mixed.cc -pthread 2>mixed.err && row "$build C++" mixed
done
awk -v w="$worst" -v g="$worst_guessed" 'BEGIN { printf "worst: %.1f in 1000 wrong by default, %.1f with --guess\n", w, g; exit w > 1 || g > 20 }' ||
	fail "too many are wrong"
