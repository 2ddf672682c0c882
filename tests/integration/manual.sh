# SPDX-License-Identifier: GPL-3.0-or-later
# --help, the manual pages and the completion tell of the same options; the pages are sound.
. "$top_srcdir/tests/integration/lib.sh"

# options_of_help VERB...: long options, as its --help shows them.
options_of_help()
{
	sonde "$@" --help | grep -oE '^  +(-[A-Za-z], )? *--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u
}

# options_of_page PAGE: those that the page has items for.
options_of_page()
{
	grep -E '^\.It Fl' "$1" | grep -oE 'Fl ([a-zA-Z] , )?-[a-z-]+' | sed 's/.* -/--/' | sort -u
}

# Verbs with a page each.
for verb in record attach detach ctl top report replay graph memory cache sharing advise config dump export archive diff info list disasm blocks tags doctor; do
	page=$top_srcdir/doc/sonde-$verb.1
	[ -r "$page" ] || fail "no page for $verb"
	options_of_help $verb >help
	[ -s help ] || fail "no options in the help of $verb"
	options_of_page "$page" >page
	[ $verb = doctor ] && echo --help >>page
	check_same help page "what the help and the page of $verb tell"
	check_status 0 sonde help $verb
	mv out explained
	check_status 0 sonde $verb --help
	check_same explained out "sonde help $verb"
	check_contains "$top_srcdir/doc/sonde.1" "Xr sonde-$verb 1"
done

# The parts of `module`, and of `signature`, share a page.
same_options_of_actions()
{
	local verb=$1 action
	shift
	for action; do
		options_of_help $verb $action
	done | sort -u >help
	options_of_page "$top_srcdir/doc/sonde-$verb.1" >page
	echo --help >>page
	sort -u page >page.sorted
	check_same help page.sorted "what the help and the page of $verb tell"
}
same_options_of_actions module list new build
same_options_of_actions signature make match list

# Every verb in the summary is explained; every macro of the header is in its page.
sonde --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' >verbs
[ "$(wc -l <verbs)" -ge 8 ] || fail "too few verbs in the summary"
while read -r verb; do
	[ "$verb" = help ] || check_status 0 sonde "$verb" --help
	check_contains "$top_srcdir/doc/sonde.1" "^\.It Cm $verb"
done <verbs
sed -n '1,/^#ifndef/p' "$top_srcdir/modules/include/sonde/module.h" |
	grep -oE '\b(SONDE_[A-Z0-9_]+|sonde_[a-z]+)\b' | sort -u |
	grep -vE '^(SONDE_MODULE_H|sonde_module)$' >macros
[ "$(wc -l <macros)" -ge 15 ] || fail "too few macros found"
while read -r macro; do
	check_contains "$top_srcdir/doc/sonde-module.5" "\b$macro\b"
done <macros

# The example of the page is a module.
sed -n '/^#include/,/^\.Ed/p' "$top_srcdir/doc/sonde-module.5" | grep -v '^\.' | sed 's/\\e/\\/g' >example.c
check_status 0 sonde module list ./example.c
check_contains out 'parse'

# Macros are at the beginning of a line and have what they are for; a line of text does not begin with a dot.
if grep -nE '^[^.].* \.[A-Z][a-z] |^\.[SDQP][qlo] [?!.,;:]$|^\.\.' "$top_srcdir"/doc/sonde*.[1-9] >lines; then
	show lines
	fail "lines that are not shown as they were meant"
fi

if command -v mandoc >/dev/null; then
	for page in "$top_srcdir"/doc/sonde*.[1-9]; do
		mandoc -T lint -W warning "$page" >lint 2>/dev/null
		[ ! -s lint ] || { show lint; fail "$page"; }
	done
fi
