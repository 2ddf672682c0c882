// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A file of NUMA nodes: of what is taken for one, every thread is on a node that there is; of what is none, one line says why.
 *
 * Input: the file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sharing/nodes.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sh_nodes n = { 0 };
	char error[200];

	if (!sh_nodes_read(&n, (const char *)data, size, error, sizeof(error))) {
		REQUIRE(*error && strlen(error) < sizeof(error) && !n.cpu && !n.thread && !n.cpus);
		return 0;
	}
	REQUIRE(n.n && n.n <= SH_NODES && n.ncpus <= SH_NUMBERS);
	for (uint32_t i = 0; i < 2 * SH_NUMBERS; i += 13)
		REQUIRE(sh_node(&n, i) < n.n);
	REQUIRE(sh_node(&n, UINT32_MAX) < n.n);
	sh_nodes_free(&n);
	return 0;
}
