// SPDX-License-Identifier: GPL-3.0-or-later
/* `sonde list -F` for other programs: CSV and JSON. */
#include "launcher/common/units.h"
#include "launcher/inspect/list.h"
#include "tracefmt/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first of its names, to be freed. */
static char *name_of(const struct anatomy *a, size_t i, bool mangled)
{
	size_t n;
	const struct inj_symbol *symbols = anatomy_symbols(a, i, &n);
	const char *name = n ? symbols[0].name : a->facts.fn[i].name;
	char *plain = mangled ? NULL : inj_demangle(name);

	return plain ? plain : strdup(name);
}

void list_print_csv_head(void)
{
	puts("file,address,size,blocks,loops,name,evidence,confidence,refused");
}

void list_print_csv(const struct anatomy *a, size_t i, bool mangled, const char *refused)
{
	const struct tramp_fn *fn = &a->facts.facts.fns[i];
	char evidence[INJ_EVIDENCE_MAX], *name = name_of(a, i, mangled);

	inj_fn_evidence(&a->facts.fn[i], evidence);
	units_csv(stdout, a->path);
	printf(",0x%" PRIx64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",", fn->addr, fn->size, a->flow.nblocks, a->flow.nloops);
	units_csv(stdout, name);
	putchar(',');
	units_csv(stdout, evidence);
	printf(",%s,", inj_fn_is_certain(&a->facts.fn[i]) ? "certain" : "guessed");
	units_csv(stdout, refused);
	putchar('\n');
	free(name);
}

void list_print_json(const struct anatomy *a, size_t i, bool mangled, const char *refused)
{
	const struct tramp_fn *fn = &a->facts.facts.fns[i];
	char evidence[INJ_EVIDENCE_MAX], *name = name_of(a, i, mangled);
	struct tf_buf b = { 0 };

	inj_fn_evidence(&a->facts.fn[i], evidence);
	tf_json_begin(&b, "function");
	tf_json_str(&b, "file", a->path);
	tf_json_hex(&b, "address", fn->addr);
	tf_json_uint(&b, "size", fn->size);
	tf_json_uint(&b, "blocks", a->flow.nblocks);
	tf_json_uint(&b, "loops", a->flow.nloops);
	tf_json_str(&b, "name", name);
	tf_json_str(&b, "evidence", evidence);
	tf_json_bool(&b, "certain", inj_fn_is_certain(&a->facts.fn[i]));
	tf_json_str(&b, "refused", refused);
	tf_json_end(&b);
	fwrite(b.data, 1, b.size, stdout);
	tf_buf_free(&b);
	free(name);
}
