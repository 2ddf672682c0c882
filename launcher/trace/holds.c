/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/message.h"
#include "launcher/trace/holds.h"
#include "memtrace/read/read.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WHOLE 8u /* texts that are shown, if they are; of many ranks the others are only named */

/* ---- memory accesses ---- */

/* Beside its file, with another ending. */
bool holds_stream(const struct sonde_trace_thread *thread)
{
	const char *dot = strrchr(thread->file, '.');
	char *path;
	bool found;

	if (!dot || asprintf(&path, "%.*s.memory", (int)(dot - thread->file), thread->file) < 0)
		return false;
	found = access(path, F_OK) == 0;
	free(path);
	return found;
}

bool holds_blocks(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		if (mt_read_is_of_blocks(sonde_trace_rank(trace, i)))
			return true;
	}
	return false;
}

bool holds_order(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		if (mt_read_has_blocks(sonde_trace_rank(trace, i)))
			return true;
	}
	return false;
}

bool holds_memory(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		if (holds_stream(sonde_trace_thread(trace, i)))
			return true;
	}
	return false;
}

bool holds_events(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_threads(trace); i++)
		if (sonde_trace_thread(trace, i)->events)
			return true;
	return false;
}

bool holds_ends(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		if (sonde_trace_rank(trace, i)->ending == SONDE_TRACE_UNFINISHED)
			return false;
	return true;
}

/* ---- texts ---- */

static int is_text(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return dot && dot > e->d_name && strcmp(dot, ".txt") == 0;
}

/* NULL: not a file that a module can have written. */
static FILE *open_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	FILE *f = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		f = fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

static void add_text(struct holds_texts *t, const struct sonde_trace_rank *rank, const char *name)
{
	struct holds_text *v = reallocarray(t->v, t->n + 1, sizeof(*v));
	struct holds_text text = { .module = strndup(name, strlen(name) - strlen(".txt")), .rank = rank->rank };
	FILE *f;

	if (v)
		t->v = v;
	if (asprintf(&text.path, "%s/%s", rank->dir, name) < 0)
		text.path = NULL;
	f = text.path ? open_text(text.path) : NULL;
	if (v && f && text.module) {
		v[t->n++] = text;
	} else {
		free(text.path);
		free(text.module);
	}
	if (f)
		fclose(f);
}

void holds_texts(const struct sonde_trace *trace, struct holds_texts *t)
{
	*t = (struct holds_texts){ 0 };
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		const struct sonde_trace_rank *rank = sonde_trace_rank(trace, i);
		struct dirent **names;
		int n = scandir(rank->dir, &names, is_text, alphasort);

		for (int k = 0; k < n; k++) {
			add_text(t, rank, names[k]->d_name);
			free(names[k]);
		}
		if (n >= 0)
			free(names);
	}
}

void holds_texts_free(struct holds_texts *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].path);
		free(t->v[i].module);
	}
	free(t->v);
	*t = (struct holds_texts){ 0 };
}

/* For the terminal: nothing that moves the cursor. */
static void put_clean(int c, FILE *out)
{
	putc((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? '?' : c, out);
}

static void put_text(const char *path, FILE *out)
{
	FILE *f = open_text(path);
	int c;

	while (f && (c = getc(f)) != EOF)
		put_clean(c, out);
	if (f)
		fclose(f);
}

void holds_print_texts(const struct holds_texts *t, bool whole, FILE *out)
{
	for (size_t i = 0; i < t->n && !ferror(out); i++) {
		const struct holds_text *text = &t->v[i];

		if (whole && i && i <= MAX_WHOLE)
			putc('\n', out);
		if (text->rank >= 0)
			fprintf(out, "rank %d: ", text->rank);
		fputs("what module ", out);
		for (const char *s = text->module; *s; s++)
			put_clean((unsigned char)*s, out);
		fputs(" found: ", out);
		for (const char *s = text->path; *s; s++)
			put_clean((unsigned char)*s, out);
		putc('\n', out);
		if (whole && i < MAX_WHOLE)
			put_text(text->path, out);
	}
}

/* ---- why there is nothing ---- */

struct contents {
	uint64_t events, calls; /* calls: counted, not recorded */
	bool counters;
	const struct sonde_trace_recording *recording;
	uint64_t lost;
	bool memory, blocks, unfinished, damaged;
};

/* Functions that would have been recorded, had they been called. */
static uint64_t could_be_called(const struct sonde_trace_recording *r)
{
	return r->instrumented + r->uncalled;
}

static struct contents look(const struct sonde_trace *trace)
{
	struct contents c = { .memory = holds_memory(trace), .blocks = holds_blocks(trace) };

	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

		c.events += t->events;
		c.calls += t->ncalls;
		c.counters |= t->ncounts != 0;
		c.damaged |= t->bad_chunks || (t->status != SONDE_TRACE_OK && t->status != SONDE_TRACE_E_TRUNCATED);
	}
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		const struct sonde_trace_rank *rank = sonde_trace_rank(trace, i);

		c.lost += rank->lost;
		c.unfinished |= rank->ending == SONDE_TRACE_UNFINISHED;
		/* of several programs, the one that most could have been recorded of */
		if (!c.recording || (rank->recording && could_be_called(rank->recording) > could_be_called(c.recording)))
			c.recording = rank->recording;
	}
	return c;
}

static bool chooses(const struct sonde_trace_recording *r, const char *option)
{
	for (size_t i = 0; r && i < r->nfilters; i++)
		if (strncmp(r->filters[i], option, strlen(option)) == 0)
			return true;
	return false;
}

/* Nothing else is there either. */
static void why_nothing(const struct sonde_trace *trace, const struct contents *c, const char *what, char *text,
			size_t size)
{
	const struct sonde_trace_recording *r = c->recording;

	if (c->unfinished)
		snprintf(text, size, "no %s were recorded: the recording has no end, it is still running or the "
				     "recorder was killed", what);
	else if (c->damaged || c->lost)
		snprintf(text, size, "no %s are in the trace: they were lost, or are damaged; `sonde info' says more",
			 what);
	else if (r && !could_be_called(r) && r->nleft_alone)
		snprintf(text, size, "no %s were recorded: none of the functions that were chosen can be; "
				     "`sonde info' says why", what);
	else if (r && !could_be_called(r))
		snprintf(text, size, "no %s were recorded: no function was like what was chosen; `sonde info' shows "
				     "that", what);
	else if (strcmp(what, "calls") == 0 && chooses(r, "--time="))
		snprintf(text, size, "no %s were recorded: no call took as long as --time asks for", what);
	else if (r && could_be_called(r) == 1)
		snprintf(text, size, "no %s were recorded: the program did not call the function that was instrumented",
			 what);
	else if (r)
		snprintf(text, size, "no %s were recorded: the program called none of the %" PRIu64 " functions that "
				     "were instrumented", what, could_be_called(r));
	else if (sonde_trace_modules(trace))
		snprintf(text, size, "no %s were recorded: the program called no function that the module%s wrap%s",
			 what, sonde_trace_modules(trace) == 1 ? "" : "s",
			 sonde_trace_modules(trace) == 1 ? "s" : "");
	else
		snprintf(text, size, "no %s were recorded: nothing was chosen; `sonde -F '*' PROGRAM' records calls",
			 what);
}

void holds_no_calls(const struct sonde_trace *trace, char *text, size_t size)
{
	struct contents c = look(trace);
	struct holds_texts t;

	holds_texts(trace, &t);
	if (c.calls)
		snprintf(text, size, "calls were counted, not recorded: `sonde report' shows how many");
	else if (c.memory && c.blocks)
		snprintf(text, size, "no calls were recorded, but the order of blocks: `sonde dump --blocks' and `sonde blocks' show it");
	else if (c.memory)
		snprintf(text, size, "no calls were recorded, but memory accesses: `sonde memory' shows them%s",
			 chooses(c.recording, "-F ") ? "" : "; -F records calls");
	else if (c.counters)
		snprintf(text, size, "no calls were recorded, but counters: `sonde report' shows them");
	else if (chooses(c.recording, "--blocks="))
		snprintf(text, size, "no calls were recorded, but blocks were counted: `sonde blocks' shows how often; -F records calls");
	else if (t.n)
		snprintf(text, size, "no calls were recorded, but what a module found; -F records calls");
	else
		why_nothing(trace, &c, "calls", text, size);
	holds_texts_free(&t);
}

void holds_no_memory(const struct sonde_trace *trace, char *text, size_t size)
{
	struct contents c = look(trace);

	if (c.blocks)
		snprintf(text, size, "no memory accesses were recorded, but the order of blocks: `sonde dump --blocks' and `sonde blocks' "
				     "show it");
	else if (chooses(c.recording, "--mem="))
		why_nothing(trace, &c, "memory accesses", text, size);
	else if (c.events || c.calls)
		snprintf(text, size, "no memory accesses were recorded, but calls: `sonde report' shows them; "
				     "`sonde record --mem' records memory accesses");
	else
		snprintf(text, size, "no memory accesses were recorded; `sonde record --mem' does");
}

void holds_warn_without_end(const struct sonde_trace *trace, const char *dir)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		if (sonde_trace_rank(trace, i)->ending != SONDE_TRACE_UNFINISHED)
			continue;
		msg_warn("%s: the recording has no end: it is still running, or the recorder was killed", dir);
		return;
	}
}

void holds_warn_no_calls(const struct sonde_trace *trace, const char *dir)
{
	struct holds_texts t;
	char text[256];

	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		if (sonde_trace_thread(trace, i)->events) {
			holds_warn_without_end(trace, dir);
			return;
		}
	}
	holds_no_calls(trace, text, sizeof(text));
	msg_warn("%s: %s", dir, text);
	holds_texts(trace, &t);
	for (size_t i = 0; i < t.n; i++)
		msg_info("what module %s found: %s", t.v[i].module, t.v[i].path);
	holds_texts_free(&t);
}
