// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The kernel has put on the stack: argc, argv[], NULL, envp[], NULL, the auxiliary vector.  Where LD_PRELOAD is in the
 * environment its pointer is exchanged for as long as the dynamic linker runs.  Else there is no room for one; so all that
 * is before the end of envp[] moves down by two words.  At the end they hold a pair that stands for nothing in the
 * auxiliary vector, so that the vector begins right after the environment for whoever looks for it there, and where it was
 * for the linker, which has found it already:
 *
 *	argc argv... NULL envp...			NULL   auxv...	    as the kernel made it
 *	argc argv... NULL envp... LD_PRELOAD= SONDE_PAD= NULL   auxv...	    while the linker runs
 *	argc argv... NULL envp... NULL	      AT_IGNORE  0	auxv...	    afterwards
 */
#include "config.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "injector/patch/preload.h"

#define NAME "LD_PRELOAD="
#define PAD "SONDE_PAD="
#define MAX_WORDS (UINT64_C(1) << 20) /* of argv and envp; the kernel allows less on a stack of the usual size */
#define MAX_VALUE 131072 /* the kernel allows no longer strings */

struct stack {
	uint64_t sp, envp;
	size_t nenv;
	uint64_t *words; /* argc ... the last of envp[] */
	size_t nwords;
};

#define CHUNK 512 /* words that are read at once */

static enum inj_status read_stack(struct inj_session *s, uint64_t sp, struct stack *st)
{
	size_t nulls = 0, argv_end = 0;

	*st = (struct stack){ .sp = sp };
	while (nulls < 2) {
		uint64_t *v = st->nwords < MAX_WORDS ? reallocarray(st->words, st->nwords + CHUNK, sizeof(*v)) : NULL;
		size_t n;

		if (!v)
			return INJ_MEMORY;
		st->words = v;
		n = inj_read_some(s->target, sp + 8 * st->nwords, v + st->nwords, 8 * CHUNK) / 8;
		if (n == 0)
			return INJ_SYSTEM;
		for (; n && nulls < 2; n--, st->nwords++) {
			/* argc, too, may be 0 */
			if (v[st->nwords] || !st->nwords)
				continue;
			if (nulls++ == 0)
				argv_end = st->nwords;
		}
	}
	st->nwords--; /* without the last NULL, which stays where it is */
	st->nenv = st->nwords - argv_end - 1;
	st->envp = sp + 8 * (argv_end + 1);
	return INJ_OK;
}

#define NAME_LEN (sizeof(NAME) - 1)

static bool is_preload(struct inj_session *s, uint64_t string, const char *begins)
{
	char name[sizeof(NAME)];

	if (begins)
		return memcmp(begins, NAME, NAME_LEN) == 0;
	return inj_read_string(s->target, string, name, sizeof(name)) == INJ_OK && strcmp(name, NAME) == 0;
}

/* The entry that the linker takes: the last one.  nenv: none. */
static size_t find_entry(struct inj_session *s, const struct stack *st)
{
	const uint64_t *env = st->words + st->nwords - st->nenv;
	struct inj_span *spans = calloc(st->nenv + 1, sizeof(*spans));
	char (*begins)[NAME_LEN] = calloc(st->nenv + 1, sizeof(*begins));
	size_t found = st->nenv;
	bool read = spans && begins;

	for (size_t i = 0; i < st->nenv && read; i++)
		spans[i] = (struct inj_span){ env[i], begins[i], NAME_LEN };
	/* one that ends right before the end of the stack is shorter than that: then one by one */
	read = read && inj_read_spans(s->target, spans, st->nenv) == INJ_OK;
	for (size_t i = st->nenv; i-- > 0 && found == st->nenv;)
		if (is_preload(s, env[i], read ? begins[i] : NULL))
			found = i;
	free(spans);
	free(begins);
	return found;
}

#define POOLS 2 /* that may hold it: no thread has one as long as the linker runs */

/* "LD_PRELOAD=ours:theirs" and the filler. */
static enum inj_status write_text(struct inj_session *s, uint64_t theirs)
{
	size_t ours = strlen(s->opt.preload), len;
	char *text = calloc(1, strlen(NAME) + ours + MAX_VALUE + sizeof(PAD) + 2), *p;
	enum inj_status status = INJ_OK;

	if (!text)
		return INJ_MEMORY;
	p = stpcpy(stpcpy(text, NAME), s->opt.preload);
	if (theirs) {
		*p = ':';
		status = inj_read_string(s->target, theirs + strlen(NAME), p + 1, MAX_VALUE);
		if (!p[1])
			*p = '\0';
	}
	len = strlen(text) + 1;
	memcpy(text + len, PAD, sizeof(PAD));
	s->preload.pad = len;
	len += sizeof(PAD);
	s->preload.borrowed = len <= POOLS * RT_POOL_BYTES && s->config.npools > POOLS;
	s->preload.bytes = s->preload.borrowed ? len : (len + 4095) & ~(uint64_t)4095;
	s->preload.text = s->config.pools;
	if (status == INJ_OK && !s->preload.borrowed)
		status = inj_mmap(s->target, 0, s->preload.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0, &s->preload.text);
	if (status == INJ_OK)
		status = inj_write(s->target, s->preload.text, text, len);
	free(text);
	return status;
}

static enum inj_status insert(struct inj_session *s, const struct stack *st, struct user_regs_struct *regs)
{
	const uint64_t entries[2] = { s->preload.text, s->preload.text + s->preload.pad };
	enum inj_status status;

	regs->rsp -= sizeof(entries);
	status = inj_write(s->target, regs->rsp, st->words, 8 * st->nwords);
	s->preload.slot = st->envp + 8 * st->nenv - sizeof(entries);
	s->preload.inserted = true;
	if (status == INJ_OK)
		status = inj_write(s->target, s->preload.slot, entries, sizeof(entries));
	return status == INJ_OK ? inj_tracee_set_regs(s->tracee, regs) : status;
}

static enum inj_status exchange(struct inj_session *s, const struct stack *st, size_t entry)
{
	s->preload.slot = st->envp + 8 * entry;
	return inj_write(s->target, s->preload.slot, &s->preload.text, 8);
}

enum inj_status inj_preload_add(struct inj_session *s)
{
	struct user_regs_struct regs;
	enum inj_status status;
	struct stack st = { 0 };
	size_t entry;

	if (!s->opt.preload)
		return INJ_OK;
	status = inj_tracee_regs(s->tracee, &regs);
	if (status == INJ_OK)
		status = read_stack(s, regs.rsp, &st);
	if (status == INJ_OK) {
		entry = find_entry(s, &st);
		if (entry < st.nenv)
			s->preload.was = st.words[st.nwords - st.nenv + entry];
		status = write_text(s, s->preload.was);
		if (status == INJ_OK)
			status = entry < st.nenv ? exchange(s, &st, entry) : insert(s, &st, &regs);
	}
	free(st.words);
	return status;
}

enum inj_status inj_preload_remove(struct inj_session *s)
{
	static const uint64_t nothing[3] = { 0, AT_IGNORE, 0 };
	static const uint8_t zeros[POOLS * RT_POOL_BYTES];
	enum inj_status status;

	if (!s->preload.slot)
		return INJ_OK;
	status = s->preload.inserted ? inj_write(s->target, s->preload.slot, nothing, sizeof(nothing)) :
				       inj_write(s->target, s->preload.slot, &s->preload.was, 8);
	s->preload.slot = 0;
	if (status != INJ_OK)
		return status;
	return s->preload.borrowed ? inj_write(s->target, s->preload.text, zeros, s->preload.bytes) :
				     inj_munmap(s->target, s->preload.text, s->preload.bytes);
}
