// SPDX-License-Identifier: GPL-3.0-or-later
/* Where names are, as far as accepted units say, and whether a unit's references agree with that. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/search.h"
#include "injector/signatures/sigmask.h"
#include "injector/signatures/sigmatch-int.h"

/* ---- names ---- */

const char *sig_symbol_text(const struct match *m, uint32_t file, uint32_t symbol)
{
	const struct inj_sig_file *f = &m->files[file];

	return f->text + f->symbols[symbol].text;
}

static uint64_t name_hash(const char *name)
{
	return hash_bytes(name, strlen(name));
}

/* NULL: it is not known where it is. */
static struct named *find_name(struct match *m, const char *name)
{
	size_t at;

	if (!m->named_room)
		return NULL;
	at = hash_slot(i, m->named_room, name_hash(name), !m->named[i].name || strcmp(m->named[i].name, name) == 0);
	return m->named[at].name ? &m->named[at] : NULL;
}

void sig_set_name(struct match *m, const char *name, uint64_t addr)
{
	struct named *n;

	if (!hash_grow(m->named, m->named_room, m->nnamed + 1, old, old->name,
		       &m->named[hash_slot(i, m->named_room, name_hash(old->name), !m->named[i].name)])) {
		m->failed = true;
		return;
	}
	n = &m->named[hash_slot(i, m->named_room, name_hash(name), !m->named[i].name || strcmp(m->named[i].name, name) == 0)];
	if (n->name)
		return;
	*n = (struct named){ name, addr };
	m->nnamed++;
}

bool sig_defines(const struct match *m, const struct claim *c, uint32_t file, uint32_t symbol)
{
	const struct instance *in = &m->instances[c->instance];
	const struct inj_sig_file *f = &m->files[in->file];
	const struct sig_symbol *s = &m->files[file].symbols[symbol];
	const char *name;

	if (s->text == SIG_NONE)
		return in->file == file && in->unit == s->unit && c->func == s->func;
	name = sig_symbol_text(m, file, symbol);
	for (uint32_t i = f->funcs[c->func].names; i < f->funcs[c->func].names + f->funcs[c->func].nnames; i++)
		if ((f->names[i].flags & SIG_NAME_GLOBAL) && strcmp(f->text + f->names[i].text, name) == 0)
			return true;
	return false;
}

uint32_t sig_accepted_at(const struct match *m, const struct place *p)
{
	uint32_t i = p ? p->claims : 0;

	while (i && m->instances[m->claims[i - 1].instance].state != SIG_ACCEPTED)
		i = m->claims[i - 1].next;
	return i;
}

/* ---- what references say ---- */

bool sig_is_plt(const struct match *m, uint64_t *target)
{
	const struct inj_sig_slot *v = m->code->slots;
	uint64_t left, slot;
	const uint8_t *code = sig_code_at(m, *target, &left);
	size_t at;

	if (!code || !inj_sig_is_plt(code, left, *target, &slot))
		return false;
	at = search_first(i, m->code->nslots, v[i].slot >= slot);
	if (at == m->code->nslots || v[at].slot != slot)
		return true;
	*target = v[at].resolver;
	return false;
}

/* Code that is called has to be there; a weak name may be nowhere. */
static bool is_possible(const struct match *m, uint64_t target, bool branch)
{
	uint64_t left;

	return !branch || !target || sig_code_at(m, target, &left);
}

/* 1: it agrees with what is known, -1: it does not, 0: nothing is known. */
static int judge_symbol(struct match *m, const struct instance *in, uint32_t symbol, uint64_t target, bool branch)
{
	const struct sig_symbol *s = &m->files[in->file].symbols[symbol];
	const struct named *n = s->text == SIG_NONE ? NULL : find_name(m, sig_symbol_text(m, in->file, symbol));
	uint32_t claim;

	if (sig_is_plt(m, &target))
		return 0;
	if (!is_possible(m, target, branch))
		return -1;
	if (s->unit == in->unit && target == in->base + m->files[in->file].funcs[s->func].at)
		return 0; /* itself */
	if (n && n->addr == target)
		return 1;
	if (n)
		return -1;
	claim = sig_accepted_at(m, sig_place(m, target));
	if (claim)
		return sig_defines(m, &m->claims[claim - 1], in->file, symbol) ? 1 : -1;
	return sig_is_covered(m, target) ? -1 : 0;
}

struct evidence sig_weigh(struct match *m, const struct instance *in)
{
	const struct inj_sig_file *f = &m->files[in->file];
	const struct sig_unit *u = &f->units[in->unit];
	const struct sig_ref *refs = inj_sig_refs(f, u);
	struct evidence e = { 0 };
	uint64_t left, target;
	const uint8_t *code = sig_code_at(m, in->base, &left);
	bool branch;

	for (uint32_t i = 0; i < u->nrefs; i++) {
		const struct sig_ref *r = &refs[i];
		int says;

		if (r->symbol == SIG_NONE || !inj_sig_target(r, code, in->base, &target, &branch))
			continue;
		says = judge_symbol(m, in, r->symbol, target, branch);
		e.agree += says > 0;
		e.contradict += says < 0;
	}
	for (uint32_t i = u->funcs; i < u->funcs + u->nfuncs; i++) {
		const struct sig_name *name = &f->names[f->funcs[i].names];
		const struct named *n = name->flags & SIG_NAME_GLOBAL && !(name->flags & SIG_NAME_WEAK) ?
						find_name(m, f->text + name->text) : NULL;

		e.contradict += n && n->addr != in->base + f->funcs[i].at;
	}
	return e;
}
