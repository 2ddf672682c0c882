// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Facts of damaged ELF files: whatever the bytes are, what comes out has to be what its header
 * promises.  The symbols are those of this program, since reading a file's own is BFD's.  Likewise what is kept of an ELF file's
 * code, here of this program: inputs that begin as such a file does; its checksums are set right.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injector/facts/kept.h"
#include "tests/unit/injector/codefacts_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct inj_symtab *symbols(void)
{
	static struct inj_symtab *tab;

	if (!tab)
		REQUIRE(inj_symtab_open("/proc/self/exe", 0, &tab) == INJ_OK);
	return tab;
}

/* ---- what is kept ---- */

static const struct inj_kept_source self = { .path = "/proc/self/exe" };

/* All that is of this very program and file. */
static void adapt(struct inj_kept_head *h)
{
	int fd = open(self.path, O_RDONLY | O_CLOEXEC);
	struct inj_kept_head want;

	REQUIRE(fd >= 0 && inj_kept_describe(&self, fd, &want));
	close(fd);
	memcpy(h, &want, offsetof(struct inj_kept_head, debug));
	memset(h->debug, 0, sizeof(h->debug));
	h->debug_file = false;
	h->link[sizeof(h->link) - 1] = '\0';
	h->identity.build_id[sizeof(h->identity.build_id) - 1] = '\0';
}

static void use(struct inj_kept *k)
{
	struct tramp_flow flow = { 0 };
	uint64_t entries[8];

	for (uint32_t i = 0; i < k->facts.facts.nfns && i < 200; i++) {
		const struct tramp_fn *fn = &k->facts.facts.fns[i];

		REQUIRE(strlen(k->facts.fn[i].name) < k->len);
		REQUIRE(tramp_code_owner(k->code, i) < k->facts.facts.nfns);
		REQUIRE(tramp_flow_build(&flow, k->code, i) == TRAMP_CODE_OK);
		tramp_flow_live(&flow);
		REQUIRE(tramp_flow_loops(&flow) == TRAMP_CODE_OK);
		REQUIRE(tramp_code_entries(k->code, fn->addr, 64, entries, 8) <= 8);
		(void)!tramp_code_one_entry(k->code, tramp_code_owner(k->code, i), &flow);
	}
	tramp_flow_free(&flow);
}

static void feed_kept(const uint8_t *data, size_t size)
{
	uint8_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct inj_kept_head *h = (struct inj_kept_head *)(void *)map;
	struct inj_kept *k;

	REQUIRE(map != MAP_FAILED);
	memcpy(map, data, size);
	adapt(h);
	if (h->len == size && h->off[INJ_KEPT_FIRST] >= sizeof(*h) && h->off[INJ_KEPT_FIRST] <= size) {
		h->rest = inj_kept_sum_rest(h, map);
		h->first = inj_kept_sum_first(h, map);
	}
	k = inj_kept_adopt(&self, map, size);
	if (k && inj_kept_check(k))
		use(k);
	inj_kept_free(k);
}

static bool is_kept(const uint8_t *data, size_t size)
{
	return size >= sizeof(struct inj_kept_head) && size % 8 == 0 && data[0] == 0xff;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	struct inj_codefacts facts;
	enum inj_status status;
	char path[64];

	REQUIRE(fd >= 0);
	if (is_kept(data, size))
		feed_kept(data, size);
	REQUIRE(write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = inj_codefacts_read(path, symbols(), &facts);
	REQUIRE(status == INJ_OK || status == INJ_NO_FILE || status == INJ_NOT_SUPPORTED);
	if (status == INJ_OK)
		check_facts(&facts);
	inj_codefacts_free(&facts);
	close(fd);
	return 0;
}
