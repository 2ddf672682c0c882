/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that match share. */
#ifndef SONDE_INJECTOR_SIGNATURES_SIGMATCH_INT_H
#define SONDE_INJECTOR_SIGNATURES_SIGMATCH_INT_H

#include "injector/signatures/sigmatch.h"

enum sig_state { SIG_OPEN, SIG_ACCEPTED, SIG_REJECTED };

/* A unit whose bytes are at an address. */
struct instance {
	uint64_t base;
	uint32_t file, unit;
	enum sig_state state;
};

/* A function of an instance; at one address there may be several. */
struct claim {
	uint32_t instance, func; /* func: of FUNCS */
	uint32_t next;		 /* plus one */
};

/* That a reference of an accepted unit is to this name. */
struct said {
	uint32_t file, symbol;
	uint32_t next;		 /* plus one */
	bool branch;
};

struct place {
	uint64_t addr;
	uint32_t claims, said;	 /* plus one; the first is the last that was added */
	bool used;
};

/* Where a global name is. */
struct named {
	const char *name;
	uint64_t addr;
};

struct match {
	const struct inj_sig_file *files;
	size_t nfiles;
	const struct inj_sig_code *code;

	struct instance *instances;
	struct claim *claims;
	struct said *said;
	size_t ninstances, instances_room, nclaims, claims_room, nsaid, said_room;
	struct place *places;	 /* hash table by address */
	struct named *named;	 /* hash table by name */
	size_t nplaces, places_room, nnamed, named_room;
	uint32_t **copies;	 /* by file and unit: instances that are not rejected */

	uint64_t *before;	 /* by piece: bytes of those before it */
	uint64_t total;
	uint8_t *covered;	 /* a bit for each byte of code: an accepted unit's; first: a start's function */

	uint8_t *room;		 /* for the bytes of any unit */
	uint32_t *queue;	 /* accepted, whose references have not been looked at */
	size_t nqueue, queue_room;
	bool failed;		 /* no memory */
};

static inline const struct sig_unit *unit_of(const struct match *m, const struct instance *in)
{
	return &m->files[in->file].units[in->unit];
}

/* ---- sigmatch.c ---- */

/* Code at @addr, *left bytes of it; NULL: none. */
const uint8_t *sig_code_at(const struct match *m, uint64_t addr, uint64_t *left);

/* Are a unit's bytes at @base? */
bool sig_is_there(struct match *m, uint32_t file, uint32_t unit, uint64_t base);

/* Notes that they are.  Returns the instance; SIG_NONE: no memory. */
uint32_t sig_note(struct match *m, uint32_t file, uint32_t unit, uint64_t base);

/* The instance, if there is one. */
uint32_t sig_instance(const struct match *m, uint32_t file, uint32_t unit, uint64_t base);

/* NULL: nothing is known of it.  sig_new_place(): makes it; NULL: no memory. */
struct place *sig_place(const struct match *m, uint64_t addr);
struct place *sig_new_place(struct match *m, uint64_t addr);

void sig_cover(struct match *m, uint64_t addr, uint64_t len);
bool sig_is_covered(const struct match *m, uint64_t addr);

/* The start at that very address; NULL: none. */
const struct inj_sig_start *sig_start(const struct match *m, uint64_t addr);

/* ---- sigevidence.c ---- */

const char *sig_symbol_text(const struct match *m, uint32_t file, uint32_t symbol); /* of a global one */

/* The first to say where a name is is right. */
void sig_set_name(struct match *m, const char *name, uint64_t addr);

/* Does the function have that name, or is it that local one? */
bool sig_defines(const struct match *m, const struct claim *c, uint32_t file, uint32_t symbol);

/* An accepted function that starts there, as a claim plus one; 0: none. */
uint32_t sig_accepted_at(const struct match *m, const struct place *p);

/* An entry of a PLT stands for the IFUNC whose resolver fills its slot; *target is the resolver then.  True: it is another's. */
bool sig_is_plt(const struct match *m, uint64_t *target);

/* What references of an instance say of it. */
struct evidence {
	uint32_t agree, contradict;
};

struct evidence sig_weigh(struct match *m, const struct instance *in);

/* ---- sigdecide.c ---- */
void sig_decide(struct match *m);

/* ---- sigresult.c ---- */
bool sig_results(struct match *m, struct inj_sig_result *r);

#endif
