// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Subscripts of Fortran.  The front end makes one subscript, from 0 on, of all subscripts of an array; what they were is in the
 * source text alone.  A place in the source is a whole statement: its references to a variable are taken from its text, in
 * their order, where there are as many of them as loads from that variable (or one alone).
 */
#include "tags/plugin/gcc.h"
#include "tags/plugin/notes.h"

#include <algorithm>

#define MAX_LINES 40

static bool is_name(char c)
{
	return ISALNUM(c) || c == '_' || c == '%';
}

/* The end of what is in parentheses from @at on; npos: they are not closed. */
static size_t after_parentheses(const std::string &s, size_t at)
{
	int depth = 0;

	for (; at < s.size(); at++) {
		depth += (s[at] == '(') - (s[at] == ')');
		if (depth == 0)
			return at + 1;
	}
	return s.npos;
}

/* A line without its comment, and without what continues it or the one before (free form); false: nothing is there. */
static bool line_at(const char *file, int line, std::string *text, bool *more)
{
	char_span span = location_get_source_line(file, line);

	*text = span ? std::string(span.get_buffer(), span.length()) : "";
	*text = text->substr(0, text->find('!'));
	size_t end = text->find_last_not_of(" \t\r\n"), begin = text->find_first_not_of(" \t&");
	if (end == text->npos || begin == text->npos)
		return false;
	*more = (*text)[end] == '&';
	*text = text->substr(begin, end + 1 - begin - *more);
	return true;
}

/* All of the statement, whose place may be in any of its lines.  Lower case, as names are in the compiler. */
static std::string statement_at(location_t loc)
{
	expanded_location at = expand_location(loc);
	std::string s, text;
	bool more;
	int line = at.line;

	if (!at.file)
		return "";
	while (line > 1 && line > at.line - MAX_LINES && line_at(at.file, line - 1, &text, &more) && more)
		line--;
	while (line < at.line + MAX_LINES && line_at(at.file, line++, &text, &more)) {
		s += text;
		if (!more)
			break;
	}
	for (char &c : s)
		c = TOLOWER(c);
	return s;
}

/* Where the reference that is assigned to ends; npos: nothing is. */
static size_t assignment(const std::string &s)
{
	int depth = 0;

	for (size_t i = 0; i < s.size(); i++) {
		depth += (s[i] == '(') - (s[i] == ')');
		if (depth == 0 && s[i] == '=' && s[i + 1] != '=' && i && !strchr("=/<>", s[i - 1]))
			return i;
	}
	return s.npos;
}

struct reference {
	std::string text;
	bool assigned;
};

/* "a(i)%b(j)": from @at on, a name, and what follows it. */
static size_t reference_end(const std::string &s, size_t at)
{
	for (;;) {
		while (at < s.size() && is_name(s[at]))
			at++;
		size_t paren = s.find_first_not_of(' ', at);
		if (paren == s.npos || s[paren] != '(')
			return at;
		size_t end = after_parentheses(s, paren);
		if (end == s.npos)
			return at;
		at = end;
		if (at >= s.size() || s[at] != '%')
			return at;
	}
}

static std::vector<reference> references(const std::string &s, const std::string &variable)
{
	std::vector<reference> v;
	size_t equals = assignment(s);

	for (size_t at = s.find(variable); at != s.npos; at = s.find(variable, at + 1)) {
		size_t end = at + variable.size();

		if ((at && is_name(s[at - 1])) || (end < s.size() && is_name(s[end]) && s[end] != '%'))
			continue;
		end = reference_end(s, at);
		if (end == at + variable.size())
			continue;
		size_t next = s.find_first_not_of(' ', end);
		reference r = { s.substr(at, end - at), equals != s.npos && next == equals };
		bool known = std::any_of(v.begin(), v.end(),
					 [&](const reference &o) { return o.text == r.text && o.assigned == r.assigned; });
		if (!known)
			v.push_back(r);
	}
	return v;
}

/* Not "a%offset", what the compiler has made for itself. */
static bool is_element(const note *n)
{
	size_t len = strlen(n->variable);

	return strncmp(n->expr, n->variable, len) == 0 && n->expr[len] == '(';
}

void fortran_subscripts(location_t loc, std::vector<note *> &here)
{
	std::string statement = statement_at(loc);
	std::set<std::pair<const char *, bool>> seen;

	for (note *first : here) {
		if (!is_element(first) || !seen.insert(std::make_pair(first->variable, first->write)).second)
			continue;
		std::vector<note *> same;
		std::vector<std::string> texts;
		for (note *n : here)
			if (n->variable == first->variable && n->write == first->write && is_element(n))
				same.push_back(n);
		for (const reference &r : references(statement, first->variable))
			if (r.assigned == first->write)
				texts.push_back(r.text);
		if (texts.size() != 1 && texts.size() != same.size())
			continue;
		for (size_t i = 0; i < same.size(); i++)
			same[i]->expr = text_keep(texts[texts.size() == 1 ? 0 : i]);
	}
}
