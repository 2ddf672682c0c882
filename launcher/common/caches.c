/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/caches.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_CACHES "/sys/devices/system/cpu/cpu0/cache" /* see sysfs-devices-system-cpu in the kernel's Documentation/ABI */
#define MOST (UINT64_C(1) << 40)

/* Bytes; *@end: what follows.  0: it is no size. */
static uint64_t parse_size(const char *text, const char **end)
{
	static const char units[] = "KMG";
	uint64_t v = 0;
	const char *unit;

	for (; *text >= '0' && *text <= '9' && v < MOST; text++)
		v = 10 * v + (uint64_t)(*text - '0');
	unit = *text ? strchr(units, *text) : NULL;
	if (unit)
		text++;
	*end = text;
	for (ptrdiff_t k = unit ? unit - units + 1 : 0; k > 0 && v < MOST; k--)
		v *= 1024;
	return v <= MOST ? v : 0;
}

struct caches caches_from(const uint64_t *bytes)
{
	struct caches c = { 0 };

	for (unsigned int i = 0; i < CACHES_MAX && bytes[i]; i++) {
		if (bytes[i] > MOST || bytes[i] < (i ? bytes[i - 1] + CACHES_LINE : CACHES_LINE))
			return (struct caches){ 0 };
		c.bytes[i] = bytes[i];
	}
	return c;
}

bool caches_parse(const char *text, struct caches *c)
{
	uint64_t bytes[CACHES_MAX] = { 0 };
	unsigned int n = 0;

	do {
		text += n > 0;
		if (n == CACHES_MAX)
			return false;
		bytes[n++] = parse_size(text, &text);
	} while (*text == ',');
	*c = caches_from(bytes);
	return !*text && c->bytes[n - 1];
}

/* ---- the kernel ---- */

bool caches_word(unsigned int index, const char *name, char word[static 32])
{
	char path[96];
	bool good;
	FILE *f;

	snprintf(path, sizeof(path), CPU_CACHES "/index%u/%s", index, name);
	f = fopen(path, "re");
	good = f && fscanf(f, "%31s", word) == 1;
	if (f)
		fclose(f);
	return good;
}

static struct caches read_caches(void)
{
	uint64_t bytes[CACHES_MAX] = { 0 };
	char type[32], level[32], size[32];
	const char *end;

	for (unsigned int i = 0; caches_word(i, "type", type); i++) {
		unsigned long at;

		if (strcmp(type, "Instruction") == 0 || !caches_word(i, "level", level) ||
		    !caches_word(i, "size", size))
			continue;
		at = strtoul(level, NULL, 10);
		if (at >= 1 && at <= CACHES_MAX)
			bytes[at - 1] = parse_size(size, &end);
	}
	return caches_from(bytes);
}

static struct caches here;

static void read_here(void)
{
	here = read_caches();
}

struct caches caches_here(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_here);
	return here;
}
