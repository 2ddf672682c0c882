// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/archive/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/common/files.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/common/units.h"
#include "launcher/trace/pick.h"
#include "launcher/trace/tracedir.h"
#include "launcher/verbs.h"

#define EXIT_MISSING 1

struct archive_options {
	const char *output;
	bool no_sources;
};

static const struct opt archive_opts[] = {
	{ 'o', "output", "DIR2", "a copy of the trace, which must not be there yet; DIR stays as it is", OPT_STRING,
	  offsetof(struct archive_options, output), NULL },
	{ 0, "no-sources", NULL, "programs and libraries only", OPT_FLAG, offsetof(struct archive_options, no_sources), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command archive_command = {
	.name = "archive",
	.usage = "[OPTION]... [DIR]",
	.summary = "Puts the programs, libraries, debug files and sources that a trace was recorded of into its\n"
		   "folder, so that it reads the same on another machine.",
	.opts = archive_opts,
	.details = "DIR is a trace, " DEFAULT_TRACE " if not given. The exit status is 1 if a program or a library\n"
		   "is not there any more and the rest was archived, 2 if nothing was.\n",
	.examples = "sonde archive\tsonde.data is self-contained from now on\n"
		    "sonde archive -o solve.trace && tar --zstd -cf solve.tar.zst solve.trace\tto send it\n"
		    "sonde disasm sonde.data/objects/*/app solve\tthe code that was recorded\n",
};

static void print_count(size_t n, const char *one, const char *many)
{
	printf("%zu %s", n, n == 1 ? one : many);
}

static void print_sum(const char *dir, const struct archive_sum *sum, bool sources)
{
	char size[UNITS_MAX];

	units_text(stdout, dir, 0, true);
	fputs(": ", stdout);
	print_count(sum->objects, "program or library", "programs and libraries");
	fputs(", ", stdout);
	print_count(sum->debug_files, "debug file", "debug files");
	if (sources) {
		fputs(", ", stdout);
		print_count(sum->sources, "source", "sources");
	}
	if (sum->no_sources)
		printf(" (%zu %s not there)", sum->no_sources, sum->no_sources == 1 ? "is" : "are");
	units_bytes(sum->bytes, size);
	printf(", %s\n", size);
}

/* Into the trace's folder @dir. */
static int put_all(const struct sonde_trace *trace, const char *dir, bool sources, struct archive_sum *sum)
{
	int to = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	bool good = false;

	if (to < 0)
		msg_error("%s: %m", dir);
	else
		good = archive_objects(trace, to, sum) && (!sources || archive_sources(trace, dir, to, sum));
	if (to >= 0)
		close(to);
	return good ? 0 : EXIT_USAGE;
}

/* A folder beside it that gets its name when all is in it. */
static int put_copy(const struct sonde_trace *trace, const char *dir, const char *output, bool sources, struct archive_sum *sum)
{
	size_t length = strlen(output);
	char *temporary = NULL;
	struct stat st;
	int status = EXIT_USAGE;

	while (length > 1 && output[length - 1] == '/')
		length--;
	if (lstat(output, &st) == 0 || errno != ENOENT || stat(dir, &st) != 0) {
		msg_error("%s: it is there already, or cannot be made; -o takes the name of a new folder", output);
		return EXIT_USAGE;
	}
	if (asprintf(&temporary, "%.*s.XXXXXX", (int)length, output) < 0)
		temporary = NULL;
	if (!temporary || !mkdtemp(temporary)) {
		msg_error("%s: %m", output);
		free(temporary);
		return EXIT_USAGE;
	}
	if (chmod(temporary, st.st_mode & 0777) == 0 && archive_copy_tree(dir, temporary))
		status = put_all(trace, temporary, sources, sum);
	if (!status && rename(temporary, output) != 0) {
		msg_error("%s: %m", output);
		status = EXIT_USAGE;
	}
	if (status && !files_remove_tree(temporary))
		msg_warn("%s: cannot be removed: %m", temporary);
	free(temporary);
	return status;
}

static int archive(const char *dir, const struct archive_options *o)
{
	struct archive_sum sum = { 0 };
	struct sonde_trace *trace;
	int status = pick_open(dir, &trace);

	if (status)
		return status;
	if (tracedir_is_recorded(dir)) {
		msg_error("%s: it is still being recorded", dir);
		status = EXIT_USAGE;
	} else if (!sonde_trace_objects(trace)) {
		msg_error("%s: the trace does not say which programs its functions are from", dir);
		status = EXIT_USAGE;
	} else if (o->output) {
		status = put_copy(trace, dir, o->output, !o->no_sources, &sum);
	} else {
		status = put_all(trace, dir, !o->no_sources, &sum);
	}
	sonde_trace_close(trace);
	if (status)
		return status;
	print_sum(o->output ? o->output : dir, &sum, !o->no_sources);
	return sum.missing ? EXIT_MISSING : 0;
}

int verb_archive(int argc, char **argv)
{
	struct archive_options o = { 0 };
	int first = opt_parse(&archive_command, argc, argv, &o);

	if (first < 0)
		return OPT_STATUS(first);
	if (argc - first > 1)
		return opt_usage_error(&archive_command, "more than one trace");
	return archive(first < argc ? argv[first] : DEFAULT_TRACE, &o);
}
