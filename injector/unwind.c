// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Function sizes from .eh_frame, by the binary search table in .eh_frame_hdr (Linux Standard Base,
 * 10.6.2): version, three encodings, the address of .eh_frame, the number of entries; then pairs
 * of a function's start and its FDE, both relative to the header, sorted.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "injector/text.h"

#define PE_UDATA4 0x03
#define PE_PCREL_SDATA4 0x1b
#define PE_DATAREL_SDATA4 0x3b
#define HEADER 12
#define MAX_PHDRS 64

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

/* Address of the FDE of the function that starts at @addr; 0: none. */
static uint64_t find_fde(struct inj_session *s, uint64_t hdr, uint64_t addr)
{
	uint8_t head[HEADER];
	uint32_t lo = 0, hi;

	if (inj_read(s->target, hdr, head, sizeof(head)) != INJ_OK || head[0] != 1 ||
	    head[1] != PE_PCREL_SDATA4 || head[2] != PE_UDATA4 || head[3] != PE_DATAREL_SDATA4)
		return 0;
	__builtin_memcpy(&hi, head + 8, 4);
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int32_t entry[2];
		uint64_t start;

		if (inj_read(s->target, hdr + HEADER + 8ULL * mid, entry, sizeof(entry)) != INJ_OK)
			return 0;
		start = hdr + (uint64_t)(int64_t)entry[0];
		if (start == addr)
			return hdr + (uint64_t)(int64_t)entry[1];
		if (start < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

uint64_t inj_unwind_size(struct inj_session *s, const struct inj_object *o, uint64_t addr)
{
	/* length, distance of the CIE, start, size: the start tells that the encoding is this one */
	struct {
		uint32_t length, cie;
		int32_t start;
		uint32_t size;
	} fde;
	uint64_t hdr = find_header(o->path), at;

	at = hdr ? find_fde(s, o->base + hdr, addr) : 0;
	if (!at || inj_read(s->target, at, &fde, sizeof(fde)) != INJ_OK)
		return 0;
	if (fde.length < 16 || fde.cie == 0 || at + 8 + (uint64_t)(int64_t)fde.start != addr)
		return 0;
	return fde.size;
}
