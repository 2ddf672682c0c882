/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ELF file whose symbols and debug information may be damaged: whatever is in it, each address has one name, names are no more than
 * there may be, and all that is said of them can be read.
 *
 * Input: the file.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/names/names.h"
#include "tests/fuzz/require.h"

#define LOAD 0x100000
#define HEAP 0x70000000
#define ADDRESSES 400

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static void check(const struct nm *nm, const struct nm_place *p, uint64_t addr)
{
	const struct nm_name *n = p->name;

	REQUIRE(n && n->variable && n->path);
	REQUIRE(nm_name(nm, n->index) == n && nm_variable(nm, n->variable->index) == n->variable);
	REQUIRE(strlen(n->variable->name) + strlen(n->path) + (n->type ? strlen(n->type) : 0) < 1 << 20);
	REQUIRE(!p->size || addr - p->begin < p->size);
	REQUIRE(*nm_kind_word(n->variable->kind) && *nm_how_word(n->variable->how));
	REQUIRE(nm_whole(n)->variable == n->variable);
}

/* Its own program headers say where it would be in memory. */
static uint64_t end_of(const uint8_t *data, size_t size)
{
	Elf64_Ehdr e;
	Elf64_Phdr p;
	uint64_t end = 0x1000;

	if (size < sizeof(e))
		return end;
	memcpy(&e, data, sizeof(e));
	for (unsigned int i = 0; i < e.e_phnum; i++) {
		if (e.e_phoff > size || size - e.e_phoff < (i + 1) * sizeof(p))
			break;
		memcpy(&p, data + e.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD && p.p_vaddr + p.p_memsz < 1 << 20 && p.p_vaddr + p.p_memsz > end)
			end = p.p_vaddr + p.p_memsz;
	}
	return end;
}

static void ask(struct nm *nm, uint64_t end)
{
	struct nm_thread *t = nm_begin(nm, 1, 1);
	struct nm_place place;

	REQUIRE(t);
	nm_chunk(t, LOAD / 2, 1, 2);
	for (uint64_t i = 0; i < ADDRESSES; i++) {
		const uint64_t addr = LOAD + end * i / ADDRESSES;
		const struct mt_access a = { .addr = 0x7fff0000 - i * 64 % 512, .size = 8, .insn = addr, .kind = i % 3 ? MD_LOAD : MD_STORE | MD_STACK };
		const struct mt_access heap = { .addr = HEAP + i * 24 % 1000, .size = 8, .insn = addr };
		const struct mt_access tls = { .addr = LOAD / 2 - i, .size = 1, .insn = 1 };

		REQUIRE(nm_find_static(nm, addr, 1 + i % 16, &place));
		check(nm, &place, addr);
		REQUIRE(nm_find(t, &a, &place));
		check(nm, &place, a.addr);
		REQUIRE(nm_find(t, &tls, &place));
		check(nm, &place, tls.addr);
		REQUIRE(nm_find(t, &heap, &place));
		check(nm, &place, heap.addr);
	}
	nm_end(t);
}

static bool see_path(void *arg, const char *path)
{
	REQUIRE(path && ++*(unsigned int *)arg);
	return *(unsigned int *)arg < 1000;
}

static bool see(void *arg, const struct nm_declared *d)
{
	struct nm *nm = arg;
	char *scope = nm_declared_scope(nm, d);
	unsigned int paths = 0;

	REQUIRE(scope && d->name && (d->tls || d->function.addr));
	REQUIRE(nm_declared_paths(nm, d, see_path, &paths));
	(void)nm_declared_is_at(d, LOAD, LOAD + 0x1000);
	free(scope);
	return true;
}

static void see_call(void *arg, uint64_t returns, const char *callee)
{
	REQUIRE(returns > LOAD && returns - LOAD <= *(uint64_t *)arg && (!callee || strlen(callee) < 1 << 20));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nm_object o = { .path = "/file", .load = LOAD, .program = true };
	struct nm *nm = nm_new(&(struct nm_options){ .callbacks = &callbacks });
	int fd = memfd_create("names", MFD_CLOEXEC);
	struct nm_site site = { .what = "malloc", .in_stream = true };
	struct nm_call call = { .pid = 1, .tid = 1 };
	uint64_t end;
	char path[64];

	REQUIRE(nm && fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	o.file = path;
	REQUIRE(nm_add_object(nm, &o));
	end = end_of(data, size);
	site.code = LOAD + end / 2;
	REQUIRE(nm_add_site(nm, &site, &call.site) && nm_add_block(nm, &call, HEAP, 1000));
	ask(nm, end);
	REQUIRE(nm_each_declared(nm, see, nm));
	nm_each_callee(nm, LOAD, LOAD + end, see_call, &end);
	nm_free(nm);
	close(fd);
	return 0;
}
