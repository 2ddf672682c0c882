/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb; and which files of signatures there are. */
#include "injector/signatures/signatures.h"
#include "launcher/common/message.h"
#include "launcher/common/signatures.h"
#include "launcher/common/units.h"
#include "launcher/signature/signature.h"
#include "launcher/verbs.h"

#include <stdio.h>
#include <string.h>

struct list_options {
	const char *where;
};

static const struct opt list_opts[] = {
	OPT_SIGNATURES(struct list_options, where),
	OPT_HELP,
	OPT_END,
};

static const struct opt_command list_command = {
	.name = "signature list",
	.usage = "[OPTION]...",
	.summary = "Shows the files of signatures that are used, and of which archives they are.",
	.opts = list_opts,
	.details = "They are those in ~/.cache/sonde/signatures, then in\n" PKGDATADIR "/signatures.\n",
	.examples = "sonde signature list\twhat there is\n",
};

static void print_file(const struct inj_sig_file *f)
{
	uint64_t bytes = 0;
	char code[UNITS_MAX], size[UNITS_MAX];

	for (size_t i = 0; i < f->nunits; i++)
		bytes += f->units[i].len;
	units_bytes(bytes, code);
	units_bytes(f->head->len, size);
	units_text(stdout, f->path, 0, true);
	printf(": %zu function%s, %s of code, in %s; of ", f->nfuncs, f->nfuncs == 1 ? "" : "s", code, size);
	units_text(stdout, f->text + f->head->archives, 0, true);
	putchar('\n');
}

static int list(int argc, char **argv)
{
	struct list_options o = { 0 };
	int first = opt_parse(&list_command, argc, argv, &o);
	const struct inj_sig_file *files;
	size_t n;
	int status;

	if (first < 0)
		return OPT_STATUS(first);
	if (first < argc)
		return opt_usage_error(&list_command, "'%s': there are no operands", argv[first]);
	status = signatures_use(o.where);
	if (status)
		return status;
	files = inj_signatures(&n);
	for (size_t i = 0; i < n; i++)
		print_file(&files[i]);
	if (!n)
		msg_info("no signatures in ~/.cache/sonde/signatures or " PKGDATADIR "/signatures; "
			 "`sonde signature make ARCHIVE' makes them");
	return 0;
}

/* ---- the verb ---- */

static const struct opt signature_opts[] = { OPT_HELP, OPT_END };

static const struct opt_command signature_command = {
	.name = "signature",
	.usage = "make|match|list [OPTION]... [ARGUMENT]...",
	.summary = "Signatures give functions of stripped static programs the names that they have in archives.",
	.opts = signature_opts,
	.details = "  make     make signatures of archives\n"
		   "  match    show which functions of a file they name\n"
		   "  list     show what there is\n"
		   "'sonde signature make --help' explains one of them.\n",
	.examples = "sonde signature make /usr/lib/x86_64-linux-gnu/libc.a\tof the C library\n"
		    "sonde signature match ./app\twhat they are good for\n",
	.stop_at_operand = true,
};

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} actions[] = {
	{ "make", signature_make },
	{ "match", signature_match },
	{ "list", list },
};

int verb_signature(int argc, char **argv)
{
	char nothing;
	int first = opt_parse(&signature_command, argc, argv, &nothing);

	if (first < 0)
		return OPT_STATUS(first);
	if (first == argc)
		return opt_usage_error(&signature_command, "what to do is missing: make, match or list");
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, argv[first]) == 0)
			return actions[i].run(argc - first, argv + first);
	return opt_usage_error(&signature_command, "no action '%s'", argv[first]);
}
