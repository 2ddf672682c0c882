// SPDX-License-Identifier: GPL-3.0-or-later
/* Machine code for the program's threads that hand memory accesses to modules: see trampolines/memshared.h. */
#include "config.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launcher/analysis-private.h"
#include "launcher/message.h"
#include "trampolines/memcompile.h"
#include "trampolines/memshared.h"

int analysis_compile(struct analysis *a)
{
	void *p = MAP_FAILED;
	int fd;

	if (!mx_compile_wanted())
		return -1;
	fd = memfd_create("sonde-compiled", 0);
	if (fd >= 0 && ftruncate(fd, MXS_BYTES) == 0)
		p = mmap(NULL, MXS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	a->shared = p;
	a->shared_fd = fd;
	return fd;
}

void analysis_compile_at(struct analysis *a, uint64_t run)
{
	if (a->shared_fd)
		close(a->shared_fd);
	a->shared_fd = 0;
	if (a->shared && run)
		a->server = mx_serve_begin(a->code, a->shared, !a->want_accesses, run);
	else if (a->shared)
		msg_debug("code for the program's threads could not be mapped there: they interpret memory accesses");
}

void analysis_compile_object(struct analysis *a)
{
	if (a->server)
		mx_serve_objects(a->server);
}

bool analysis_serve(struct analysis *a)
{
	return a->server && mx_serve(a->server);
}

void analysis_ran(struct analysis *a, uint64_t entered, uint64_t interpreted)
{
	a->entered += entered;
	a->interpreted += interpreted;
}

void analysis_compile_tell(const struct analysis *a)
{
	struct mx_compiled made = { 0 };

	if (!a->server)
		return;
	mx_serve_stats(a->server, &made);
	msg_debug("%" PRIu64 " pieces of code made for the program's threads (%" PRIu64 " bytes), entered %" PRIu64
		  " times; %" PRIu64 " nodes interpreted in between",
		  made.nodes, made.bytes, a->entered, a->interpreted);
}

void analysis_compile_end(struct analysis *a)
{
	mx_serve_end(a->server);
	if (a->shared_fd)
		close(a->shared_fd);
	if (a->shared)
		munmap(a->shared, MXS_BYTES);
}
