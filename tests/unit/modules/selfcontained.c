// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The modules that we ship must load where there is no C library: they need no other library, and
 * have no undefined symbol; the MPI ones may have weak ones.
 */
#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/unit/modules/harness.h"

struct image {
	const char *name;
	const unsigned char *p;
	size_t n;
};

static struct image map_file(const char *path)
{
	struct image f = { .name = strrchr(path, '/') + 1 };
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	f.n = (size_t)st.st_size;
	f.p = mmap(NULL, f.n, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(f.p != MAP_FAILED);
	close(fd);
	return f;
}

static const Elf64_Shdr *sections(const struct image *f, unsigned int *n)
{
	const Elf64_Ehdr *head = (const void *)f->p;

	assert_memory_equal(head->e_ident, ELFMAG, SELFMAG);
	*n = head->e_shnum;
	return (const void *)(f->p + head->e_shoff);
}

static const Elf64_Shdr *section_of_type(const struct image *f, uint32_t type)
{
	unsigned int n;
	const Elf64_Shdr *s = sections(f, &n);

	for (unsigned int i = 0; i < n; i++)
		if (s[i].sh_type == type)
			return &s[i];
	fail_msg("%s has no section of type %u", f->name, type);
	return NULL;
}

static const char *string_at(const struct image *f, const Elf64_Shdr *user, uint64_t at)
{
	unsigned int n;
	const Elf64_Shdr *s = sections(f, &n);

	return (const char *)f->p + s[user->sh_link].sh_offset + at;
}

static void no_undefined(const struct image *f, bool weak_allowed)
{
	const Elf64_Shdr *s = section_of_type(f, SHT_DYNSYM);
	const Elf64_Sym *sym = (const void *)(f->p + s->sh_offset);

	for (size_t i = 1; i < s->sh_size / sizeof(*sym); i++) {
		bool weak = ELF64_ST_BIND(sym[i].st_info) == STB_WEAK;

		if (sym[i].st_shndx == SHN_UNDEF && !(weak && weak_allowed))
			fail_msg("%s: %s is undefined", f->name,
				 string_at(f, s, sym[i].st_name));
	}
}

/* The linker exports the bounds of sections too; the module's own use of them is bound already. */
static bool is_bound(const char *name)
{
	return strncmp(name, "__start_sonde_", 14) == 0 || strncmp(name, "__stop_sonde_", 13) == 0;
}

static void exports_one_symbol(const struct image *f)
{
	const Elf64_Shdr *s = section_of_type(f, SHT_DYNSYM);
	const Elf64_Sym *sym = (const void *)(f->p + s->sh_offset);
	size_t exported = 0;

	for (size_t i = 1; i < s->sh_size / sizeof(*sym); i++) {
		const char *name = string_at(f, s, sym[i].st_name);

		if (sym[i].st_shndx == SHN_UNDEF || is_bound(name))
			continue;
		assert_string_equal(name, "sonde_module");
		exported++;
	}
	assert_int_equal(exported, 1);
}

/* What depends on a symbol could be bound to another module's. */
static void bound_to_itself(const struct image *f)
{
	const Elf64_Shdr *syms = section_of_type(f, SHT_DYNSYM);
	const Elf64_Sym *sym = (const void *)(f->p + syms->sh_offset);
	const Elf64_Shdr *s = section_of_type(f, SHT_RELA);
	const Elf64_Rela *r = (const void *)(f->p + s->sh_offset);

	for (size_t i = 0; i < s->sh_size / sizeof(*r); i++) {
		uint32_t of = (uint32_t)ELF64_R_SYM(r[i].r_info);

		if (of != 0 && sym[of].st_shndx != SHN_UNDEF)
			fail_msg("%s: %s is not bound", f->name,
				 string_at(f, syms, sym[of].st_name));
	}
}

static void no_needed(const struct image *f)
{
	const Elf64_Shdr *s = section_of_type(f, SHT_DYNAMIC);
	const Elf64_Dyn *d = (const void *)(f->p + s->sh_offset);

	for (; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_NEEDED)
			fail_msg("%s needs %s", f->name, string_at(f, s, d->d_un.d_val));
		assert_true(d->d_tag != DT_INIT && d->d_tag != DT_INIT_ARRAY);
		assert_true(d->d_tag != DT_TEXTREL);
	}
}

static void self_contained(void **state)
{
	glob_t g;

	(void)state;
	assert_int_equal(glob(harness_built("modules/*.so"), 0, NULL, &g), 0);
	assert_true(g.gl_pathc >= 3);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct image f = map_file(g.gl_pathv[i]);

		print_message("%s\n", f.name);
		no_undefined(&f, strncmp(f.name, "mpi-", 4) == 0);
		exports_one_symbol(&f);
		bound_to_itself(&f);
		no_needed(&f);
		munmap((void *)f.p, f.n);
	}
	globfree(&g);
}

static void *nothing(const char *symbol)
{
	(void)symbol;
	return NULL;
}

/* Also without the library that a module is for, and with everything bound at once. */
static void load_anywhere(void **state)
{
	glob_t g;

	(void)state;
	assert_int_equal(glob(harness_built("modules/*.so"), 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		harness_load(g.gl_pathv[i], nothing);
		/* those that take memory accesses wrap nothing */
		if (harness_module->memory_begin == harness_module->memory_end)
			assert_true(harness_module->wraps_end - harness_module->wraps_begin >= 3);
		harness_unload();
	}
	globfree(&g);
}

/* A symbol that is wrapped twice would have one of the wrappers never run. */
static void no_symbol_twice(void **state)
{
	glob_t g;

	(void)state;
	assert_int_equal(glob(harness_built("modules/*.so"), 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		harness_load(g.gl_pathv[i], nothing);
		const struct sonde_module *m = harness_module;

		for (struct sonde_wrap *const *a = m->wraps_begin; a < m->wraps_end; a++)
			for (struct sonde_wrap *const *b = m->wraps_begin; b < a; b++)
				assert_string_not_equal((*a)->symbol, (*b)->symbol);
		harness_unload();
	}
	globfree(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(self_contained),
		cmocka_unit_test(load_anywhere),
		cmocka_unit_test(no_symbol_twice),
	};

	return cmocka_run_group_tests_name("modules_selfcontained", tests, NULL, NULL);
}
