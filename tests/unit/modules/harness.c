// SPDX-License-Identifier: GPL-3.0-or-later
#include <asm/prctl.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/unit/modules/harness.h"

#define BUFFER_BYTES 65536
#define TEXT_BYTES 16384
#define PREFIX "sonde__wrap_"

struct sonde_pool harness_pool;
const struct sonde_module *harness_module;
unsigned int harness_room_calls;
bool harness_room_refuses;
bool harness_opens;

static uint64_t buffer[BUFFER_BYTES / 8];
static uint64_t counters[SONDE_MAX_COUNTERS];
static const uint64_t *next;
static void *handle;

static uint64_t tcb(void)
{
	uint64_t v;

	__asm__ volatile("movq %%fs:0, %0" : "=r"(v));
	return v;
}

void harness_empty(void)
{
	memset(buffer, 0, sizeof(buffer));
	harness_pool.ptr = (uint64_t)buffer;
	harness_pool.limit = (uint64_t)buffer + sizeof(buffer);
	next = buffer;
}

static uint64_t *room(uint64_t bytes)
{
	harness_room_calls++;
	assert_true(bytes % 8 == 0 && bytes <= SONDE_MAX_RECORD);
	assert_true(harness_pool.owner == 0);
	if (harness_room_refuses)
		return NULL;
	harness_empty();
	return buffer;
}

static uint64_t open_pool(uint64_t sp)
{
	assert_int_equal(sp % 8, 0);
	if (harness_opens)
		harness_pool.owner = tcb();
	return harness_opens;
}

static const struct sonde_api api = { .version = SONDE_ABI_VERSION, .room = room, .open = open_pool };

void harness_leave_room(uint64_t bytes)
{
	harness_pool.limit = harness_pool.ptr + bytes;
}

void *harness_libc(const char *symbol)
{
	return dlsym(RTLD_DEFAULT, symbol);
}

const char *harness_built(const char *file)
{
	static char path[4096];
	const char *top = getenv("top_builddir");

	assert_non_null(top);
	snprintf(path, sizeof(path), "%s/%s", top, file);
	return path;
}

static void check_description(const struct sonde_module *m)
{
	assert_true(m->magic == SONDE_MODULE_MAGIC);
	assert_int_equal(m->abi, SONDE_ABI_VERSION);
	assert_non_null(m->name);
	assert_non_null(m->description);
}

static void give_ids(const struct sonde_module *m)
{
	uint32_t event = SONDE_FIRST_EVENT;
	uint32_t counter = 0;

	for (struct sonde_site *const *s = m->sites_begin; s < m->sites_end; s++)
		(*s)->id = (*s)->kind == SONDE_COUNTER ? counter++ : event++;
}

void harness_load(const char *path, void *(*lookup)(const char *symbol))
{
	const struct sonde_module *m;

	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		fail_msg("%s", dlerror());
	m = dlsym(handle, "sonde_module");
	assert_non_null(m);
	check_description(m);
	*m->api = &api;
	for (struct sonde_wrap *const *w = m->wraps_begin; w < m->wraps_end; w++)
		*(*w)->real = lookup((*w)->symbol);
	give_ids(m);
	harness_module = m;
	harness_room_calls = 0;
	harness_room_refuses = false;
	memset(&harness_pool, 0, sizeof(harness_pool));
	memset(counters, 0, sizeof(counters));
	harness_pool.owner = tcb();
	harness_pool.counters = (uint64_t)counters;
	harness_empty();
	assert_int_equal(syscall(SYS_arch_prctl, ARCH_SET_GS, &harness_pool), 0);
}

void harness_unload(void)
{
	dlclose(handle); /* runs the module's hook at exit */
	syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
	handle = NULL;
}

void *harness_wrapper(const char *symbol)
{
	const struct sonde_module *m = harness_module;

	for (struct sonde_wrap *const *w = m->wraps_begin; w < m->wraps_end; w++)
		if (strcmp((*w)->symbol, symbol) == 0) {
			assert_non_null(*(*w)->real);
			return (*w)->wrapper;
		}
	fail_msg("%s does not wrap %s", m->name, symbol);
	return NULL;
}

uint64_t harness_counter(const char *name)
{
	const struct sonde_module *m = harness_module;

	for (struct sonde_site *const *s = m->sites_begin; s < m->sites_end; s++)
		if ((*s)->kind == SONDE_COUNTER && strcmp((*s)->name, name) == 0)
			return counters[(*s)->id];
	fail_msg("%s has no counter %s", m->name, name);
	return 0;
}

/* ---- records as text ---- */

struct text {
	char s[TEXT_BYTES];
	size_t n;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->s + t->n, sizeof(t->s) - t->n, format, ap);
	va_end(ap);
	assert_true(n >= 0 && (size_t)n < sizeof(t->s) - t->n);
	t->n += (size_t)n;
}

static const uint64_t *add_string(struct text *t, const uint64_t *p)
{
	uint64_t n = *p++;

	assert_true(n <= SONDE_MAX_STRING);
	add(t, "\"%.*s\"", (int)n, (const char *)p);
	for (uint64_t i = n; i % 8; i++)
		assert_int_equal(((const char *)p)[i], 0);
	return p + (n + 7) / 8;
}

static const uint64_t *add_value(struct text *t, uint64_t type, const uint64_t *p)
{
	double f64;

	switch (type) {
	case SONDE_T_I32:
	case SONDE_T_I64:
		add(t, "%lld", (long long)*p);
		return p + 1;
	case SONDE_T_U32:
	case SONDE_T_U64:
	case SONDE_T_BYTES:
		add(t, "%llu", (unsigned long long)*p);
		return p + 1;
	case SONDE_T_F64:
		memcpy(&f64, p, sizeof(f64));
		add(t, "%g", f64);
		return p + 1;
	case SONDE_T_PTR:
		add(t, "%#llx", (unsigned long long)*p);
		return p + 1;
	case SONDE_T_STR:
		return add_string(t, p);
	}
	fail_msg("type %llu", (unsigned long long)type);
	return p;
}

static const uint64_t *add_fields(struct text *t, const struct sonde_field *f, const uint64_t *p)
{
	for (; f->type != SONDE_T_END; f++) {
		if (f->type >= SONDE_T_WAIT) {
			add(t, f->type == SONDE_T_WAIT ? " wait" : " apart");
			if (strcmp(f->name, "wait"))
				add(t, ":%s", f->name);
			continue;
		}
		add(t, " %s=", f->name);
		p = add_value(t, f->type, p);
	}
	return p;
}

static const struct sonde_site *site_of(uint64_t word)
{
	uint32_t id = word & (SONDE_MAX_EVENTS - 1);
	const struct sonde_module *m = harness_module;

	for (struct sonde_site *const *s = m->sites_begin; s < m->sites_end; s++)
		if ((*s)->id == id && (*s)->kind != SONDE_COUNTER)
			return *s;
	fail_msg("no site has id %u", id);
	return NULL;
}

/* The record's time lies between the last one and now (as far as the shift leaves it). */
static void check_time(uint64_t word)
{
	const uint64_t mask = ~UINT64_C(0) >> SONDE_ID_BITS;
	uint64_t now = __builtin_ia32_rdtsc() & mask;
	uint64_t age = (now - (word >> SONDE_ID_BITS)) & mask;

	assert_true(age < UINT64_C(1) << 36);
}

static void check_frame(uint64_t frame)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);

	assert_true(frame - here + (1 << 16) < 1 << 20);
}

static void add_name(struct text *t, const struct sonde_site *s)
{
	static const char *const kinds[] = { "", "enter", "leave", "point" };
	const char *function = s->function;

	if (strncmp(function, PREFIX, strlen(PREFIX)) == 0)
		function += strlen(PREFIX);
	add(t, "%s %s", kinds[s->kind], function);
	if (s->kind == SONDE_POINT)
		add(t, ".%s", s->name);
}

const char *harness_next(void)
{
	static struct text t;
	const struct sonde_site *s;
	const uint64_t *p = next;

	if ((uint64_t)next >= harness_pool.ptr)
		return NULL;
	t.n = 0;
	s = site_of(p[0]);
	check_time(p[0]);
	add_name(&t, s);
	if (s->kind == SONDE_ENTER)
		check_frame(p[1]);
	next = add_fields(&t, s->fields, p + (s->kind == SONDE_ENTER ? 2 : 1));
	assert_true((uint64_t)next <= harness_pool.ptr);
	return t.s;
}

void harness_expect(const char *format, ...)
{
	static char wanted[TEXT_BYTES];
	const char *got = harness_next();
	va_list ap;

	va_start(ap, format);
	vsnprintf(wanted, sizeof(wanted), format, ap);
	va_end(ap);
	if (!got)
		fail_msg("nothing recorded instead of: %s", wanted);
	assert_string_equal(got, wanted);
}

void harness_expect_end(void)
{
	const char *got = harness_next();

	if (got)
		fail_msg("recorded too much: %s", got);
	assert_true(harness_pool.owner == tcb());
}
