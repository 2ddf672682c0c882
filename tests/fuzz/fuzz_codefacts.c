// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Facts of damaged ELF files: whatever the bytes are, what comes out has to be what its header
 * promises.  The symbols are those of this program, since reading a file's own is BFD's.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/injector/codefacts_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct inj_symtab *symbols(void)
{
	static struct inj_symtab *tab;

	if (!tab)
		REQUIRE(inj_symtab_open("/proc/self/exe", 0, &tab) == INJ_OK);
	return tab;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	struct inj_codefacts facts;
	enum inj_status status;
	char path[64];

	REQUIRE(fd >= 0);
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
