// SPDX-License-Identifier: GPL-3.0-or-later
/* Descriptions of memory streams: collected for our own reader, and put into the program for the machine there. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "injector/mirror/mirrors.h"
#include "injector/patch/session.h"

/* Nodes and operations of a part of an object: so many, and those of one function more. */
#define PART_OPS (1u << 20)

/* Targets are numbered from the function's first node on; here from the object's. */
static void append(struct inj_described *d, const struct tramp_mem_description *f)
{
	for (size_t i = 0; i < f->nnodes; i++) {
		d->nodes[d->nnodes + i] = f->nodes[i];
		d->nodes[d->nnodes + i].op += d->nops;
	}
	for (size_t i = 0; i < f->nops; i++) {
		struct md_op *op = &d->ops[d->nops + i];
		uint64_t target = (uint64_t)f->ops[i].imm;

		*op = f->ops[i];
		if (op->code == MD_GOTO)
			op->imm = (int64_t)(target + d->nnodes);
		else if (op->code == MD_IF || op->code == MD_PEEK)
			op->imm = (int64_t)(target + d->nnodes + ((uint64_t)d->nnodes << 32));
	}
	d->nnodes += (uint32_t)f->nnodes;
	d->nops += (uint32_t)f->nops;
}

enum inj_status inj_described_add(struct inj_session *s, struct inj_described *d,
				  const struct tramp_mem_description *f)
{
	struct inj_mirrors *m = &s->mirrors;
	enum inj_status status = INJ_OK;

	/* ids are those of nodes in a row */
	if (d->nnodes + d->nops >= PART_OPS || (d->nnodes && d->first + d->nnodes != m->next_node + 1))
		status = inj_described_keep(s, d);
	if (status != INJ_OK)
		return status;
	if (!d->nnodes)
		d->first = m->next_node + 1;
	if (!array_room(d->nodes, d->room_nodes, d->nnodes + (size_t)f->nnodes) ||
	    !array_room(d->ops, d->room_ops, d->nops + (size_t)f->nops))
		return INJ_MEMORY;
	append(d, f);
	m->next_node += (uint32_t)f->nnodes;
	return INJ_OK;
}

/* ---- in the program ---- */

struct md_object inj_described_object(const struct inj_described *d, const struct inj_object *o)
{
	return (struct md_object){
		.base = o->base + d->code_base, .load = o->base, .first = d->first,
		.nnodes = d->nnodes, .nops = d->nops,
	};
}

/* The list's head is written last.  Without room for it the machine there does not know the nodes, and leaves them to ours. */
static enum inj_status put(struct inj_session *s, const struct inj_described *d)
{
	struct rt_codemaps *maps = s->mirrors.maps;
	struct rt_described r = {
		.object = inj_described_object(d, &s->objects[d->object]),
		.next = maps->described,
	};
	enum inj_status status;
	uint64_t at = 0;

	status = inj_code_put(&s->code, s->target, d->nodes, d->nnodes * sizeof(*d->nodes),
			      &r.object.nodes);
	if (status == INJ_OK)
		status = inj_code_put(&s->code, s->target, d->ops, d->nops * sizeof(*d->ops),
				      &r.object.ops);
	if (status == INJ_OK)
		status = inj_code_put(&s->code, s->target, &r, sizeof(r), &at);
	if (status == INJ_OK)
		__atomic_store_n(&maps->described, at, __ATOMIC_RELEASE);
	return status == INJ_NO_ROOM ? INJ_OK : status;
}

enum inj_status inj_described_keep(struct inj_session *s, struct inj_described *d)
{
	struct inj_mirrors *m = &s->mirrors;
	struct inj_described *v;

	if (!d->nnodes)
		return INJ_OK;
	if (!array_one_more(m->described, m->ndescribed))
		return INJ_MEMORY;
	v = &m->described[m->ndescribed++];
	*v = *d;
	*d = (struct inj_described){ .object = d->object, .code_base = d->code_base };
	return s->opt.nanalyzers ? put(s, v) : INJ_OK;
}
