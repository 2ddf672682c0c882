// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The ELF image reader: what it lays out and relocates is compared with what the dynamic linker makes
 * of the same file; damaged files must not make it read or write where it has no business.
 */
#include "injector/image/elfimage.h"
#include "tests/unit/launcher/support.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHOW "__attribute__((visibility(\"default\"))) "

/* Every relocation that a position-independent object has, and both kinds of undefined symbols. */
static const char source[] =
	"#include <stddef.h>\n"
	SHOW "int number = 42;\n"
	SHOW "int array[100];\n"
	"static const char *const texts[] = { \"one\", \"two\", \"three\" };\n"
	SHOW "const char *const *table[] = { texts, texts + 1, NULL };\n"
	SHOW "int *pointers[] = { &number, array + 7, NULL };\n"
	"extern int weak_thing __attribute__((weak));\n"
	"extern void weak_function(void) __attribute__((weak));\n"
	SHOW "void *maybe[] = { &weak_thing, (void *)weak_function };\n"
	"extern char **environ;\n"
	"extern char absolute[];\n"
	SHOW "void *fixed[] = { absolute };\n"
	"size_t strlen(const char *);\n"
	"void *memfrob(void *, size_t);\n"
	SHOW "void *outside[] = { &environ, (void *)memfrob };\n"
	SHOW "size_t call(const char *s) { return strlen(s) + (size_t)environ[0][0] + number; }\n"
	SHOW "void *self(void) { return (void *)call; }\n";

static void build(const char *text, const char *flags, const char *out)
{
	const char *cc = getenv("CC");
	char command[512];

	write_text("image.c", text);
	snprintf(command, sizeof(command), "%s -O1 -fPIC -shared -fvisibility=hidden -Wl,--defsym=absolute=0x1234 %s -o %s image.c",
		 cc ? cc : "cc", flags, out);
	assert_int_equal(system(command), 0);
}

static bool resolve(void *arg, const char *name, uint64_t *addr)
{
	(void)arg;
	*addr = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, name);
	return *addr != 0;
}

static uint64_t load_address(void *handle)
{
	struct link_map *map;

	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	return map->l_addr;
}

static uint64_t symbol(const struct inj_image *img, const char *name)
{
	uint64_t vaddr;

	if (inj_image_symbol(img, name, &vaddr) != INJ_IMAGE_OK)
		fail_msg("no symbol %s", name);
	return vaddr;
}

/* The linker's memory and ours, `len` bytes at a symbol. */
static void compare(const struct inj_image *img, void *handle, const char *name, size_t len)
{
	uint64_t vaddr = symbol(img, name);

	assert_ptr_equal(dlsym(handle, name), (void *)(uintptr_t)(load_address(handle) + vaddr));
	assert_memory_equal(inj_image_at(img, vaddr, len), dlsym(handle, name), len);
}

static void compare_with_linker(const char *flags)
{
	struct inj_image img;
	struct inj_undefined undefined;

	build(source, flags, "./image.so");
	void *handle = dlopen("./image.so", RTLD_NOW | RTLD_LOCAL);
	assert_non_null(handle);
	assert_int_equal(inj_image_open("./image.so", &img), INJ_IMAGE_OK);
	/* Somewhere else first: it can be relocated again. */
	assert_int_equal(inj_image_relocate(&img, 0x7000000, NULL, NULL, &undefined),
			 INJ_IMAGE_UNDEFINED);
	inj_undefined_free(&undefined);
	assert_int_equal(inj_image_relocate(&img, load_address(handle), resolve, NULL, &undefined),
			 INJ_IMAGE_OK);
	assert_int_equal(undefined.n, 0);
	inj_undefined_free(&undefined);
	compare(&img, handle, "number", sizeof(int));
	compare(&img, handle, "array", 100 * sizeof(int));
	compare(&img, handle, "table", 3 * sizeof(void *));
	compare(&img, handle, "pointers", 3 * sizeof(void *));
	compare(&img, handle, "maybe", 2 * sizeof(void *));
	compare(&img, handle, "outside", 2 * sizeof(void *));
	compare(&img, handle, "fixed", sizeof(void *));
	compare(&img, handle, "call", 16);
	inj_image_close(&img);
	dlclose(handle);
}

static void test_as_linker(void **state)
{
	(void)state;
	compare_with_linker("");
	compare_with_linker("-Wl,--hash-style=sysv");
	compare_with_linker("-Wl,--hash-style=gnu -Wl,-z,now");
	compare_with_linker("-Wl,-z,pack-relative-relocs");
	compare_with_linker("-Wl,-z,noseparate-code -fno-plt");
}

/* Nothing but memory and a copy: a module's code runs from our image. */
static void test_runs(void **state)
{
	struct inj_image img;
	int (*f)(int);

	(void)state;
	build("static int twice(int x) { return 2 * x; }\n"
	      "static int (*const volatile functions[])(int) = { twice };\n"
	      SHOW "int f(int x) { return functions[0](x) + 1; }\n", "-nostdlib", "./runs.so");
	assert_int_equal(inj_image_open("./runs.so", &img), INJ_IMAGE_OK);
	uint8_t *mem = mmap(NULL, img.size, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(mem != MAP_FAILED);
	assert_int_equal(inj_image_relocate(&img, (uint64_t)(uintptr_t)mem, NULL, NULL, NULL),
			 INJ_IMAGE_OK);
	memcpy(mem, img.mem, img.size);
	f = (int (*)(int))(mem + symbol(&img, "f"));
	assert_int_equal(f(20), 41);
	munmap(mem, img.size);
	inj_image_close(&img);
}

static void test_undefined(void **state)
{
	struct inj_image img;
	struct inj_undefined undefined;
	bool environ_seen = false, strlen_seen = false, memfrob_seen = false;

	(void)state;
	build(source, "", "./image.so");
	assert_int_equal(inj_image_open("./image.so", &img), INJ_IMAGE_OK);
	assert_int_equal(inj_image_relocate(&img, 0, NULL, NULL, &undefined), INJ_IMAGE_UNDEFINED);
	for (size_t i = 0; i < undefined.n; i++) {
		environ_seen |= strcmp(undefined.names[i], "environ") == 0;
		strlen_seen |= strcmp(undefined.names[i], "strlen") == 0;
		memfrob_seen |= strcmp(undefined.names[i], "memfrob") == 0;
	}
	assert_int_equal(undefined.n, 3); /* each once, the weak ones not */
	assert_true(environ_seen && strlen_seen && memfrob_seen);
	inj_undefined_free(&undefined);
	/* The rest is done all the same: strings can be followed at base 0. */
	uint64_t texts, first;
	memcpy(&texts, inj_image_at(&img, symbol(&img, "table"), 8), 8);
	memcpy(&first, inj_image_at(&img, texts, 8), 8);
	assert_string_equal(inj_image_string(&img, first), "one");
	inj_image_close(&img);
}

static void test_not_supported(void **state)
{
	struct inj_image img;

	(void)state;
	build("static int f1(void) { return 1; }\nstatic void *pick(void) { return (void *)f1; }\n"
	      SHOW "int f(void) __attribute__((ifunc(\"pick\")));\n"
	      SHOW "int g(void) { return f(); }\n", "", "./ifunc.so");
	assert_int_equal(inj_image_open("./ifunc.so", &img), INJ_IMAGE_OK);
	assert_int_equal(inj_image_relocate(&img, 0, NULL, NULL, NULL), INJ_IMAGE_RELOC);
	inj_image_close(&img);
	build("_Thread_local int t;\n" SHOW "int *f(void) { return &t; }\n", "-nostdlib", "./tls.so");
	assert_int_equal(inj_image_open("./tls.so", &img), INJ_IMAGE_OK);
	assert_true(img.has_tls);
	int status = inj_image_relocate(&img, 0, NULL, NULL, NULL);
	assert_true(status == INJ_IMAGE_RELOC || status == INJ_IMAGE_UNDEFINED);
	inj_image_close(&img);
}

static void test_segments(void **state)
{
	struct inj_image img;
	uint64_t end = 0;
	bool executable = false, writable = false;

	(void)state;
	build(source, "", "./image.so");
	assert_int_equal(inj_image_open("./image.so", &img), INJ_IMAGE_OK);
	assert_true(img.nsegments >= 3);
	assert_int_equal(img.size % 4096, 0);
	for (size_t i = 0; i < img.nsegments; i++) {
		const struct inj_segment *s = &img.segments[i];

		assert_true(s->vaddr >= end && s->filesz <= s->memsz);
		end = s->vaddr + s->memsz;
		executable |= s->flags == (PF_R | PF_X);
		writable |= s->flags == (PF_R | PF_W);
	}
	assert_true(end <= img.size && img.size - end < 4096);
	assert_true(executable && writable);
	assert_true(img.relro_size > 0 && img.eh_frame_hdr_size > 0);
	/* Zeroes where the file has nothing. */
	uint64_t array = symbol(&img, "array");
	for (int i = 0; i < 400; i++)
		assert_int_equal(img.mem[array + (uint64_t)i], 0);
	inj_image_close(&img);
}

static void test_access(void **state)
{
	struct inj_image img;

	(void)state;
	build(source, "", "./image.so");
	assert_int_equal(inj_image_open("./image.so", &img), INJ_IMAGE_OK);
	assert_non_null(inj_image_at(&img, 0, img.size));
	assert_non_null(inj_image_at(&img, img.size, 0));
	assert_null(inj_image_at(&img, 0, img.size + 1));
	assert_null(inj_image_at(&img, img.size, 1));
	assert_null(inj_image_at(&img, UINT64_MAX, 2));
	assert_null(inj_image_at(&img, 2, UINT64_MAX));
	assert_null(inj_image_string(&img, img.size));
	assert_null(inj_image_string(&img, UINT64_MAX));
	memset(img.mem + img.size - 4, 'x', 4);
	assert_null(inj_image_string(&img, img.size - 4));
	img.mem[img.size - 1] = 0;
	assert_string_equal(inj_image_string(&img, img.size - 4), "xxx");
	uint64_t vaddr;
	assert_int_equal(inj_image_symbol(&img, "weak_function", &vaddr), INJ_IMAGE_NO_SYMBOL);
	assert_int_equal(inj_image_symbol(&img, "", &vaddr), INJ_IMAGE_NO_SYMBOL);
	inj_image_close(&img);
	assert_null(img.mem);
}

static void test_real_libraries(void **state)
{
	static const char *const names[] = { "libc.so.6", "libm.so.6" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct inj_image img;
		struct link_map *map;
		void *handle = dlopen(names[i], RTLD_NOW);
		const char *function = i ? "cos" : "qsort";

		assert_non_null(handle);
		assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
		assert_int_equal(inj_image_open(map->l_name, &img), INJ_IMAGE_OK);
		int status = inj_image_relocate(&img, map->l_addr, NULL, NULL, NULL);
		assert_int_equal(status, INJ_IMAGE_RELOC); /* they have IFUNCs */
		if (!i)
			assert_ptr_equal(dlsym(handle, function), map->l_addr + symbol(&img, function));
		assert_true(symbol(&img, function) < img.size);
		inj_image_close(&img);
		dlclose(handle);
	}
}

static void test_refused(void **state)
{
	struct inj_image img;
	Elf64_Ehdr h;

	(void)state;
	assert_int_equal(inj_image_open("./none", &img), INJ_IMAGE_IO);
	assert_int_equal(inj_image_open("/", &img), INJ_IMAGE_IO);
	assert_int_equal(inj_image_parse("", 0, &img), INJ_IMAGE_NOT_ELF);
	memset(&h, 0, sizeof(h));
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_machine = EM_AARCH64;
	assert_int_equal(inj_image_parse(&h, sizeof(h), &img), INJ_IMAGE_MACHINE);
	h.e_machine = EM_X86_64;
	h.e_type = ET_EXEC;
	assert_int_equal(inj_image_parse(&h, sizeof(h), &img), INJ_IMAGE_NOT_ELF);
	h.e_type = ET_DYN;
	assert_int_equal(inj_image_parse(&h, sizeof(h), &img), INJ_IMAGE_BAD);
	h.e_phentsize = sizeof(Elf64_Phdr);
	h.e_phnum = 1;
	h.e_phoff = UINT64_MAX - 8;
	assert_int_equal(inj_image_parse(&h, sizeof(h), &img), INJ_IMAGE_NOT_ELF);
	assert_null(img.mem);
}

struct small_elf {
	Elf64_Ehdr h;
	Elf64_Phdr ph[2];
};

static void test_hostile_headers(void **state)
{
	static const struct {
		uint64_t offset, vaddr, filesz, memsz;
		enum inj_image_status status;
	} cases[] = {
		{ 0, 0, 64, 64, INJ_IMAGE_OK },
		{ 0, 0, 1u << 30, 1u << 30, INJ_IMAGE_BAD },
		{ UINT64_MAX, 0, 2, 2, INJ_IMAGE_BAD },
		{ 0, 0, 64, 63, INJ_IMAGE_BAD },
		{ 0, 0, 0, UINT64_MAX, INJ_IMAGE_TOO_BIG },
		{ 0, UINT64_MAX - 4096, 64, 8192, INJ_IMAGE_TOO_BIG },
		{ 0, INJ_IMAGE_MAX, 64, 64, INJ_IMAGE_TOO_BIG },
		{ 0, 0, 0, 0, INJ_IMAGE_BAD },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct small_elf e = { .h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
					      .e_type = ET_DYN, .e_machine = EM_X86_64,
					      .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
					      .e_phoff = offsetof(struct small_elf, ph) } };
		struct inj_image img;

		e.ph[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_offset = cases[i].offset,
					.p_vaddr = cases[i].vaddr, .p_filesz = cases[i].filesz,
					.p_memsz = cases[i].memsz };
		assert_int_equal(inj_image_parse(&e, sizeof(e), &img), cases[i].status);
		inj_image_close(&img);
	}
}

/* The last byte of the input lies at the end of a mapping. */
static uint8_t *at_guard_page(size_t len, size_t *mapped)
{
	*mapped = (len + 4095) / 4096 * 4096 + 4096;
	uint8_t *mem = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(mem != MAP_FAILED);
	assert_int_equal(mprotect(mem + *mapped - 4096, 4096, PROT_NONE), 0);
	return mem + *mapped - 4096 - len;
}

static bool exercise(const uint8_t *bytes, size_t len)
{
	struct inj_image img;
	struct inj_undefined undefined;
	uint64_t vaddr;
	volatile uint8_t sum = 0;

	if (inj_image_parse(bytes, len, &img) != INJ_IMAGE_OK)
		return false;
	(void)!inj_image_symbol(&img, "pointers", &vaddr);
	(void)!inj_image_symbol(&img, "no such thing", &vaddr);
	(void)!inj_image_relocate(&img, 0x10000, NULL, NULL, &undefined);
	for (size_t i = 0; i < undefined.n; i++)
		sum += (uint8_t)strlen(undefined.names[i]);
	inj_undefined_free(&undefined);
	(void)!inj_image_relocate(&img, 0, NULL, NULL, &undefined);
	inj_undefined_free(&undefined);
	for (size_t i = 0; i < img.nsegments; i++)
		sum += *(uint8_t *)inj_image_at(&img, img.segments[i].vaddr, 0);
	inj_image_close(&img);
	(void)sum;
	return true;
}

/* Where the file's tables are: a change elsewhere seldom matters. */
static size_t interesting_offset(const uint8_t *bytes, size_t len, uint64_t *random)
{
	Elf64_Ehdr h;
	Elf64_Phdr ph;

	memcpy(&h, bytes, sizeof(h));
	switch (next_random(random) % 4) {
	case 0:
		return next_random(random) % (sizeof(h) + h.e_phnum * sizeof(ph));
	case 1:
		return next_random(random) % 4096 % len;
	case 2:
		for (int i = 0; i < h.e_phnum; i++) {
			memcpy(&ph, bytes + h.e_phoff + (size_t)i * sizeof(ph), sizeof(ph));
			if (ph.p_type == PT_DYNAMIC)
				return ph.p_offset + next_random(random) % ph.p_filesz;
		}
		return 0;
	default:
		return next_random(random) % len;
	}
}

static void test_damaged(void **state)
{
	static const char *const flags[] = { "", "-Wl,--hash-style=sysv -Wl,-z,pack-relative-relocs" };
	uint64_t random = 1;
	int good = 0, bad = 0;

	(void)state;
	for (int f = 0; f < 2; f++) {
		size_t len, mapped;

		build(source, flags[f], "./image.so");
		uint8_t *bytes = read_whole("./image.so", &len);
		uint8_t *copy = at_guard_page(len, &mapped);

		for (int i = 0; i < 20000; i++) {
			size_t cut = i % 16 ? 0 : next_random(&random) % len;

			memcpy(copy, bytes, len);
			for (uint64_t k = 1 + next_random(&random) % 4; k > 0; k--) {
				uint8_t value = (uint8_t)next_random(&random);

				copy[interesting_offset(bytes, len, &random)] =
					value % 4 ? value : value % 8 ? 0xff : 0;
			}
			/* A shorter file begins later, so that it still ends at the guard page. */
			memmove(copy + cut, copy, len - cut);
			if (exercise(copy + cut, len - cut))
				good++;
			else
				bad++;
		}
		munmap(copy + len + 4096 - mapped, mapped);
		free(bytes);
	}
	print_message("%d damaged files accepted, %d refused\n", good, bad);
	assert_true(good > 1000 && bad > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_linker),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_undefined),
		cmocka_unit_test(test_not_supported),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_real_libraries),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hostile_headers),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
