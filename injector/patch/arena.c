// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pages.h"
#include "injector/patch/arena.h"
#include "injector/process/maps.h"
#include "injector/process/remote.h"

#define PAGE UINT64_C(4096)
#define ARENA_BYTES (UINT64_C(64) << 10) /* at least, so that neighbours share one */
#define TRIES 16 /* for a place that nobody else takes meanwhile */
#define REACH ((UINT64_C(1) << 31) - (UINT64_C(1) << 20))

static uint64_t pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(PAGE - 1);
}

int inj_memfd(const char *name, uint64_t bytes)
{
	int fd = memfd_create(name, MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)bytes) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	close(fd);
	return -1;
}

static void *create_memfd(struct inj_code *code)
{
	code->fd = inj_memfd("sonde-code", code->size);
	if (code->fd < 0)
		return MAP_FAILED;
	return mmap(NULL, code->size, PROT_READ | PROT_WRITE, MAP_SHARED, code->fd, 0);
}

/* Marked to be removed at once: Linux lets the program attach it all the same, as long as we have it. */
static void *create_segment(struct inj_code *code)
{
	void *p;

	code->shm = shmget(IPC_PRIVATE, code->size, IPC_CREAT | SHM_NORESERVE | 0700);
	if (code->shm < 0)
		return MAP_FAILED;
	p = shmat(code->shm, NULL, 0);
	shmctl(code->shm, IPC_RMID, NULL);
	return p;
}

enum inj_status inj_code_create(struct inj_code *code, uint64_t size, bool for_perf)
{
	void *p;

	*code = (struct inj_code){ .fd = -1, .shm = -1, .size = pages(size) };
	p = for_perf ? create_segment(code) : create_memfd(code);
	if (p == MAP_FAILED) {
		inj_code_free(code);
		return INJ_SYSTEM;
	}
	code->mem = p;
	return INJ_OK;
}

/* Most of it is never used; a core file that holds it would be as large (second mappings inherit that). */
static enum inj_status keep_out_of_cores(struct inj_code *code, struct inj_target *t)
{
	int64_t ignored;

	return inj_syscall(t, SYS_madvise, (const uint64_t[6]){ code->first, code->size, MADV_DONTDUMP },
			   &ignored);
}

static enum inj_status map_memfd(struct inj_code *code, struct inj_target *t)
{
	int fd;
	enum inj_status status = inj_remote_open(t, code->fd, &fd);

	if (status == INJ_OK)
		status = inj_mmap(t, 0, code->size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0, &code->first);
	return status == INJ_OK ? inj_remote_close(t, fd) : status;
}

static enum inj_status map_segment(struct inj_code *code, struct inj_target *t)
{
	int64_t result = 0;
	enum inj_status status = inj_syscall(
		t, SYS_shmat, (const uint64_t[6]){ (uint64_t)code->shm, 0, SHM_RDONLY | SHM_EXEC }, &result);

	code->first = (uint64_t)result;
	return status;
}

enum inj_status inj_code_map(struct inj_code *code, struct inj_target *t)
{
	enum inj_status status = code->shm >= 0 ? map_segment(code, t) : map_memfd(code, t);

	return status == INJ_OK ? keep_out_of_cores(code, t) : status;
}

void inj_code_free(struct inj_code *code)
{
	if (code->fd >= 0)
		close(code->fd);
	if (code->mem && code->shm >= 0)
		shmdt(code->mem);
	else if (code->mem)
		munmap(code->mem, code->size);
	free(code->v);
	inj_maps_free(&code->maps);
	*code = (struct inj_code){ .fd = -1, .shm = -1 };
}

static bool reaches(const struct inj_arena *a, uint64_t lo, uint64_t hi)
{
	uint64_t end = a->addr + a->len;

	if (lo == hi)
		return true;
	return (end <= lo || end - lo < REACH) && (hi <= a->addr || hi - a->addr < REACH) &&
	       (a->addr >= lo || hi - a->addr < REACH) && (end <= hi || end - lo < REACH);
}

static struct inj_arena *find_arena(struct inj_code *code, uint64_t lo, uint64_t hi, uint64_t len)
{
	for (size_t i = 0; i < code->n; i++) {
		struct inj_arena *a = &code->v[i];

		if (a->len - a->used >= len && reaches(a, lo, hi) && !(a->near && lo == hi))
			return a;
	}
	return NULL;
}

/* The kernel tells perf of a mapping when it is made or its protection changes, but not when it is moved. */
static enum inj_status tell_perf(struct inj_target *t, uint64_t addr, uint64_t len)
{
	const uint64_t no_exec[6] = { addr, len, PROT_READ }, exec[6] = { addr, len, PROT_READ | PROT_EXEC };
	int64_t ignored;
	enum inj_status status = inj_syscall(t, SYS_mprotect, no_exec, &ignored);

	return status == INJ_OK ? inj_syscall(t, SYS_mprotect, exec, &ignored) : status;
}

/* What has been mapped there since its maps were read is an error like any other's: then they are read again. */
static enum inj_status place_once(struct inj_code *code, struct inj_target *t, uint64_t lo, uint64_t hi,
				  uint64_t len, uint64_t *addr)
{
	enum inj_status status = code->maps.n ? INJ_OK : inj_maps_read(t->pid, &code->maps);

	if (status != INJ_OK)
		return status;
	*addr = inj_maps_gap(&code->maps, lo, hi, len);
	status = *addr ? inj_map_again(t, code->first + code->used, *addr, len) : INJ_NO_ROOM;
	if (status != INJ_OK || inj_maps_add(&code->maps, *addr, len) != INJ_OK)
		inj_maps_free(&code->maps);
	return status;
}

/* A place near [lo, hi) for the memory's next @len bytes.  A process that runs may take it first. */
static enum inj_status place(struct inj_code *code, struct inj_target *t, uint64_t lo, uint64_t hi,
			     uint64_t len, uint64_t *addr)
{
	enum inj_status status = INJ_REMOTE;

	*addr = code->first + code->used;
	if (reaches(&(struct inj_arena){ .addr = *addr, .len = len }, lo, hi))
		return INJ_OK;
	errno = EEXIST;
	for (int tries = 0; tries < TRIES && status == INJ_REMOTE && errno == EEXIST; tries++)
		status = place_once(code, t, lo, hi, len, addr);
	/* what was there may be gone */
	if (status == INJ_NO_ROOM)
		status = place_once(code, t, lo, hi, len, addr);
	return status == INJ_OK && code->shm >= 0 ? tell_perf(t, *addr, len) : status;
}

static enum inj_status add_arena(struct inj_code *code, struct inj_target *t, uint64_t lo,
				 uint64_t hi, uint64_t len, struct inj_arena **out)
{
	struct inj_arena *v = realloc(code->v, (code->n + 1) * sizeof(*v));
	enum inj_status status;
	uint64_t addr;

	if (!v)
		return INJ_MEMORY;
	code->v = v;
	len = pages(len < ARENA_BYTES ? ARENA_BYTES : len);
	if (len > code->size - code->used)
		return INJ_NO_ROOM;
	status = place(code, t, lo, hi, len, &addr);
	if (status != INJ_OK)
		return status;
	*out = &code->v[code->n++];
	**out = (struct inj_arena){
		.addr = addr, .offset = code->used, .len = len, .near = addr != code->first + code->used,
	};
	code->used += len;
	return INJ_OK;
}

enum inj_status inj_code_alloc(struct inj_code *code, struct inj_target *t, uint64_t lo,
			       uint64_t hi, uint64_t len, uint64_t *addr, uint8_t **mem)
{
	struct inj_arena *a;
	enum inj_status status = INJ_OK;

	len = (len + INJ_ARENA_ALIGN - 1) / INJ_ARENA_ALIGN * INJ_ARENA_ALIGN;
	a = find_arena(code, lo, hi, len);
	if (!a)
		status = add_arena(code, t, lo, hi, len, &a);
	if (status != INJ_OK)
		return status;
	*addr = a->addr + a->used;
	*mem = code->mem + a->offset + a->used;
	a->used += len;
	return INJ_OK;
}

enum inj_status inj_code_reserve(struct inj_code *code, struct inj_target *t, uint64_t lo, uint64_t hi, uint64_t len)
{
	const struct inj_arena all = { .addr = code->first, .len = code->size };
	uint64_t most = (code->size - code->used) / 4;
	struct inj_arena *a;

	if (reaches(&all, lo, hi))
		return INJ_OK;
	a = find_arena(code, lo, hi, 1);
	if (a && a->len - a->used >= (len < most ? len : most))
		return INJ_OK;
	return add_arena(code, t, lo, hi, len < most ? len : most, &a);
}

enum inj_status inj_code_alloc_pages(struct inj_code *code, struct inj_target *t, uint64_t len,
				     uint64_t *addr, uint8_t **mem)
{
	struct inj_arena *a;
	enum inj_status status = add_arena(code, t, 0, 0, len, &a);

	if (status != INJ_OK)
		return status;
	a->used = a->len;
	*addr = a->addr;
	*mem = code->mem + a->offset;
	return INJ_OK;
}

void *inj_code_at(const struct inj_code *code, uint64_t addr)
{
	for (size_t i = 0; i < code->n; i++)
		if (addr - code->v[i].addr < code->v[i].len)
			return code->mem + code->v[i].offset + (addr - code->v[i].addr);
	return NULL;
}

enum inj_status inj_code_put(struct inj_code *code, struct inj_target *t, const void *table,
			     size_t bytes, uint64_t *addr)
{
	uint8_t *mem;
	enum inj_status status = inj_code_alloc(code, t, 0, 0, bytes + 1, addr, &mem);

	if (status != INJ_OK || !bytes)
		return status;
	pages_make(mem, bytes);
	memcpy(mem, table, bytes);
	return INJ_OK;
}
