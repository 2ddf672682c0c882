// SPDX-License-Identifier: GPL-3.0-or-later
/* Machine code for the program's threads that hand memory accesses to modules: see memtrace/shared.h. */
#include "config.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injector/patch/arena.h"
#include "launcher/collect/analysis/analysis-private.h"
#include "launcher/common/message.h"
#include "memtrace/compile.h"
#include "memtrace/shared.h"

int analysis_compile(struct analysis *a)
{
	void *p = MAP_FAILED;
	int fd;

	if (!mt_compile_wanted())
		return -1;
	fd = inj_memfd("sonde-compiled", MT_BYTES);
	if (fd >= 0)
		p = mmap(NULL, MT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	a->shared = p;
	a->shared_fd = fd;
	return fd;
}

const void *analysis_shared(const struct analysis *a, uint64_t *bytes)
{
	*bytes = MT_BYTES;
	return a ? a->shared : NULL;
}

void analysis_compile_at(struct analysis *a, uint64_t run)
{
	if (a->shared_fd)
		close(a->shared_fd);
	a->shared_fd = 0;
	if (a->shared && run)
		a->server = mt_serve_begin(a->code, a->shared, !a->wants.accesses, run);
	else if (a->shared)
		msg_debug("code for the program's threads could not be mapped there: they interpret memory accesses");
}

void analysis_compile_object(struct analysis *a)
{
	if (a->server)
		mt_serve_objects(a->server);
}

bool analysis_serve(struct analysis *a)
{
	return a->server && mt_serve(a->server);
}

void analysis_ran(struct analysis *a, uint64_t entered, uint64_t interpreted)
{
	__atomic_fetch_add(&a->entered, entered, __ATOMIC_RELAXED);
	__atomic_fetch_add(&a->interpreted, interpreted, __ATOMIC_RELAXED);
}

void analysis_compile_tell(const struct analysis *a)
{
	struct mt_compiled made = { 0 };

	if (!a->server)
		return;
	mt_serve_stats(a->server, &made);
	msg_debug("%" PRIu64 " pieces of code made for the program's threads (%" PRIu64 " bytes), entered %" PRIu64
		  " times; %" PRIu64 " nodes interpreted in between",
		  made.nodes, made.bytes, a->entered, a->interpreted);
}

void analysis_compile_end(struct analysis *a)
{
	mt_serve_end(a->server);
	if (a->shared_fd)
		close(a->shared_fd);
	if (a->shared)
		munmap(a->shared, MT_BYTES);
}
