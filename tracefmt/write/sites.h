/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the encoder knows of each event id: a table that the drain loop looks into once per
 * record, so kept small.
 */
#ifndef SONDE_TRACEFMT_WRITE_SITES_H
#define SONDE_TRACEFMT_WRITE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "tracefmt/include/sonde/trace.h"

#define TF_NO_PARTNER 0u

struct tf_site {
	uint32_t function;
	/*
	 * enter: the leave event that usually ends it; leave: the enter event that it usually
	 * ends; each is the other's, or TF_NO_PARTNER.  Once set it never changes.
	 */
	uint32_t partner;
	uint32_t depth;	 /* what to add to the frame addresses of its records */
	uint8_t kind;	 /* enum sonde_trace_kind; 0: no such event */
	uint8_t nfields; /* those with a value */
	uint8_t words;	 /* of a record with empty strings: one for each value */
	uint8_t code;	 /* 1 + index of the value that is an address of code, before all strings; 0: none */
	uint8_t codes;	 /* so many values from it on are */
	bool strings : 1; /* has fields of type STR */
	bool narrow : 1; /* some values are only a part of their words */
	bool framed : 1; /* its records have a frame address: all enters, some leaves */
	bool exchange : 1; /* a point about clocks: struct tf_exchanges */
};

/* Types of an event's values, and its place in the list of its function's events. */
struct tf_site_more {
	uint8_t types[12];
	uint8_t widths[12]; /* of the value in its word, bytes; 0: all of it */
	uint32_t next; /* next event of the same function, 0: last */
	uint32_t module; /* number of the module + 1, 0: none */
	uint32_t probe;	 /* number of the probe + 1 that it belongs to, 0: none; see probes.c */
	uint64_t entry;	 /* of an enter: where its function begins in the program; 0: unknown */
};

struct tf_codes;

/* Values of points about clocks, since tf_writer_exchanges() has taken them last (exchange.c). */
#define TF_EXCHANGE_VALUES 6
#define TF_EXCHANGES_MAX 64u   /* of one sub-buffer; further ones stay events alone */
#define TF_EXCHANGES_ALL 4096u /* likewise, of a trace */
struct tf_exchanges {
	uint64_t value[TF_EXCHANGES_MAX][TF_EXCHANGE_VALUES];
	uint32_t n, all;
};

static inline void tf_exchanges_note(struct tf_exchanges *x, const uint64_t *value)
{
	if (x->n == TF_EXCHANGES_MAX || x->all == TF_EXCHANGES_ALL)
		return;
	for (unsigned i = 0; i < TF_EXCHANGE_VALUES; i++)
		x->value[x->n][i] = value[i];
	x->n++;
	x->all++;
}

struct tf_sites {
	struct tf_site *site; /* [room], indexed by event id */
	struct tf_site_more *more;
	uint32_t room; /* ids below are looked up; the others do not exist; never 0 */
	struct tf_codes *codes; /* that are in events; NULL: in none */
	struct tf_exchanges *exchanges; /* likewise */
};

/* Errors: E_NOMEM. */
__attribute__((warn_unused_result)) enum sonde_trace_status tf_sites_init(struct tf_sites *s);

/*
 * Adds event @id of @function.  @types: of the values, @n of them.  @head: first event of the
 * function's list, updated.  Errors: E_NOMEM.  The caller has checked the ranges.
 */
__attribute__((warn_unused_result)) enum sonde_trace_status
tf_sites_add(struct tf_sites *s, uint32_t id, enum sonde_trace_kind kind, uint32_t function,
	     uint32_t module, const uint8_t *types, unsigned n, uint32_t *head);

/*
 * Adds events @enter and @enter + 1, without values and with frame addresses: a pair, of a function that
 * begins at @entry in the program (0: unknown).
 * Errors: E_NOMEM.  The caller has checked that both are free.
 */
__attribute__((warn_unused_result)) enum sonde_trace_status
tf_sites_add_probe(struct tf_sites *s, uint32_t enter, uint32_t function, uint32_t probe,
		   uint64_t entry);

static inline bool tf_sites_known(const struct tf_sites *s, uint32_t id)
{
	return id < s->room && s->site[id].kind;
}

void tf_sites_free(struct tf_sites *s);

#endif /* SONDE_TRACEFMT_WRITE_SITES_H */
