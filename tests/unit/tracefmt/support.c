/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/tracefmt/support.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t random_bits(void)
{
	static uint64_t seed;
	const char *given = getenv("SONDE_TEST_SEED");

	if (!seed)
		seed = given ? strtoull(given, NULL, 0) | 1 : 88172645463325252;
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

uint32_t random_below(uint32_t n)
{
	return (uint32_t)((random_bits() >> 32) * n >> 32);
}

void image_init(struct image *im, uint32_t room)
{
	uint32_t pages = (room + 4095) / 4096 * 4096;
	char *p = mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + pages, 4096, PROT_NONE), 0);
	*im = (struct image){ .room = room, .mapping = (uint64_t *)(void *)p,
			      .word = (uint64_t *)(void *)(p + pages - room) };
}

void image_free(struct image *im)
{
	munmap(im->mapping, (im->room + 4095) / 4096 * 4096 + 4096);
}

void image_clear(struct image *im)
{
	memset(im->word, 0, im->room);
	im->used = 0;
}

bool image_put(struct image *im, const uint64_t *word, uint32_t n)
{
	if (im->room - im->used < 8 * n)
		return false;
	memcpy((char *)im->word + im->used, word, 8 * n);
	im->used += 8 * n;
	return true;
}

void image_enter(struct image *im, uint64_t tsc, uint32_t f, uint64_t addr)
{
	assert_true(image_put(im, (uint64_t[]){ tsc << RING_ID_BITS | ENTER(f), addr }, 2));
}

void image_leave(struct image *im, uint64_t tsc, uint32_t f)
{
	assert_true(image_put(im, (uint64_t[]){ tsc << RING_ID_BITS | LEAVE(f) }, 1));
}

void image_probe(struct image *im, uint64_t tsc, uint32_t event, uint64_t addr)
{
	assert_true(image_put(im, (uint64_t[]){ tsc << RING_ID_BITS | event, addr }, 2));
}

static void add_event(struct tf_writer *w, uint32_t f, enum sonde_trace_kind kind, uint32_t id)
{
	static const struct tf_field enter[] = { { "count", SONDE_TRACE_I32 },
						 { "file", SONDE_TRACE_STR },
						 { "buffer", SONDE_TRACE_PTR } };
	static const struct tf_field leave[] = { { "sum", SONDE_TRACE_F64 },
						 { "done", SONDE_TRACE_I64 } };
	static const struct tf_field point[] = { { "text", SONDE_TRACE_STR },
						 { "size", SONDE_TRACE_BYTES },
						 { "small", SONDE_TRACE_U32 },
						 { "large", SONDE_TRACE_U64 } };
	static const struct tf_field waits[] = { { "messages", SONDE_TRACE_WAIT } };
	static const struct tf_field apart[] = { { "start", SONDE_TRACE_APART } };
	struct tf_event e = { .id = id, .kind = kind, .function = f,
			      .entry = kind == SONDE_TRACE_ENTER ? WRAP_ENTRY(f) : 0 };

	e.module = f == RICH || f == WAITS ? "rich" : NULL;
	e.name = kind == SONDE_TRACE_POINT ? "phase" : NULL;
	if (f == RICH) {
		e.fields = kind == SONDE_TRACE_ENTER ? enter :
			   kind == SONDE_TRACE_LEAVE ? leave :
						       point;
		e.nfields = kind == SONDE_TRACE_ENTER ? 3 : kind == SONDE_TRACE_LEAVE ? 2 : 4;
	} else if (f == WAITS && kind == SONDE_TRACE_ENTER) {
		e.fields = waits;
		e.nfields = 1;
	} else if (f == APART && kind == SONDE_TRACE_ENTER) {
		e.fields = apart;
		e.nfields = 1;
	}
	assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_OK);
}

void describe_functions(struct tf_writer *w)
{
	assert_int_equal(tf_writer_module(w, "rich", "records much", "/lib/rich.so"), 0);
	for (uint32_t i = 0; i < NFUNCTIONS; i++) {
		char name[32], demangled[32];
		struct tf_function f = { .id = i, .name = name, .path = "/bin/prog",
					 .address = 0x1000 + 16 * i };

		snprintf(name, sizeof name, "_Z2f%uv", i);
		snprintf(demangled, sizeof demangled, "f%u()", i);
		f.demangled = demangled;
		assert_int_equal(tf_writer_function(w, &f), SONDE_TRACE_OK);
		add_event(w, i, SONDE_TRACE_ENTER, ENTER(i));
		add_event(w, i, SONDE_TRACE_LEAVE, LEAVE(i));
		add_event(w, i, SONDE_TRACE_POINT, POINT(i));
	}
}

static char *demangle(const char *name)
{
	char *text = NULL;

	return asprintf(&text, "<%s>", name) < 0 ? NULL : text;
}

/* The odd ones are in a library. */
static void describe_probes(struct tf_writer *w)
{
	static char name[NPROBES][8];
	static struct tf_probe probe[NPROBES];

	for (uint32_t i = 0; i < NPROBES; i++) {
		snprintf(name[i], sizeof name[i], "p%u", i);
		probe[i] = (struct tf_probe){
			.function = { .id = NFUNCTIONS + i, .name = name[i],
				      .path = i % 2 ? "/lib/libp.so" : "/bin/prog",
				      .address = 0x2000 + 16 * i },
			.entry = PROBE_ENTRY(i), .event = PROBE_ENTER(i), .count = PROBE_COUNT(i),
		};
	}
	assert_int_equal(tf_writer_probes(w, probe, NPROBES, demangle), SONDE_TRACE_OK);
	memset(name, 'x', sizeof name); /* strings are copied */
	for (uint32_t i = 0; i < NPROBES; i++)
		name[i][sizeof name[i] - 1] = '\0';
}

struct tf_writer *new_trace(const char *name, int rank)
{
	static char program[] = "prog", argument[] = "two words";
	char *args[] = { program, argument, NULL };
	struct tf_start start = { .program = "/bin/prog", .args = args, .rank = rank,
				  .host = "node7", .version = "1.2.3",
				  .clock = { BASE_TSC, BASE_MONO, 1700000000000000000 } };
	struct tf_writer *w;

	assert_int_equal(tf_writer_create(&w, name, &start), SONDE_TRACE_OK);
	/* One tick is one nanosecond. */
	assert_int_equal(tf_writer_clock(w, &(struct tf_clock){ BASE_TSC + 1000000000,
								BASE_MONO + 1000000000,
								1700000001000000000 }),
			 SONDE_TRACE_OK);
	describe_functions(w);
	describe_probes(w);
	return w;
}

void end_trace(struct tf_writer *w)
{
	struct tf_end end = { .ending = SONDE_TRACE_EXITED, .exit_status = 3, .complete = true };

	assert_int_equal(tf_writer_close(w, &end), SONDE_TRACE_OK);
}

struct tf_thread *new_thread(struct tf_writer *w, int pid, int tid)
{
	struct tf_thread *t;

	assert_int_equal(tf_thread_create(w, &t, pid, tid, "worker", BASE_TSC), SONDE_TRACE_OK);
	return t;
}

void end_thread(struct tf_thread *t)
{
	struct tf_thread_end end = { 0 };

	assert_int_equal(tf_thread_close(t, &end), SONDE_TRACE_OK);
}

uint32_t drain_image(struct tf_thread *t, const struct image *im, bool final, uint64_t now)
{
	struct tf_sub sub = { .base = im->word, .bytes = im->room, .used = im->used,
			      .final = final, .now_tsc = now };
	uint32_t pos = 0;

	assert_int_equal(tf_thread_drain(t, &sub, &pos), SONDE_TRACE_OK);
	return pos;
}

void write_trace(const char *name, const struct image *im, uint64_t now)
{
	struct tf_writer *w = new_trace(name, -1);
	struct tf_thread *t = new_thread(w, 100, 101);

	drain_image(t, im, true, now);
	end_thread(t);
	end_trace(w);
}

struct sonde_trace *open_trace(const char *name)
{
	struct sonde_trace_message why;
	struct sonde_trace *trace;

	if (sonde_trace_open(name, &trace, &why) != SONDE_TRACE_OK)
		fail_msg("%s", why.text);
	return trace;
}

uint8_t *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	struct stat st;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*size = (size_t)st.st_size;
	data = malloc(*size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, *size, f), *size);
	fclose(f);
	return data;
}

void write_file(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

void thread_file(const char *dir, char *path, size_t room)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) && !strstr(e->d_name, ".sonde"))
		;
	assert_non_null(e);
	snprintf(path, room, "%s/%s", dir, e->d_name);
	closedir(d);
}

void remove_trace(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[512];

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (unlink(path) && errno == EISDIR)
			remove_trace(path);
	}
	if (d)
		closedir(d);
	rmdir(dir);
}

static char directory[256];

int enter_directory(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(directory, sizeof directory, "%.200s/tracefmt.XXXXXX", tmp ? tmp : "/tmp");
	return !mkdtemp(directory) || chdir(directory);
}

int leave_directory(void **state)
{
	(void)state;
	if (chdir("/"))
		return -1;
	remove_trace(directory);
	return 0;
}
