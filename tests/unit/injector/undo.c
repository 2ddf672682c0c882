/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything is put into a program (wrappers, mirrors, signal handlers' system calls and return, the dynamic linker's
 * notification, a static program's exit) and taken out again: all code that was there before is as it was, byte for
 * byte, and the program runs to its end.
 */
#include "tests/unit/launcher/support.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injector/process/maps.h"
#include "injector/patch/session.h"
#include "launcher/common/message.h"
#include "launcher/program/program.h"
#include "tracefmt/ring.h"

#define MAX_TEXTS 64

struct text {
	uint64_t start, len;
	uint8_t *bytes;
};

struct run {
	struct program program;
	int rings;
	struct inj_session session;
	struct inj_tracee tracee;
	char module[4096], preload[4200];
	char *modules[1];
	struct text texts[MAX_TEXTS];
	size_t ntexts;
};

static bool want_object(void *arg, const struct inj_object *o)
{
	(void)arg;
	return o->path[0] != '\0';
}

static bool mark_all(void *arg, struct inj_object *o, const struct inj_marks *marks)
{
	(void)arg;
	memset(marks->events, true, o->facts->facts.nfns);
	return true;
}

/* Nobody collects: the program records nothing. */
static int no_rings(void)
{
	const struct ring_control control = { .magic = RING_MAGIC, .version = RING_VERSION };
	int fd = memfd_create("rings", 0);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, RING_PAGE), 0);
	assert_int_equal(pwrite(fd, &control, sizeof(control), 0), sizeof(control));
	return fd;
}

static void prepare(struct run *r, const char *program, bool wrap)
{
	struct inj_session_options opt = {
		.ring_map = RING_PAGE, .npools = 64, .code_bytes = UINT64_C(512) << 20, .compiled_fd = -1,
		.modules = r->modules, .nmodules = wrap,
		.mirror = { .enabled = true, .libraries = true, .mode = TRAMP_PROBE_RECORD,
			    .max_functions = 60000, .want_object = want_object, .mark = mark_all },
		.warn = msg_warn,
	};
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/programs/%s", getenv("top_builddir"), program);
	snprintf(r->module, sizeof(r->module), "%s/modules/posixio.so", getenv("top_builddir"));
	snprintf(r->preload, sizeof(r->preload), "LD_PRELOAD=%s", r->module);
	r->modules[0] = r->module;
	assert_int_equal(program_resolve(path, &r->program), 0);
	opt.ring_fd = r->rings = no_rings();
	opt.alive_fd = -1;
	opt.elf_path = r->program.elf_path;
	opt.interp = r->program.interp;
	opt.is_static = r->program.is_static;
	assert_int_equal(inj_session_new(&r->session, &opt), INJ_OK);
}

static void start(struct run *r, bool preload)
{
	char *argv[] = { r->program.path, NULL };
	char *envp[] = { preload ? r->preload : NULL, NULL };
	sigset_t mask;
	struct inj_exec exec = { .path = r->program.path, .argv = argv, .envp = envp, .mask = &mask };
	bool exec_failed;

	sigemptyset(&mask);
	assert_int_equal(inj_tracee_start(&r->tracee, &exec, &exec_failed), INJ_OK);
	assert_int_equal(inj_session_begin(&r->session, &r->tracee), INJ_OK);
}

static void read_texts(struct run *r)
{
	struct inj_maps maps;

	assert_int_equal(inj_maps_read(r->tracee.pid, &maps), INJ_OK);
	for (size_t i = 0; i < maps.n; i++) {
		const struct inj_map *m = &maps.v[i];
		struct text *t = &r->texts[r->ntexts];

		if (!m->executable || m->path[0] != '/' || strncmp(m->path, "/memfd", 6) == 0)
			continue;
		assert_true(++r->ntexts < MAX_TEXTS);
		*t = (struct text){ m->start, m->end - m->start, malloc(m->end - m->start) };
		assert_non_null(t->bytes);
		assert_int_equal(inj_read(&r->tracee.target, t->start, t->bytes, t->len), INJ_OK);
	}
	inj_maps_free(&maps);
}

static size_t differences(struct run *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->ntexts; i++) {
		const struct text *t = &r->texts[i];
		uint8_t *now = malloc(t->len);

		assert_non_null(now);
		assert_int_equal(inj_read(&r->tracee.target, t->start, now, t->len), INJ_OK);
		for (uint64_t k = 0; k < t->len; k++)
			n += now[k] != t->bytes[k];
		free(now);
	}
	return n;
}

static bool in_place(const struct run *r, uint64_t addr)
{
	for (size_t i = 0; i < r->session.edits.n; i++)
		if (r->session.edits.v[i].addr - addr < 16)
			return true;
	return false;
}

static void finish(struct run *r)
{
	int status;

	assert_int_equal(inj_session_release(&r->session), INJ_OK);
	assert_int_equal(waitpid(r->tracee.pid, &status, 0), r->tracee.pid);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < r->ntexts; i++)
		free(r->texts[i].bytes);
	inj_session_free(&r->session);
	close(r->rings);
	program_free(&r->program);
	free(r);
}

static struct run *begin(const char *program, bool wrap)
{
	struct run *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	prepare(r, program, wrap);
	start(r, wrap && !r->program.is_static);
	read_texts(r);
	assert_int_equal(differences(r), 0);
	return r;
}

/* @most: at least as many bytes are changed. */
static void undo(struct run *r, size_t most)
{
	assert_true(differences(r) > most);
	inj_session_undo(&r->session);
	assert_int_equal(r->session.edits.n, 0);
	assert_int_equal(differences(r), 0);
}

static void dynamic(void **state)
{
	struct run *r = begin("fn_signals", true);
	const struct inj_session *s = &r->session;
	size_t wraps = 0;

	(void)state;
	assert_int_equal(inj_session_instrument(&r->session), INJ_OK);
	assert_int_equal(inj_session_settle(&r->session), INJ_OK);
	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].state == INJ_WRAP_ACTIVE) {
			assert_true(in_place(r, s->wraps[i].addr));
			wraps++;
		}
	assert_true(wraps > 10);
	assert_true(s->linker_hooked && in_place(r, s->dl_debug_state));
	assert_true(s->mirrors.maps->restorers[0] && in_place(r, s->mirrors.maps->restorers[0]));
	undo(r, 10000);
	finish(r);
}

static void is_static(void **state)
{
	struct run *r = begin("demo-static", true);

	(void)state;
	assert_int_equal(inj_session_instrument(&r->session), INJ_OK);
	assert_int_equal(inj_session_settle(&r->session), INJ_OK);
	undo(r, 1000);
	finish(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dynamic),
		cmocka_unit_test(is_static),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
