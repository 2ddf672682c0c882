// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/ranks/ranks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher/common/installed.h"
#include "launcher/common/message.h"
#include "launcher/common/units.h"
#include "launcher/ranks/plugin.h"
#include "launcher/trace/job.h"

static struct {
	const struct ranks_plugin *plugin; /* NULL: no others */
	unsigned int me, count;
	bool sent;
	bool *received; /* by rank; of rank 0 */
} ranks = { .count = 1 };

unsigned int ranks_count(void)
{
	return ranks.count;
}

unsigned int ranks_me(void)
{
	return ranks.me;
}

/* ---- which MPI ---- */

/* By what its launcher has put into the environment; NULL: another one, or several could have. */
static const char *plugin_name(void)
{
	if (getenv("OMPI_COMM_WORLD_SIZE"))
		return "openmpi.so";
	if (getenv("PMI_SIZE"))
		return "mpich.so";
	return NULL;
}

/* MPI's libraries look for their own parts in what the process has loaded. */
static const struct ranks_plugin *load(const char *name)
{
	char *folder = installed_path(PKGLIBDIR "/ranks"), *path = NULL;
	const struct ranks_plugin *plugin = NULL;
	void *handle = NULL;

	if (folder && asprintf(&path, "%s/%s", folder, name) >= 0)
		handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (handle)
		plugin = dlsym(handle, "sonde_ranks_plugin");
	if (path && !plugin)
		msg_debug("%s: %s", path, dlerror());
	free(path);
	free(folder);
	return plugin && plugin->version == RANKS_PLUGIN_VERSION ? plugin : NULL;
}

/* ---- begin and end ---- */

static void be_quiet(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	close(null);
}

/* False: without an MPI's plugin, or its library, nobody helps. */
static bool join(int *me)
{
	const char *name = plugin_name();
	const struct ranks_plugin *plugin = name ? load(name) : NULL;
	int count;

	if (!plugin || !plugin->begin(me, &count))
		return false;
	ranks.plugin = plugin;
	ranks.received = calloc((size_t)count, sizeof(*ranks.received));
	if (!ranks.received) {
		msg_error("out of memory");
		exit(EXIT_USAGE); /* its MPI ends the others */
	}
	ranks.me = (unsigned int)*me;
	ranks.count = (unsigned int)count;
	return true;
}

bool ranks_begin(enum ranks_verb verb)
{
	struct job job;
	int rank, count;

	if (verb == RANKS_EACH)
		return true;
	if (job_detect(&job) != 0)
		job = (struct job){ .rank = -1 };
	rank = job.rank;
	count = job.ranks;
	job_free(&job);
	if (rank < 0 || count == 1)
		return true;
	if (verb == RANKS_SHARED && !join(&rank) && rank == 0)
		msg_warn("MPI has started several ranks, but rank 0 works alone: Sonde was built without this MPI");
	units_no_terminal();
	if (rank == 0)
		return true;
	if (ranks.count > 1)
		be_quiet();
	return ranks.count > 1;
}

int ranks_end(int status)
{
	size_t n;

	if (!ranks.plugin)
		return status;
	for (unsigned int i = 1; ranks.me == 0 && i < ranks.count; i++)
		if (!ranks.received[i])
			free(ranks_receive(i, &n));
	if (ranks.me != 0 && !ranks.sent)
		ranks_send(NULL, 0);
	fflush(stdout);
	ranks.plugin->end();
	return ranks.me == 0 ? status : 0;
}

/* ---- work ---- */

struct piece {
	uint64_t weight;
	size_t index;
};

/* The heaviest first; of equal ones the first. */
static int by_weight(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Each goes to who has least so far (Graham: "Bounds on Multiprocessing Timing Anomalies", 1969). */
bool ranks_share(const uint64_t *weight, size_t n, unsigned int *owner)
{
	struct piece *pieces = calloc(n + 1, sizeof(*pieces));
	uint64_t *load_of = calloc(ranks.count, sizeof(*load_of));
	bool good = pieces && load_of;

	for (size_t i = 0; good && i < n; i++)
		pieces[i] = (struct piece){ weight[i], i };
	if (good)
		qsort(pieces, n, sizeof(*pieces), by_weight);
	for (size_t i = 0; good && i < n; i++) {
		unsigned int least = 0;

		for (unsigned int k = 1; k < ranks.count; k++)
			least = load_of[k] < load_of[least] ? k : least;
		owner[pieces[i].index] = least;
		load_of[least] += pieces[i].weight + 1;
	}
	free(pieces);
	free(load_of);
	return good;
}

void ranks_send(const void *data, size_t n)
{
	if (ranks.sent)
		return;
	ranks.sent = true;
	ranks.plugin->send(data, n);
}

void *ranks_receive(unsigned int from, size_t *n)
{
	*n = 0;
	if (ranks.received[from])
		return calloc(1, 1);
	ranks.received[from] = true;
	return ranks.plugin->receive((int)from, n);
}
