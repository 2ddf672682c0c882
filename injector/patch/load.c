// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Our own ELF loader: puts a shared object into the program, bound to what is there.  Code and constants are in
 * the code memfd; writable pages are private memory mapped over it at their place.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injector/patch/session.h"
#include "injector/process/batch.h"
#include "injector/process/remote.h"
#include "runtime/image.h"
#include "tracefmt/ring.h"
#include "memtrace/shared.h"

#define PAGE UINT64_C(4096)
#define MADV_WIPE 18 /* MADV_WIPEONFORK */

static uint64_t page_down(uint64_t a)
{
	return a & ~(PAGE - 1);
}

static uint64_t page_up(uint64_t a)
{
	return page_down(a + PAGE - 1);
}

static enum inj_status load_writable(struct inj_session *s, const struct inj_image *img,
				     const struct inj_segment *seg, uint64_t base)
{
	uint64_t start = page_down(seg->vaddr), end = page_up(seg->vaddr + seg->memsz), got;
	enum inj_status status;

	status = inj_mmap(s->target, base + start, end - start, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, &got);
	if (status != INJ_OK)
		return status;
	return inj_write(s->target, base + seg->vaddr, img->mem + seg->vaddr, seg->filesz);
}

enum inj_status inj_load_image(struct inj_session *s, struct inj_image *img, uint64_t *base, inj_resolver resolver,
			       struct inj_undefined *undefined)
{
	enum inj_status status;
	enum inj_image_status relocated;
	uint8_t *mem;

	status = inj_code_alloc_pages(&s->code, s->target, img->size, base, &mem);
	if (status != INJ_OK)
		return status;
	relocated = inj_image_relocate(img, *base, resolver, s, undefined);
	if (relocated != INJ_IMAGE_OK)
		return relocated == INJ_IMAGE_UNDEFINED ? INJ_NOT_SUPPORTED : INJ_BAD_IMAGE;
	for (size_t i = 0; i < img->nsegments && status == INJ_OK; i++) {
		const struct inj_segment *seg = &img->segments[i];

		if (seg->flags & PF_W)
			status = load_writable(s, img, seg, *base);
		else
			memcpy(mem + seg->vaddr, img->mem + seg->vaddr, seg->memsz);
	}
	return status;
}

/* ---- the runtime ---- */

static enum inj_status find_symbols(struct inj_session *s)
{
	bool fast = s->config.flags & RT_FSGSBASE;
	const struct {
		const char *name;
		uint64_t *addr;
	} wanted[] = {
		{ "sonde_rt_config", &s->rt_config },
		{ "sonde_rt_api", &s->rt_api },
		{ "sonde_rt_gate", &s->rt_gate },
		{ "sonde_rt_dl_state", &s->rt_dl_state },
		{ "sonde_rt_exit", &s->rt_exit },
		{ "sonde_rt_exec", &s->rt_exec },
		{ "sonde_rt_probe_gate", &s->rt_probe_gate },
		{ "sonde_rt_mem_gate", &s->rt_mem_gate },
		{ "sonde_rt_first", &s->rt_first },
		{ "sonde_rt_sigaction", &s->rt_sigaction },
		{ "sonde_rt_restored", &s->rt_restored },
		{ "sonde_rt_depart", &s->rt_depart },
		{ "sonde_rt_departed", &s->rt_departed },
		{ "sonde_rt_enter", &s->rt_enter },
		{ "sonde_rt_come", &s->rt_come },
		{ "sonde_rt_rest", &s->rt_rest },
		{ "sonde_rt_windows", &s->rt_windows },
		{ "sonde_rt_mem_restorer", &s->rt_mem_restorer },
		{ "sonde_rt_handlers", &s->rt_handlers },
		{ "sonde_rt_mapped", &s->rt_mapped },
		{ "sonde_rt_thunks", &s->rt_thunks },
		{ "sonde_rt_find_fde", &s->rt_find_fde },
		{ fast ? "sonde_rt_guest_enter" : "sonde_rt_guest_enter_slow", &s->rt_guest_enter },
		{ fast ? "sonde_rt_guest_real" : "sonde_rt_guest_real_slow", &s->rt_guest_real },
		{ "sonde_rt_guest_exit", &s->rt_guest_exit },
		{ "sonde_rt_guest_exit_thread", &s->rt_guest_exit_thread },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		uint64_t vaddr;

		if (inj_image_symbol(&s->runtime_image, wanted[i].name, &vaddr) != INJ_IMAGE_OK)
			return INJ_BAD_IMAGE;
		*wanted[i].addr = s->runtime + vaddr;
	}
	return INJ_OK;
}

/*
 * Pools, followed by two pages: one that stands for the TCB as long as there is none, and one that
 * is nobody's pool, for the GS base that the program starts with: a thread that never records hands
 * it on to its children, and must not hand on the pool of another.
 */
static uint64_t pool_bytes(const struct inj_session *s)
{
	return s->opt.npools * RT_POOL_BYTES;
}

static enum inj_status set_pools(struct inj_session *s, uint64_t at)
{
	uint64_t end = at + pool_bytes(s);

	s->config.pools = at;
	s->config.npools = s->opt.npools;
	s->config.nobody = end + PAGE;
	s->spare = end + PAGE - INJ_SPARE;
	if (!(s->opt.is_static || s->attach.active))
		return INJ_OK;
	/* in the middle, since TLS is at negative offsets too */
	s->config.pre_tls = end + PAGE / 2;
	return inj_write(s->target, s->config.pre_tls, &s->config.pre_tls, 8);
}

static enum inj_status map_pools(struct inj_session *s)
{
	enum inj_status status;
	int64_t result;
	uint64_t at;

	status = inj_mmap(s->target, 0, pool_bytes(s) + 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &at);
	if (status == INJ_OK)
		status = inj_syscall(s->target, SYS_madvise,
				     (const uint64_t[6]){ at, pool_bytes(s), MADV_WIPE }, &result);
	return status == INJ_OK ? set_pools(s, at) : status;
}

/* Maps the first @bytes of our descriptor @local. */
static enum inj_status map_ours(struct inj_session *s, int local, uint64_t bytes, uint64_t *at)
{
	int fd;
	enum inj_status status = inj_remote_open(s->target, local, &fd);

	if (status == INJ_OK)
		status = inj_mmap(s->target, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0, at);
	return status == INJ_OK ? inj_remote_close(s->target, fd) : status;
}

static enum inj_status map_rings(struct inj_session *s)
{
	uint64_t unused;
	enum inj_status status = map_ours(s, s->opt.ring_fd, s->opt.ring_map, &s->config.control);

	if (status == INJ_OK && s->opt.alive_fd >= 0)
		status = map_ours(s, s->opt.alive_fd, PAGE, &unused);
	return status;
}

static enum inj_status map_one_by_one(struct inj_session *s)
{
	enum inj_status status = inj_code_map(&s->code, s->target);

	if (status == INJ_OK)
		status = map_rings(s);
	return status == INJ_OK ? map_pools(s) : status;
}

/* ---- the same at once ---- */

/* One of our descriptors there. */
struct mapped {
	int fd;
	uint64_t stat; /* what it is there */
	size_t map;    /* the call that maps it */
	uint64_t bytes;
};

static void add_mapped(struct inj_batch *b, struct mapped *m, int fd, uint64_t bytes, int prot)
{
	const struct stat nothing = { 0 };
	char path[64];
	size_t opened, call;

	m->fd = fd;
	m->bytes = bytes;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	m->stat = inj_batch_put(b, &nothing, sizeof(nothing));
	opened = inj_batch_add(b, SYS_open, (const uint64_t[6]){ inj_batch_put(b, path, strlen(path) + 1), O_RDWR | O_CLOEXEC });
	call = inj_batch_add(b, SYS_fstat, (const uint64_t[6]){ 0, m->stat });
	inj_batch_use(b, opened, call, 0);
	m->map = inj_batch_add(b, SYS_mmap, (const uint64_t[6]){ 0, bytes, (uint64_t)prot, MAP_SHARED, 0, 0 });
	inj_batch_use(b, opened, m->map, 4);
	call = inj_batch_add(b, SYS_close, (const uint64_t[6]){ 0 });
	inj_batch_use(b, opened, call, 0);
}

static bool is_mapped(const struct inj_batch *b, size_t call)
{
	return (uint64_t)inj_batch_result(b, call) < (uint64_t)-4095;
}

/* Where it sees another /proc than we do, the number may be that of another process. */
static bool is_ours(const struct inj_batch *b, const struct mapped *m)
{
	struct stat ours, theirs;

	memcpy(&theirs, inj_batch_data(b, m->stat), sizeof(theirs));
	return is_mapped(b, m->map) && fstat(m->fd, &ours) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static void take_back(struct inj_session *s, const struct inj_batch *b, const struct mapped *m)
{
	if (is_mapped(b, m->map))
		(void)!inj_munmap(s->target, (uint64_t)inj_batch_result(b, m->map), m->bytes);
}

/* NOT_SUPPORTED: that cannot be done, and nothing is mapped. */
static enum inj_status map_at_once(struct inj_session *s)
{
	const uint64_t pools[6] = { 0, pool_bytes(s) + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    (uint64_t)-1 };
	struct mapped code, rings, alive;
	struct inj_batch b;
	enum inj_status status;
	size_t call, advise, wipe;

	if (s->target->inherits || s->code.fd < 0 || s->opt.alive_fd < 0 || inj_batch_begin(s->target, &b) != INJ_OK)
		return INJ_NOT_SUPPORTED;
	add_mapped(&b, &code, s->code.fd, s->code.size, PROT_READ | PROT_EXEC);
	add_mapped(&b, &rings, s->opt.ring_fd, s->opt.ring_map, PROT_READ | PROT_WRITE);
	add_mapped(&b, &alive, s->opt.alive_fd, PAGE, PROT_READ | PROT_WRITE);
	advise = inj_batch_add(&b, SYS_madvise, (const uint64_t[6]){ 0, s->code.size, MADV_DONTDUMP });
	inj_batch_use(&b, code.map, advise, 0);
	call = inj_batch_add(&b, SYS_mmap, pools);
	wipe = inj_batch_add(&b, SYS_madvise, (const uint64_t[6]){ 0, pool_bytes(s), MADV_WIPE });
	inj_batch_use(&b, call, wipe, 0);
	status = inj_batch_run(s->target, &b);
	if (status == INJ_GONE)
		return status;
	if (status != INJ_OK)
		return INJ_NOT_SUPPORTED;
	if (!is_ours(&b, &code) || !is_ours(&b, &rings) || !is_ours(&b, &alive) || !is_mapped(&b, call) ||
	    inj_batch_result(&b, advise) != 0 || inj_batch_result(&b, wipe) != 0) {
		take_back(s, &b, &code);
		take_back(s, &b, &rings);
		take_back(s, &b, &alive);
		if (is_mapped(&b, call))
			(void)!inj_munmap(s->target, (uint64_t)inj_batch_result(&b, call), pools[1]);
		return INJ_NOT_SUPPORTED;
	}
	s->code.first = (uint64_t)inj_batch_result(&b, code.map);
	s->config.control = (uint64_t)inj_batch_result(&b, rings.map);
	return set_pools(s, (uint64_t)inj_batch_result(&b, call));
}

static enum inj_status map_all(struct inj_session *s)
{
	enum inj_status status = map_at_once(s);

	if (status == INJ_NOT_SUPPORTED)
		status = map_one_by_one(s);
	s->config.nrings = s->opt.nrings;
	return status;
}

/* A part of the memory that is shared with whoever makes code. */
static bool map_part(struct inj_session *s, int fd, uint64_t offset, uint64_t bytes, int prot, uint64_t *at)
{
	int64_t ignored;

	if (inj_mmap(s->target, 0, bytes, prot, MAP_SHARED | MAP_NORESERVE, fd, offset, at) != INJ_OK)
		return false;
	return inj_syscall(s->target, 28 /* madvise */, (const uint64_t[6]){ *at, bytes, MADV_DONTDUMP },
			   &ignored) == INJ_OK;
}

/* Where that cannot be, it is done without. */
static void map_compiled(struct inj_session *s, int fd)
{
	const int rw = PROT_READ | PROT_WRITE, rx = PROT_READ | PROT_EXEC;
	uint64_t head, code, asks;

	if (!map_part(s, fd, 0, MT_CODE, PROT_READ, &head))
		return;
	if (!map_part(s, fd, MT_CODE, MT_CODE_BYTES, rx, &code)) {
		(void)!inj_munmap(s->target, head, MT_CODE);
		return;
	}
	if (!map_part(s, fd, MT_ASKS, MT_ASKS_BYTES, rw, &asks)) {
		(void)!inj_munmap(s->target, head, MT_CODE);
		(void)!inj_munmap(s->target, code, MT_CODE_BYTES);
		return;
	}
	s->config.compiled = head;
	s->config.compile_asks = asks;
	s->compiled = code;
}

/* The processor's own breakpoint instruction, where a remote call returns to. */
static enum inj_status make_trap(struct inj_session *s)
{
	uint8_t *mem;
	enum inj_status status = inj_code_alloc(&s->code, s->target, 0, 0, 16, &s->trap, &mem);

	if (status == INJ_OK)
		memset(mem, 0xcc, 16);
	return status;
}

/* Nothing but the runtime has to do with it: it needs no other image, and none needs it. */
static enum inj_status load_analyzer(struct inj_session *s, size_t i)
{
	struct inj_image image;
	enum inj_status status;
	uint64_t base, desc;

	if (inj_image_open(s->opt.analyzers[i], &image) != INJ_IMAGE_OK)
		return INJ_BAD_IMAGE;
	status = inj_load_image(s, &image, &base, NULL, NULL);
	if (status == INJ_OK && inj_image_symbol(&image, "sonde_module", &desc) != INJ_IMAGE_OK)
		status = INJ_BAD_IMAGE;
	if (status == INJ_OK)
		s->config.analyzers[s->config.nanalyzers++] = base + desc;
	inj_image_close(&image);
	return status;
}

static enum inj_status load_analyzers(struct inj_session *s)
{
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < s->opt.nanalyzers && i < RT_ANALYZERS && status == INJ_OK; i++)
		status = load_analyzer(s, i);
	return status;
}

bool inj_has_fsgsbase(void)
{
	return getauxval(AT_HWCAP2) & 2;
}

enum inj_status inj_load_runtime(struct inj_session *s)
{
	enum inj_status status = map_all(s);
	int fd = -1;

	s->config.magic = RT_CONFIG_MAGIC;
	if (inj_has_fsgsbase() && !s->opt.slow_guest)
		s->config.flags |= RT_FSGSBASE;

	if (status == INJ_OK)
		status = inj_load_image(s, &s->runtime_image, &s->runtime, NULL, NULL);
	if (status == INJ_OK)
		status = find_symbols(s);
	if (status == INJ_OK)
		status = load_analyzers(s);
	if (status == INJ_OK && s->opt.nanalyzers && s->opt.compiled_fd >= 0)
		status = inj_remote_open(s->target, s->opt.compiled_fd, &fd);
	if (status == INJ_OK && fd >= 0) {
		map_compiled(s, fd);
		status = inj_remote_close(s->target, fd);
	}
	if (status == INJ_OK)
		status = make_trap(s);
	if (status != INJ_OK)
		return status;
	return inj_write(s->target, s->rt_config, &s->config, sizeof(s->config));
}
