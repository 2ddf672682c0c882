// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/common/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tracefmt/ring.h"

#define DAY_NS (UINT64_C(86400) * 1000000000)
#define MOST_ACCESSES UINT64_C(1000000000000000)
#define MOST_DIGITS 16
#define LEAST_PERCENT 0.1
#define MOST_PERCENT 100
#define MILLIONTHS 10000 /* a percent */

/* The part that is called @name, copied. */
static bool take_part(const char **at, const char *name, char *part, size_t size)
{
	size_t len = strlen(name), n;

	if (strncmp(*at, name, len) != 0)
		return false;
	*at += len;
	n = strcspn(*at, ",");
	if (n == 0 || n >= size)
		return false;
	memcpy(part, *at, n);
	part[n] = '\0';
	*at += n;
	return true;
}

/* Up to MOST_ACCESSES, with thousands, millions or billions. */
static bool parse_number(const char *text, uint64_t *n)
{
	static const char units[] = "kMG";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
	uint64_t factor = 1;

	if (digits == 0 || digits > MOST_DIGITS || (text[digits] && (!unit || text[digits + 1])))
		return false;
	for (ptrdiff_t k = unit ? unit - units + 1 : 0; k > 0; k--)
		factor *= 1000;
	*n = strtoull(text, NULL, 10);
	if (*n > MOST_ACCESSES / factor)
		return false;
	*n *= factor;
	return true;
}

bool sample_times_parse(const char *text, struct sample_times *t)
{
	char burst[32], every[32];

	if (!take_part(&text, "burst:", burst, sizeof(burst)) ||
	    !take_part(&text, ",every:", every, sizeof(every)) || *text)
		return false;
	t->by = RING_SAMPLE_ACCESSES;
	if (!parse_number(burst, &t->burst) || !parse_number(every, &t->every)) {
		t->by = RING_SAMPLE_TIME;
		if (!opt_parse_time(burst, &t->burst) || !opt_parse_time(every, &t->every) ||
		    t->every > DAY_NS)
			return false;
	}
	return t->burst > 0 && t->burst < t->every;
}

bool sample_overhead_parse(const char *text, struct sample_times *t)
{
	double percent;
	char *end;

	if (text[0] < '0' || text[0] > '9' || text[strcspn(text, "xX")])
		return false;
	percent = strtod(text, &end);
	if (*end == '%')
		end++;
	if (*end || !(percent >= LEAST_PERCENT && percent <= MOST_PERCENT))
		return false;
	*t = (struct sample_times){
		.by = RING_SAMPLE_COST, .burst = (uint64_t)(percent * MILLIONTHS + 0.5),
	};
	return true;
}
