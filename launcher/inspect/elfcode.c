/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/inspect/elfcode.h"
#include "launcher/common/message.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE (UINT64_C(4) << 30)

static bool bad(const char *path, const char *why)
{
	msg_error("%s: %s", path, why);
	return false;
}

static bool read_bytes(int fd, uint64_t size, struct elfcode *c)
{
	c->bytes = malloc(size + 1);
	while (c->bytes && c->len < size) {
		ssize_t n = pread(fd, c->bytes + c->len, size - c->len, (off_t)c->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		c->len += (uint64_t)n;
	}
	return c->bytes != NULL;
}

static bool read_file(const char *path, struct elfcode *c)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return bad(path, strerror(errno));
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > MAX_FILE)
		ok = bad(path, "is no file that can be read as a whole");
	else
		ok = read_bytes(fd, (uint64_t)st.st_size, c) || bad(path, "out of memory");
	close(fd);
	return ok;
}

static void note_phdr(struct elfcode *c, const Elf64_Phdr *ph)
{
	if (ph->p_offset > c->len || ph->p_filesz > c->len - ph->p_offset)
		return;
	if (ph->p_type == PT_GNU_EH_FRAME) {
		c->hdr = ph->p_vaddr;
		c->hdr_offset = ph->p_offset;
		c->hdr_len = ph->p_filesz;
	}
	if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X))
		c->segments[c->nsegments++] = (struct elfcode_segment){
			.addr = ph->p_vaddr,
			.len = ph->p_filesz,
			.code = c->bytes + ph->p_offset,
		};
}

static bool read_phdrs(const char *path, struct elfcode *c)
{
	Elf64_Ehdr h;

	if (c->len < sizeof(h) || memcmp(c->bytes, ELFMAG, SELFMAG) != 0)
		return bad(path, "is not an ELF file");
	memcpy(&h, c->bytes, sizeof(h));
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_X86_64)
		return bad(path, "is not for x86-64");
	if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum > ELFCODE_MAX_SEGMENTS ||
	    h.e_phoff > c->len || h.e_phnum * sizeof(Elf64_Phdr) > c->len - h.e_phoff)
		return bad(path, "is a damaged ELF file");
	for (size_t i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, c->bytes + h.e_phoff + i * sizeof(ph), sizeof(ph));
		note_phdr(c, &ph);
	}
	return true;
}

struct elfcode *elfcode_read(const char *path)
{
	struct elfcode *c = calloc(1, sizeof(*c));

	if (!c) {
		bad(path, "out of memory");
		return NULL;
	}
	if (read_file(path, c) && read_phdrs(path, c))
		return c;
	elfcode_free(c);
	return NULL;
}

void elfcode_free(struct elfcode *c)
{
	if (c)
		free(c->bytes);
	free(c);
}

const struct elfcode_segment *elfcode_segment(const struct elfcode *c, uint64_t addr)
{
	for (size_t i = 0; i < c->nsegments; i++) {
		const struct elfcode_segment *s = &c->segments[i];

		if (addr >= s->addr && addr - s->addr < s->len)
			return s;
	}
	return NULL;
}

/* The table in the form that linkers write: relative to its header, 4 bytes a value. */
size_t elfcode_unwind_starts(const struct elfcode *c, uint64_t *starts, size_t room)
{
	static const uint8_t head[4] = { 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
					 DW_EH_PE_datarel | DW_EH_PE_sdata4 };
	const uint8_t *p = c->bytes + c->hdr_offset;
	uint32_t count;

	if (c->hdr_len < 12 || memcmp(p, head, sizeof(head)) != 0)
		return 0;
	memcpy(&count, p + 8, sizeof(count));
	if (count > (c->hdr_len - 12) / 8)
		return 0;
	for (size_t i = 0; i < count && i < room; i++) {
		int32_t start;

		memcpy(&start, p + 12 + 8 * i, sizeof(start));
		starts[i] = c->hdr + (uint64_t)(int64_t)start;
	}
	return count;
}
