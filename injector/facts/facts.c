// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "injector/facts/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injector/facts/facts-int.h"
#include "injector/starts/starts.h"

/* Go's tables, under whatever name they have in this kind of file. */
static bool is_go(const struct inj_elf *file)
{
	static const char *const marks[] = { "gopclntab", ".note.go.buildid", ".go.buildinfo" };

	for (size_t i = 0; i < file->nsecs; i++)
		for (size_t k = 0; k < sizeof(marks) / sizeof(marks[0]); k++)
			if (strstr(file->secs[i].name, marks[k]))
				return true;
	return false;
}

static void find_languages(struct inj_cf *cf)
{
	cf->go = is_go(&cf->file) || inj_symtab_find(cf->tab, "runtime.morestack", NULL);
	cf->ghc = inj_symtab_find(cf->tab, "stg_upd_frame_info", NULL) ||
		  inj_symtab_find(cf->tab, "hs_main", NULL);
	cf->ocaml = inj_symtab_find(cf->tab, "caml_start_program", NULL) != NULL;
}

static void find_tables(struct inj_cf *cf)
{
	const struct inj_elf_section *rseq = inj_elf_section(&cf->file, "__rseq_cs");

	cf->symtab = inj_elf_symtab(&cf->file);
	cf->dynsym = inj_elf_dynsym(&cf->file);
	cf->words = cf->file.type == ET_EXEC;
	if (rseq) {
		cf->rseq = rseq->addr;
		cf->rseq_size = rseq->size;
	}
	if (cf->file.entry) /* which is jumped to, and whatever its name */
		inj_addrs_add(&cf->never, cf->file.entry);
}

static enum inj_status collect(struct inj_cf *cf)
{
	enum inj_status status = inj_cf_bytes(cf);

	if (status == INJ_OK)
		status = inj_cf_frames(cf);
	if (status != INJ_OK)
		return status;
	find_tables(cf);
	find_languages(cf);
	inj_cf_taken(cf);
	inj_cf_pads(cf);
	inj_cf_slots(cf);
	status = inj_cf_functions(cf);
	if (status == INJ_OK)
		status = inj_cf_parts(cf);
	if (status == INJ_OK)
		status = inj_starts_insert(cf);
	if (status != INJ_OK)
		return status;
	inj_addrs_sort(&cf->noreturn);
	inj_addrs_sort(&cf->sync);
	inj_starts_coverage(cf);
	inj_cf_sigaction(cf);
	return cf->taken.failed || cf->pads.failed || cf->noreturn.failed || cf->own.failed || cf->sync.failed ||
			       cf->sigaction.failed || cf->never.failed || cf->pointers.failed ?
		       INJ_MEMORY :
		       INJ_OK;
}

static void release(struct inj_cf *cf)
{
	inj_elf_close(&cf->file);
	free(cf->bytes);
	free(cf->marks);
	free(cf->fdes);
	free(cf->fns);
	free(cf->info);
	free(cf->nameless);
	free(cf->found);
	inj_addrs_free(&cf->taken);
	inj_addrs_free(&cf->pads);
	inj_addrs_free(&cf->noreturn);
	inj_addrs_free(&cf->own);
	inj_addrs_free(&cf->sync);
	inj_addrs_free(&cf->sigaction);
	inj_addrs_free(&cf->never);
	inj_addrs_free(&cf->pointers);
	free(cf);
}

static void publish(const struct inj_cf *cf, struct inj_codefacts *out)
{
	out->facts = (struct tramp_facts){
		.bytes = cf->bytes,
		.nbytes = cf->nbytes,
		.fns = cf->fns,
		.nfns = cf->nfns,
		.taken = cf->taken.v,
		.ntaken = cf->taken.n,
		.pads = cf->pads.v,
		.npads = cf->pads.n,
		.noreturn = cf->noreturn.v,
		.nnoreturn = cf->noreturn.n,
		.own = cf->own.v,
		.nown = cf->own.n,
		.sync = cf->sync.v,
		.nsync = cf->sync.n,
	};
	out->fn = cf->info;
	out->text_lo = cf->lo;
	out->text_hi = cf->hi;
	out->sigaction = cf->sigaction.v;
	out->nsigaction = cf->sigaction.n;
	out->go = cf->go;
	out->no_relocations = cf->words;
	out->code = cf->code;
	out->uncovered = cf->uncovered;
	out->guessed = cf->guessed;
}

enum inj_status inj_codefacts_read(const char *path, const struct inj_symtab *tab,
				   struct inj_codefacts *out)
{
	struct inj_cf *cf = calloc(1, sizeof(*cf));
	enum inj_status status;

	*out = (struct inj_codefacts){ 0 };
	if (!cf)
		return INJ_MEMORY;
	cf->tab = tab;
	status = inj_elf_open(path, &cf->file);
	if (status == INJ_OK)
		status = collect(cf);
	if (status != INJ_OK) {
		release(cf);
		return status;
	}
	/* only needed until here */
	free(cf->marks);
	free(cf->fdes);
	inj_addrs_free(&cf->never);
	inj_addrs_free(&cf->pointers);
	cf->marks = NULL;
	cf->fdes = NULL;
	publish(cf, out);
	out->priv = cf;
	return INJ_OK;
}

void inj_codefacts_free(struct inj_codefacts *facts)
{
	if (facts->priv)
		release(facts->priv);
	*facts = (struct inj_codefacts){ 0 };
}

void inj_codefacts_identity(const struct inj_codefacts *facts, struct inj_identity *id)
{
	const struct inj_cf *cf = facts->priv;

	inj_identity_of(&cf->file, id);
}

uint64_t inj_codefacts_offset(const struct inj_codefacts *facts, const uint8_t *bytes)
{
	const struct inj_cf *cf = facts->priv;

	return (uint64_t)(bytes - cf->file.map);
}

void inj_codefacts_link(const struct inj_codefacts *facts, char *name, size_t size)
{
	const struct inj_elf *file = &((const struct inj_cf *)facts->priv)->file;
	const struct inj_elf_section *sec = inj_elf_section(file, ".gnu_debuglink");
	size_t len = 0;

	memset(name, 0, size);
	if (!sec || sec->offset >= file->len || sec->size > file->len - sec->offset)
		return;
	while (len < sec->size && file->map[sec->offset + len])
		len++;
	if (len < sec->size && len < size)
		memcpy(name, file->map + sec->offset, len);
}

void inj_fn_evidence(const struct inj_fn *fn, char text[static INJ_EVIDENCE_MAX])
{
	static const struct {
		uint32_t flag;
		const char *text;
	} all[] = {
		{ INJ_FN_SYMBOL, "symbol" },	      { INJ_FN_BY_FRAME, "unwind table" },
		{ INJ_FN_BY_ENTRY, "entry point" },   { INJ_FN_BY_CALL, "called" },
		{ INJ_FN_BY_JUMP, "tail-called" },    { INJ_FN_BY_DATA, "address in data" },
		{ INJ_FN_BY_CODE, "address in code" }, { INJ_FN_BY_GAP, "beginning in a gap" },
		{ INJ_FN_BY_VTABLE, "virtual" },
	};
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (fn->flags & all[i].flag)
			at += (size_t)snprintf(text + at, INJ_EVIDENCE_MAX - at, "%s%s", at ? ", " : "", all[i].text);
}
