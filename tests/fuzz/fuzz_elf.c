/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A damaged ELF file: what its reader hands out has to lie within the file, and what its loader lays out, in the image, relocated as well.
 *
 * Input: the file.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injector/image/elfimage.h"
#include "injector/image/identity.h"
#include "tests/fuzz/require.h"

#define BASE UINT64_C(0x7f0000000000)
#define SOME 200	/* sections, symbols, of each kind, that are looked at */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sum; /* of what is read, so that it is */

static void within(const struct inj_elf *file, const uint8_t *p, uint64_t len)
{
	REQUIRE(p >= file->map && (size_t)(p - file->map) <= file->len && len <= file->len - (size_t)(p - file->map));
	if (len)
		sum += (size_t)p[0] + p[len - 1];
}

/* ---- the file ---- */

static void look_at_segments(const struct inj_elf *file)
{
	uint64_t end = 0, left;

	REQUIRE(file->nsegs <= INJ_ELF_SEGMENTS);
	for (size_t i = 0; i < file->nsegs; i++) {
		const struct inj_elf_segment *s = &file->segs[i];

		REQUIRE(s->len && s->addr >= end);
		within(file, s->bytes, s->len);
		end = s->addr + s->len;
		REQUIRE(inj_elf_at(file, s->addr, &left) == s->bytes && left == s->len);
		REQUIRE(inj_elf_get(file, s->addr, s->len) == s->bytes && !inj_elf_get(file, s->addr, s->len + 1));
		REQUIRE((inj_elf_code(file, end - 1) == s) == !!(s->flags & PF_X));
	}
}

static void look_at_sections(const struct inj_elf *file)
{
	Elf64_Shdr sh;

	REQUIRE(file->nsecs <= INJ_ELF_SECTIONS);
	for (size_t i = 0; i < file->nsecs; i++) {
		const struct inj_elf_section *s = &file->secs[i];

		REQUIRE(!i || s[-1].addr <= s->addr);
		if (*s->name) /* "": it has none */
			within(file, (const uint8_t *)s->name, strlen(s->name) + 1);
		within(file, file->map + s->offset, s->size);
	}
	for (size_t i = 0; i < file->nheaders && i < SOME; i++)
		REQUIRE(inj_elf_section_header(file, i, &sh));
	REQUIRE(!inj_elf_section_header(file, file->nheaders, &sh));
}

static void look_at_symbols(const struct inj_elf *file, struct inj_elf_symbols table)
{
	REQUIRE(table.n <= table.room);
	if (table.room)
		within(file, table.syms, table.room * sizeof(Elf64_Sym));
	for (size_t i = 0; i < table.room && i < SOME; i++) {
		Elf64_Sym sym = inj_elf_symbol(&table, i);

		sum += strlen(inj_elf_symbol_name(&table, &sym));
	}
}

static void look_at_rest(const struct inj_elf *file)
{
	struct inj_identity id;
	struct inj_fde fde;
	struct inj_eh eh;
	const char *name;
	size_t at = 0;

	while ((name = inj_elf_needed(file, &at)))
		within(file, (const uint8_t *)name, strlen(name) + 1);
	if (file->interp)
		within(file, (const uint8_t *)file->interp, strlen(file->interp) + 1);
	if (file->build_id)
		within(file, file->build_id, file->build_id_len);
	inj_identity_of(file, &id);
	REQUIRE(strlen(id.build_id) == 2 * file->build_id_len && file->build_id_len <= INJ_BUILD_ID_MAX);
	if (!inj_elf_frames(file, &eh))
		return;
	within(file, eh.start, (uint64_t)(eh.left.end - eh.start));
	sum += inj_eh_ends(eh.left);
	while (inj_eh_next(&eh, &fde))
		sum += fde.size;
}

static void read_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	enum inj_status status;
	struct inj_elf file;
	char path[64];

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = inj_elf_open(path, &file);
	REQUIRE(status == INJ_OK ? !file.problem : file.problem && *file.problem);
	if (status == INJ_OK) {
		look_at_segments(&file);
		look_at_sections(&file);
		look_at_symbols(&file, inj_elf_symtab(&file));
		look_at_symbols(&file, inj_elf_dynsym(&file));
		look_at_rest(&file);
	}
	inj_elf_close(&file);
	close(fd);
}

/* ---- the image ---- */

static bool resolve(void *arg, const char *name, uint64_t *addr)
{
	(void)arg;
	*addr = BASE + strlen(name);
	return strlen(name) % 2;
}

static void lay_out(const uint8_t *data, size_t size)
{
	struct inj_undefined undefined;
	struct inj_image image;
	uint64_t end = 0, addr;

	if (inj_image_parse(data, size, &image) != INJ_IMAGE_OK) {
		REQUIRE(!image.mem && !image.segments);
		return;
	}
	for (size_t i = 0; i < image.nsegments; i++) {
		const struct inj_segment *s = &image.segments[i];

		REQUIRE(s->vaddr >= end && s->filesz <= s->memsz && inj_image_at(&image, s->vaddr, s->memsz));
		end = s->vaddr + s->memsz;
	}
	REQUIRE(inj_image_at(&image, image.relro, image.relro_size) && inj_image_at(&image, image.eh_frame_hdr, image.eh_frame_hdr_size));
	if (inj_image_symbol(&image, "main", &addr) == INJ_IMAGE_OK)
		REQUIRE(addr < image.size);
	for (int i = 0; i < 2; i++) {
		enum inj_image_status status = inj_image_relocate(&image, BASE >> i, resolve, NULL, &undefined);

		REQUIRE((status != INJ_IMAGE_UNDEFINED || undefined.n) && *inj_image_text(status));
		for (size_t k = 0; k < undefined.n; k++)
			sum += strlen(undefined.names[k]);
		inj_undefined_free(&undefined);
	}
	inj_image_close(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_file(data, size);
	lay_out(data, size);
	return 0;
}
