/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/units.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tracefmt/json.h"

/* Four significant digits of @v, which is below 10,000 or the largest unit. */
static void four_digits(double v, const char *unit, char *text)
{
	int decimals = v < 9.9995 ? 3 : v < 99.995 ? 2 : v < 999.95 ? 1 : 0;

	snprintf(text, UNITS_MAX, "%.*f %s", decimals, v, unit);
}

void units_time(uint64_t ns, char text[static UNITS_MAX])
{
	if (ns < 1000)
		snprintf(text, UNITS_MAX, "%u ns", (unsigned)ns);
	else if (ns < 999950)
		four_digits((double)ns / 1e3, "us", text);
	else if (ns < 999950000)
		four_digits((double)ns / 1e6, "ms", text);
	else
		four_digits((double)ns / 1e9, "s", text);
}

void units_bytes(uint64_t bytes, char text[static UNITS_MAX])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)bytes;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(text, UNITS_MAX, "%u B", (unsigned)bytes);
		return;
	}
	while (v >= 1023.5 && i + 1 < sizeof(units) / sizeof(units[0])) {
		v /= 1024;
		i++;
	}
	four_digits(v, units[i], text);
}

void units_percent(double percent, char text[static UNITS_MAX])
{
	snprintf(text, UNITS_MAX, "%.1f%%", percent);
}

static bool starts_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

size_t units_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += starts_character(*text);
	return n;
}

static const char *skip(const char *text, size_t columns)
{
	for (; *text; text++) {
		if (starts_character(*text) && columns-- == 0)
			break;
	}
	return text;
}

static void put_safely(FILE *out, const char *from, const char *to)
{
	for (; from < to; from++) {
		unsigned char c = (unsigned char)*from;

		putc(c < ' ' || c == 0x7f ? '?' : c, out);
	}
}

size_t units_text(FILE *out, const char *text, size_t width, bool utf8)
{
	const char *dots = utf8 ? "\xe2\x80\xa6" : "..";
	size_t all = units_width(text), ndots = units_width(dots);

	if (!width || all <= width || width <= ndots) {
		put_safely(out, text, text + strlen(text));
		return all;
	}
	size_t left = (width - ndots + 1) / 2, right = width - ndots - left;
	put_safely(out, text, skip(text, left));
	fputs(dots, out);
	const char *tail = skip(text, all - right);
	put_safely(out, tail, tail + strlen(tail));
	return width;
}

static bool no_terminal;

void units_no_terminal(void)
{
	no_terminal = true;
}

unsigned int units_terminal_width(void)
{
	struct winsize size;

	if (no_terminal || !isatty(STDOUT_FILENO))
		return 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

void units_csv(FILE *out, const char *text)
{
	putc('"', out);
	for (; text && *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

bool units_json_end(struct tf_buf *b, FILE *out)
{
	bool good;

	tf_json_end(b);
	good = !b->failed;
	if (good)
		fwrite(b->data, 1, b->size, out);
	tf_buf_clear(b);
	return good;
}

void units_json_item(struct tf_buf *b, bool first, FILE *out)
{
	fputs(first ? "\n" : ",\n", out);
	fwrite(b->data, 1, b->size, out);
	tf_buf_clear(b);
}
