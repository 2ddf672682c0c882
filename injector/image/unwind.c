// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Function sizes from .eh_frame, by the binary search table in .eh_frame_hdr (Linux Standard Base,
 * 10.6.2): version, three encodings, the address of .eh_frame, the number of entries; then pairs
 * of a function's start and its FDE, both relative to the header, sorted.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injector/image/text.h"

#define PE_UDATA4 0x03
#define PE_PCREL_SDATA4 0x1b
#define PE_DATAREL_SDATA4 0x3b
#define HEADER 12
#define MAX_PHDRS 64
#define MAX_ENTRIES (1u << 22)
#define MAX_FRAMES (UINT64_C(256) << 20)

/* Link-time address of .eh_frame_hdr; 0: none. */
static uint64_t find_header(const char *path)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	uint64_t found = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (pread(fd, &eh, sizeof(eh), 0) == sizeof(eh) && eh.e_phentsize == sizeof(ph)) {
		for (int i = 0; i < eh.e_phnum && i < MAX_PHDRS && !found; i++) {
			off_t at = (off_t)(eh.e_phoff + (uint64_t)i * sizeof(ph));

			if (pread(fd, &ph, sizeof(ph), at) != sizeof(ph))
				break;
			if (ph.p_type == PT_GNU_EH_FRAME)
				found = ph.p_vaddr;
		}
	}
	close(fd);
	return found;
}

/* length, distance of the CIE, start relative to where it stands, size */
struct fde {
	uint32_t length, cie;
	int32_t start;
	uint32_t size;
};

/* The header's address in the program and its number of entries; 0: none that we can read. */
static uint64_t open_table(struct inj_session *s, const struct inj_object *o, uint32_t *n)
{
	uint64_t hdr = find_header(o->path);
	uint8_t head[HEADER];

	if (!hdr)
		return 0;
	hdr += o->base;
	if (inj_read(s->target, hdr, head, sizeof(head)) != INJ_OK || head[0] != 1 ||
	    head[1] != PE_PCREL_SDATA4 || head[2] != PE_UDATA4 || head[3] != PE_DATAREL_SDATA4)
		return 0;
	memcpy(n, head + 8, 4);
	return *n <= MAX_ENTRIES ? hdr : 0;
}

/* Its start tells whether the FDE is encoded as we think (pcrel, sdata4). */
static uint64_t fde_size(const struct fde *fde, uint64_t at, uint64_t addr)
{
	if (fde->length < 16 || fde->cie == 0 || at + 8 + (uint64_t)(int64_t)fde->start != addr)
		return 0;
	return fde->size;
}

static uint64_t datarel(uint64_t hdr, int32_t value)
{
	return hdr + (uint64_t)(int64_t)value;
}

uint64_t inj_unwind_size(struct inj_session *s, const struct inj_object *o, uint64_t addr)
{
	uint32_t lo = 0, hi = 0;
	uint64_t hdr = open_table(s, o, &hi);

	while (hdr && lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int32_t entry[2];
		struct fde fde;
		uint64_t start, at;

		if (inj_read(s->target, hdr + HEADER + 8ULL * mid, entry, sizeof(entry)) != INJ_OK)
			return 0;
		start = datarel(hdr, entry[0]);
		at = datarel(hdr, entry[1]);
		if (start == addr)
			return inj_read(s->target, at, &fde, sizeof(fde)) == INJ_OK ?
				       fde_size(&fde, at, addr) :
				       0;
		if (start < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

/* The FDEs lie close together: they are read at once, from the first to the last. */
static size_t read_sizes(struct inj_session *s, uint64_t hdr, const int32_t (*entry)[2], uint32_t n,
			 struct tramp_extent *v)
{
	uint64_t lo = UINT64_MAX, hi = 0;
	uint8_t *fdes = NULL;
	size_t got = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = datarel(hdr, entry[i][1]);

		lo = at < lo ? at : lo;
		hi = at > hi ? at : hi;
	}
	hi += sizeof(struct fde);
	if (n && hi > lo && hi - lo <= MAX_FRAMES)
		fdes = malloc(hi - lo);
	if (fdes && inj_read(s->target, lo, fdes, hi - lo) == INJ_OK) {
		for (uint32_t i = 0; i < n; i++) {
			uint64_t at = datarel(hdr, entry[i][1]), start = datarel(hdr, entry[i][0]);
			struct fde fde;

			memcpy(&fde, fdes + (at - lo), sizeof(fde));
			v[got].addr = start;
			v[got++].size = fde_size(&fde, at, start);
		}
	}
	free(fdes);
	return got;
}

size_t inj_unwind_functions(struct inj_session *s, const struct inj_object *o, size_t more,
			    struct tramp_extent **out)
{
	uint32_t n = 0;
	uint64_t hdr = open_table(s, o, &n);
	int32_t(*entry)[2] = NULL;
	size_t got = 0;

	if (!hdr)
		n = 0;
	*out = calloc(n + more + 1, sizeof(**out));
	entry = malloc((n + 1) * sizeof(*entry));
	if (*out && entry && n &&
	    inj_read(s->target, hdr + HEADER, entry, n * sizeof(*entry)) == INJ_OK)
		got = read_sizes(s, hdr, entry, n, *out);
	free(entry);
	return got;
}
