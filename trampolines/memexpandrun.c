// SPDX-License-Identifier: MIT
/*
 * From node to node: what the chunks so far prove.
 */
#include "trampolines/memexpandloop.h"

static bool starved(struct mx_machine *m, struct mx_sink *sink)
{
	if (sink->counts ? ++m->refills > MX_REFILLS : sink->v == sink->fueled)
		return true;
	sink->fueled = sink->v;
	m->fuel = m->limit;
	return false;
}

static enum mx_step burn(struct mx_machine *m, struct mx_sink *sink)
{
	if (m->place.node->words) {
		m->fuel = m->limit;
		m->refills = 0;
	} else if (m->fuel-- == 0) {
		m->fuel = 0;
		return starved(m, sink) ? MX_ERROR : MX_STEP;
	}
	return MX_STEP;
}

/* The header, which has to be that of the node. */
static enum mx_step begin(struct mx_machine *m)
{
	if (!m->place.begun && m->place.node->header) {
		if (m->end - m->words < 4)
			return MX_STALL;
		if (mx_load4(m->words) != m->place.node->id)
			return MX_ERROR;
		m->words += 4;
	}
	m->place.begun = true;
	return MX_STEP;
}

/* Behind END values may be zero, headers not. */
static enum mx_step out(struct mx_machine *m, size_t need)
{
	static const uint8_t zeros[4096];

	if (need == 0)
		return MX_STEP;
	if (m->kind != MD_CHUNK_END || (m->place.node->header && !m->place.begun) ||
	    need > sizeof(zeros) || need > m->zeros)
		return MX_STALL;
	m->zeros -= (uint32_t)need;
	m->words = zeros;
	m->end = zeros + need;
	return MX_STEP;
}

/* Are the node's words there, and is it proven to come to its end? */
static enum mx_step prove(struct mx_machine *m)
{
	size_t left = (size_t)(m->end - m->words), need = mx_place_words(&m->place);

	switch (m->phase) {
	case MX_WORDS:
		return left >= need + 4 ? MX_STEP : MX_STALL;
	case MX_CARRY:
		return left == need ? MX_STEP : MX_ERROR;
	case MX_OUT:
		return out(m, need);
	default:
		return MX_STEP;
	}
}

static enum mx_step run_node(struct mx_machine *m, struct mx_sink *sink)
{
	enum mx_step step;

	if (!m->proven) {
		step = mx_place_find(m->code, &m->place, m->words, m->end);
		if (step == MX_STEP)
			step = prove(m);
		if (step == MX_STEP)
			step = begin(m);
		if (step == MX_STEP)
			step = burn(m, sink);
		if (step != MX_STEP)
			return step;
		m->proven = true;
	}
	return mx_run_ops(m, sink);
}

/* MX_FULL: out of memory. */
static enum mx_step stalled(struct mx_machine *m, bool there)
{
	if (m->phase == MX_WORDS)
		return mx_chunk_stall(m);
	if (m->phase == MX_INTERRUPT && !there && !mx_place_before(m, m->place.node ? m->place.node : m->at_node))
		return MX_ERROR;
	return mx_chunk_finish(m);
}

/* The interrupted node, if it is a loop: up to shortly before the iteration. */
static void approach(struct mx_machine *m, struct mx_sink *sink)
{
	const struct mx_node *node = m->place.node;
	uint64_t n, max;

	if (m->phase != MX_INTERRUPT || node != m->at_node || !node->loop || node->words)
		return;
	max = mx_loop_near(m, node->loop);
	if (!sink->counts && node->accesses && (size_t)(sink->end - sink->v) / node->accesses < max)
		max = (size_t)(sink->end - sink->v) / node->accesses;
	n = max ? mx_loop_run(m, node->loop, max, NULL, sink->counts ? NULL : sink->v) : 0;
	if (n == UINT64_MAX)
		return;
	if (sink->counts)
		mx_loop_count(sink->counts, node, sink->stack, n);
	else
		sink->v += n * node->accesses;
}

/* As much as can be done without looking at each operation. */
static void run_ahead(struct mx_machine *m, struct mx_sink *sink)
{
	if (m->place.begun || m->phase == MX_CARRY)
		return;
	mx_run_fast(m, sink);
	if (m->place.node)
		approach(m, sink);
}

static enum mx_status run(struct mx_machine *m, struct mx_sink *sink)
{
	while (m->phase != MX_TAKEN && m->phase != MX_CLOSED) {
		enum mx_step step;

		run_ahead(m, sink);
		if (sink->enough && !sink->lost)
			return MX_OK;
		step = sink->lost ? MX_ERROR : run_node(m, sink);

		if (step == MX_FULL)
			return MX_OK;
		if (step == MX_STALL || step == MX_THERE) {
			step = stalled(m, step == MX_THERE);
			if (step == MX_FULL) {
				m->phase = MX_CLOSED;
				return MX_MEMORY;
			}
		} else if (step == MX_STEP && m->phase == MX_CARRY) {
			mx_chunk_carried(m);
		}
		if (step == MX_ERROR) {
			m->phase = MX_CLOSED;
			return MX_BAD_STREAM;
		}
	}
	return MX_OK;
}

size_t mx_next(struct mx_machine *m, struct mx_access *v, size_t max, enum mx_status *status)
{
	struct mx_sink sink = { .v = v, .end = v + max, .fueled = v };

	*status = max ? run(m, &sink) : MX_OK;
	if (sink.v != v)
		m->fuel = m->limit;
	return (size_t)(sink.v - v);
}

enum mx_status mx_count(struct mx_machine *m, int stack, struct mx_counts *counts)
{
	struct mx_sink sink = { .counts = counts, .stack = stack };

	return run(m, &sink);
}
