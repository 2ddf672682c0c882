/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A position-independent x86-64 ELF shared object (ET_DYN), laid out in our own memory as it will be
 * in the traced process: for reading a module without running it, and for loading the runtime and
 * modules where no dynamic linker can do it.  Nothing in the file is trusted.
 */
#ifndef SONDE_INJECTOR_IMAGE_ELFIMAGE_H
#define SONDE_INJECTOR_IMAGE_ELFIMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inj_image_status {
	INJ_IMAGE_OK = 0,
	INJ_IMAGE_IO,		/* open or read failed; errno says why */
	INJ_IMAGE_MEMORY,
	INJ_IMAGE_NOT_ELF,	/* or truncated, or not a shared object */
	INJ_IMAGE_MACHINE,	/* not x86-64 */
	INJ_IMAGE_BAD,		/* malformed: something points outside the file or the image */
	INJ_IMAGE_TOO_BIG,	/* more than INJ_IMAGE_MAX bytes of address space */
	INJ_IMAGE_NO_SYMBOL,
	INJ_IMAGE_RELOC,	/* a relocation that is not supported: IFUNC, TLS, copy, ... */
	INJ_IMAGE_UNDEFINED,	/* undefined symbols; see inj_undefined */
};
const char *inj_image_text(enum inj_image_status status);

#define INJ_IMAGE_MAX (UINT64_C(64) << 20)

struct inj_segment {
	uint64_t vaddr;		/* not rounded; relative to the load address */
	uint64_t memsz;
	uint64_t filesz;
	uint32_t flags;		/* PF_R, PF_W, PF_X */
};

struct inj_image {
	uint8_t *mem;		/* bytes of the addresses 0..size-1; load addresses are page-aligned */
	uint64_t size;		/* of the address range, a multiple of the page size */
	struct inj_segment *segments;	/* the PT_LOADs, ascending, not overlapping */
	size_t nsegments;
	uint64_t relro, relro_size;	/* PT_GNU_RELRO, 0 when there is none */
	uint64_t eh_frame_hdr, eh_frame_hdr_size;
	bool has_tls;

	/* Private: the dynamic section, checked to lie inside the image. */
	uint64_t dynsym, nsyms, dynstr, dynstr_size;
	uint64_t rela, rela_size, jmprel, jmprel_size, relr, relr_size;
	uint64_t relr_base;	/* load address that DT_RELR's words hold now */
	size_t mapped;
	int fd; /* its bytes as they were when it was copied; 0: it was not, or could not be */
};

/* Names of undefined symbols that are not weak.  They point into the image. */
struct inj_undefined {
	const char **names;
	size_t n;
};

/*
 * Gives the absolute address of a symbol that the image does not define; returns false when it does
 * not know the name.
 */
typedef bool (*inj_resolver)(void *arg, const char *name, uint64_t *addr);

/* Opens and lays out; *img is zeroed on failure. */
enum inj_image_status inj_image_open(const char *path, struct inj_image *img)
	__attribute__((warn_unused_result));
/* The same from memory, which is copied. */
enum inj_image_status inj_image_parse(const void *bytes, size_t len, struct inj_image *img)
	__attribute__((warn_unused_result));
/* Another one like it, of its own; pages that neither changes are there once.  @from may not be changed any more. */
enum inj_image_status inj_image_copy(struct inj_image *from, struct inj_image *img)
	__attribute__((warn_unused_result));
void inj_image_close(struct inj_image *img);

/* A symbol that the image defines and exports (.dynsym); relative to the load address. */
enum inj_image_status inj_image_symbol(const struct inj_image *img, const char *name,
				       uint64_t *vaddr) __attribute__((warn_unused_result));

/*
 * Applies all dynamic relocations for the load address `base` to img->mem.  May be called again with
 * another base.  An undefined weak symbol that the resolver (may be NULL) does not know becomes 0.
 * Undefined strong ones become 0 too, are listed in *undefined (may be NULL; inj_undefined_free() it),
 * and make the status INJ_IMAGE_UNDEFINED; everything else is relocated all the same.
 */
enum inj_image_status inj_image_relocate(struct inj_image *img, uint64_t base,
					 inj_resolver resolver, void *arg,
					 struct inj_undefined *undefined)
	__attribute__((warn_unused_result));
void inj_undefined_free(struct inj_undefined *u);

/*
 * Bounds-checked access by address relative to the load address.  inj_image_at() returns NULL unless
 * all of [vaddr, vaddr+len) lies inside; inj_image_string() NULL unless the string ends inside.
 */
void *inj_image_at(const struct inj_image *img, uint64_t vaddr, uint64_t len);
const char *inj_image_string(const struct inj_image *img, uint64_t vaddr);

#endif
