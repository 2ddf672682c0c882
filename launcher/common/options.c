/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/options.h"
#include "base/array.h"
#include "launcher/common/message.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 64
#define DONE(status) (-(status) - 1)

/* getopt's two ways of writing down what the table says. */
struct getopt_tables {
	char letters[3 * MAX_OPTIONS + 3];
	struct option words[MAX_OPTIONS + 1];
};

void opt_list_free(struct opt_list *list)
{
	free(list->v);
	*list = (struct opt_list){ 0 };
}

bool opt_list_append(struct opt_list *list, const char *value)
{
	if (!array_one_more(list->v, list->n))
		return false;
	list->v[list->n++] = value;
	return true;
}

static int argument_of(const struct opt *o)
{
	if (!o->arg)
		return no_argument;
	return o->type == OPT_LIST_OR ? optional_argument : required_argument;
}

static void build_tables(const struct opt_command *cmd, struct getopt_tables *t)
{
	char *s = t->letters;
	size_t n = 0;

	if (cmd->stop_at_operand)
		*s++ = '+';
	*s++ = ':';
	for (const struct opt *o = cmd->opts; o->type && n < MAX_OPTIONS; o++) {
		if (o->letter) {
			*s++ = o->letter;
			for (int colons = argument_of(o); colons > 0; colons--)
				*s++ = ':';
		}
		if (o->name) {
			t->words[n++] = (struct option){ o->name, argument_of(o), NULL,
							 256 + (int)(o - cmd->opts) };
		}
	}
	*s = '\0';
	t->words[n] = (struct option){ 0 };
}

static const struct opt *find_option(const struct opt_command *cmd, int code)
{
	if (code >= 256)
		return &cmd->opts[code - 256];
	for (const struct opt *o = cmd->opts; o->type; o++) {
		if (o->letter == code)
			return o;
	}
	return NULL;
}

int opt_usage_error(const struct opt_command *cmd, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	msg_error("%s; see 'sonde %s --help'", text, cmd->name);
	return EXIT_USAGE;
}

static bool parse_count(const char *s, uint64_t *value, char **end)
{
	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*value = strtoull(s, end, 10);
	return errno == 0;
}

/* A unit's power of 1024, or -1. */
static int unit_power(const char *unit)
{
	static const char letters[] = "KMG";

	if (*unit == '\0' || strcmp(unit, "B") == 0)
		return 0;
	const char *at = strchr(letters, *unit >= 'a' ? *unit - 'a' + 'A' : *unit);
	if (!at || !*at)
		return -1;
	unit++;
	if (*unit != '\0' && strcmp(unit, "B") != 0 && strcmp(unit, "iB") != 0)
		return -1;
	return (int)(at - letters) + 1;
}

static bool parse_size(const char *s, uint64_t *value)
{
	char *end;

	if (!parse_count(s, value, &end))
		return false;
	int power = unit_power(end);
	if (power < 0)
		return false;
	for (; power > 0; power--) {
		if (__builtin_mul_overflow(*value, UINT64_C(1024), value))
			return false;
	}
	return true;
}

static bool parse_fraction(const char *s, uint64_t unit, uint64_t *value, char **end)
{
	*end = (char *)s;
	for (; **end >= '0' && **end <= '9'; ++*end) {
		unit /= 10;
		*value += unit * (uint64_t)(**end - '0');
	}
	return *end > s;
}

/* Digits below a nanosecond are cut off. */
bool opt_parse_time(const char *s, uint64_t *value)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	size_t len = strcspn(s, "nums");
	uint64_t fraction = 0;
	char *end;

	if (!parse_count(s, value, &end))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(s + len, units[i].name) != 0)
			continue;
		if (*end == '.' && !parse_fraction(end + 1, units[i].ns, &fraction, &end))
			return false;
		return end == s + len && !__builtin_mul_overflow(*value, units[i].ns, value) &&
		       !__builtin_add_overflow(*value, fraction, value);
	}
	return false;
}

static bool is_choice(const char *choices, const char *value)
{
	for (const char *c = choices; *c; c += strlen(c) + 1) {
		if (strcmp(c, value) == 0)
			return true;
	}
	return false;
}

static void join_choices(const char *choices, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (const char *c = choices; *c; c += strlen(c) + 1) {
		const char *next = c + strlen(c) + 1;
		int n = snprintf(buf + len, size - len, "%s%s", len ? (*next ? ", " : " or ") : "", c);

		if (n < 0 || (size_t)n >= size - len)
			return;
		len += (size_t)n;
	}
}

static int bad_value(const struct opt_command *cmd, const struct opt *o, const char *value,
		     const char *wanted)
{
	return opt_usage_error(cmd, "--%s %s: not %s", o->name, value, wanted);
}

static int bad_choice(const struct opt_command *cmd, const struct opt *o, const char *value)
{
	char choices[256];

	join_choices(o->choices, choices, sizeof(choices));
	return bad_value(cmd, o, value, choices);
}

/* Stores one option's value; returns 0 or an exit status. */
static int store(const struct opt_command *cmd, const struct opt *o, const char *value, void *out)
{
	void *at = (char *)out + o->offset;
	char *end;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case OPT_CHOICE:
		if (!is_choice(o->choices, value))
			return bad_choice(cmd, o, value);
		*(const char **)at = value;
		return 0;
	case OPT_STRING:
		*(const char **)at = value;
		return 0;
	case OPT_COUNT:
		if (!parse_count(value, at, &end) || *end)
			return bad_value(cmd, o, value, "a whole number");
		return 0;
	case OPT_SIZE:
		if (!parse_size(value, at))
			return bad_value(cmd, o, value, "a size such as 512K, 4M or 1G");
		return 0;
	case OPT_TIME:
		if (!opt_parse_time(value, at))
			return bad_value(cmd, o, value, "a time such as 500ns, 10us or 1.5ms");
		return 0;
	case OPT_LIST:
	case OPT_LIST_OR:
		if (opt_list_append(at, value ? value : o->choices))
			return 0;
		msg_error("out of memory");
		return EXIT_USAGE;
	case OPT_TYPE_HELP:
	case OPT_TYPE_END:
		break;
	}
	return 0;
}

/*
 * The text of the option that getopt_long() complains about. A long one is the argument before
 * optind; a letter may be one of several in an argument that is not used up yet.
 */
static int complain(const struct opt_command *cmd, int problem, char **argv, int before)
{
	const char *word = argv[optind - 1];
	bool is_long = strncmp(word, "--", 2) == 0 && optind > before;
	char letter[3] = { '-', (char)optopt, '\0' };
	int len = is_long ? (int)strcspn(word, "=") : 2;

	if (!is_long)
		word = letter;
	if (problem == ':')
		return opt_usage_error(cmd, "option %.*s needs a value", len, word);
	if (is_long && optopt >= 256)
		return opt_usage_error(cmd, "option %.*s takes no value", len, word);
	return opt_usage_error(cmd, "unknown option %.*s", len, word);
}

int opt_parse(const struct opt_command *cmd, int argc, char **argv, void *out)
{
	struct getopt_tables t;
	int code;

	build_tables(cmd, &t);
	optind = 0; /* also resets glibc's memory of an earlier vector */
	opterr = 0;
	for (;;) {
		int before = optind ? optind : 1;

		code = getopt_long(argc, argv, t.letters, t.words, NULL);
		if (code == -1)
			return optind;
		if (code == '?' || code == ':')
			return DONE(complain(cmd, code, argv, before));
		const struct opt *o = find_option(cmd, code);
		if (o->type == OPT_TYPE_HELP) {
			opt_print_help(cmd);
			return DONE(0);
		}
		/* after a letter it may be -A=VALUE, since a value cannot be an argument of its own */
		bool equals = o->type == OPT_LIST_OR && optarg && *optarg == '=' && argv[optind - 1][1] != '-';
		int status = store(cmd, o, equals ? optarg + 1 : optarg, out);
		if (status)
			return DONE(status);
	}
}

/* ---- help ---- */

static void print_option(const struct opt *o)
{
	char left[64];
	int n = snprintf(left, sizeof(left), "  %c%c%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter && o->name ? ", " : "  ");

	if (o->name)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s", o->name);
	if (o->arg)
		snprintf(left + n, sizeof(left) - (size_t)n, "%s%s%s%s",
			 argument_of(o) == optional_argument ? "[" : "", o->name ? "=" : " ", o->arg,
			 argument_of(o) == optional_argument ? "]" : "");
	printf("%-28s %s\n", left, o->help);
}

static void print_example(const char *line, size_t len)
{
	const char *tab = memchr(line, '\t', len);
	size_t left = tab ? (size_t)(tab - line) : len;

	if (!tab || left > 40)
		printf("  %.*s\n", (int)left, line);
	else
		printf("  %-40.*s %.*s\n", (int)left, line, (int)(len - left - 1), tab + 1);
	if (tab && left > 40)
		printf("  %-40s %.*s\n", "", (int)(len - left - 1), tab + 1);
}

static void print_examples(const char *text)
{
	puts("\nExamples:");
	while (*text) {
		size_t len = strcspn(text, "\n");

		print_example(text, len);
		text += len + (text[len] == '\n');
	}
}

void opt_print_help(const struct opt_command *cmd)
{
	printf("Usage: sonde %s %s\n%s\n\nOptions:\n", cmd->name, cmd->usage, cmd->summary);
	for (const struct opt *o = cmd->opts; o->type; o++)
		if (o->help)
			print_option(o);
	if (cmd->details)
		printf("\n%s", cmd->details);
	if (cmd->examples)
		print_examples(cmd->examples);
}
