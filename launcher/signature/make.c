/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde signature make` */
#include "injector/signatures/sigmake.h"
#include "base/path.h"
#include "launcher/common/files.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/common/signatures.h"
#include "launcher/common/units.h"
#include "launcher/signature/signature.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct make_options {
	const char *out;
};

static const struct opt make_opts[] = {
	{ 'o', "output", "FILE.sig", "what to write (in ~/.cache/sonde/signatures, called as the first archive)", OPT_STRING,
	  offsetof(struct make_options, out), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command make_command = {
	.name = "signature make",
	.usage = "[OPTION]... ARCHIVE|OBJECT...",
	.summary = "Makes signatures of the functions of static libraries.",
	.opts = make_opts,
	.details = "They are for programs that were linked with these very archives; another build of a library is another library.\n",
	.examples = "sonde signature make /usr/lib/x86_64-linux-gnu/libc.a\tused from now on\n"
		    "sonde signature make -o mpi.sig libmpi.a libopen-pal.a\ta file of your own, for --signatures=mpi.sig\n",
};

/* malloc'ed; NULL after a message. */
static char *output_name(const char *out, const char *archive)
{
	size_t len = out ? strlen(out) : 0;
	const char *base = path_basename(archive);
	const char *dot = strrchr(base, '.');
	char *folder, *name = NULL;

	if (out) {
		if (len > 4 && strcmp(out + len - 4, SIG_SUFFIX) == 0)
			return strdup(out);
		opt_usage_error(&make_command, "-o %s: has to end in " SIG_SUFFIX, out);
		return NULL;
	}
	folder = signatures_folder();
	if (!folder)
		msg_error("~/.cache/sonde/signatures cannot be made; -o says where to write");
	else if (asprintf(&name, "%s/%.*s" SIG_SUFFIX, folder, (int)(dot ? dot - base : (int)strlen(base)), base) < 0)
		name = NULL;
	free(folder);
	return name;
}

/* "libc.a, libm.a"; malloc'ed. */
static char *join_names(char **v, int n)
{
	size_t bytes = 1, at = 0;
	char *text;

	for (int i = 0; i < n; i++)
		bytes += strlen(path_basename(v[i])) + 2;
	text = malloc(bytes);
	for (int i = 0; text && i < n; i++)
		at += (size_t)snprintf(text + at, bytes - at, "%s%s", i ? ", " : "", path_basename(v[i]));
	return text;
}

/* Who reads meanwhile has all of the old file, or of the new one. */
static int write_file(const char *name, const uint8_t *file, size_t len)
{
	char temp[4200];
	int fd = snprintf(temp, sizeof(temp), "%s.%d", name, (int)getpid()) < (int)sizeof(temp) ?
			 open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
	bool good = fd >= 0 && files_write(fd, (const char *)file, len);

	good = (fd < 0 || close(fd) == 0) && good && rename(temp, name) == 0;
	if (good)
		return 0;
	msg_error("%s: %m", name);
	if (fd >= 0)
		unlink(temp);
	return EXIT_USAGE;
}

static void say(const char *name, size_t len, const struct inj_sig_made *made)
{
	char code[UNITS_MAX], size[UNITS_MAX];

	units_bytes(made->bytes, code);
	units_bytes(len, size);
	printf("%s: %zu functions, %s of code, in %s\n", name, made->funcs, code, size);
	if (made->unknown)
		msg_warn("%zu sections have relocations that are not known, and were left out", made->unknown);
	if (made->alike)
		msg_warn("%zu sections begin as more than %u others do, and are found only by their callers", made->alike, SIG_PER_KEY);
}

static int make(struct inj_sig_maker *m, const char *out, char **archives, int n)
{
	struct inj_sig_made made;
	char *names = join_names(archives, n);
	uint8_t *file = NULL;
	size_t len = 0;
	int status = EXIT_USAGE;

	for (int i = 0; i < n; i++) {
		const char *problem;

		if (inj_sig_add_archive(m, archives[i], &problem))
			continue;
		msg_error("%s: %s", archives[i], problem);
		free(names);
		return EXIT_USAGE;
	}
	file = names ? inj_sig_lay_out(m, names, &len, &made) : NULL;
	if (!file)
		msg_error("out of memory");
	else if (!made.funcs)
		msg_error("%s: no functions; what is compiled with -flto alone has none until it is linked", names);
	else
		status = write_file(out, file, len);
	if (!status)
		say(out, len, &made);
	free(names);
	free(file);
	return status;
}

int signature_make(int argc, char **argv)
{
	struct make_options o = { 0 };
	int first = opt_parse(&make_command, argc, argv, &o), status = EXIT_USAGE;
	struct inj_sig_maker *m;
	char *out;

	if (first < 0)
		return OPT_STATUS(first);
	if (first == argc)
		return opt_usage_error(&make_command, "no archive");
	out = output_name(o.out, argv[first]);
	m = inj_sig_maker_new();
	if (out && m)
		status = make(m, out, argv + first, argc - first);
	inj_sig_maker_free(m);
	free(out);
	return status;
}
