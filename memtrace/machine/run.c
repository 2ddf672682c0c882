// SPDX-License-Identifier: MIT
/*
 * From node to node: what the chunks so far prove.
 */
#include "memtrace/machine/loop.h"

static bool starved(struct mt_machine *m, struct mt_sink *sink)
{
	if (sink->counts ? ++m->refills > MT_REFILLS : sink->v == sink->fueled)
		return true;
	sink->fueled = sink->v;
	m->fuel = m->limit;
	return false;
}

static enum mt_step burn(struct mt_machine *m, struct mt_sink *sink)
{
	if (m->place.node->words) {
		m->fuel = m->limit;
		m->refills = 0;
	} else if (m->fuel-- == 0) {
		m->fuel = 0;
		return starved(m, sink) ? MT_ERROR : MT_STEP;
	}
	return MT_STEP;
}

/* The header, which has to be that of the node. */
static enum mt_step begin(struct mt_machine *m)
{
	if (!m->place.begun && m->place.node->header) {
		if (m->end - m->words < 4)
			return MT_STALL;
		if (mt_load4(m->words) != m->place.node->id)
			return MT_ERROR;
		m->words += 4;
	}
	m->place.begun = true;
	return MT_STEP;
}

/* After END values may be zero, headers not. */
static enum mt_step out(struct mt_machine *m, size_t need)
{
	static const uint8_t zeros[4096];

	if (need == 0)
		return MT_STEP;
	if (m->kind != MD_CHUNK_END || (m->place.node->header && !m->place.begun) ||
	    need > sizeof(zeros) || need > m->zeros)
		return MT_STALL;
	m->zeros -= (uint32_t)need;
	m->words = zeros;
	m->end = zeros + need;
	return MT_STEP;
}

/* Are the node's words there, and is it proven to come to its end? */
static enum mt_step prove(struct mt_machine *m)
{
	size_t left = (size_t)(m->end - m->words), need = mt_place_words(&m->place);

	switch (m->phase) {
	case MT_WORDS:
		return left >= need + 4 ? MT_STEP : MT_STALL;
	case MT_CARRY:
		return left == need ? MT_STEP : MT_ERROR;
	case MT_OUT:
		return out(m, need);
	default:
		return MT_STEP;
	}
}

static enum mt_step run_node(struct mt_machine *m, struct mt_sink *sink)
{
	enum mt_step step;

	if (!m->proven) {
		step = mt_place_find(m->code, &m->place, m->words, m->end);
		if (step == MT_STEP)
			step = prove(m);
		if (step == MT_STEP)
			step = begin(m);
		if (step == MT_STEP)
			step = burn(m, sink);
		if (step != MT_STEP)
			return step;
		m->proven = true;
	}
	return mt_run_ops(m, sink);
}

/* What a handler does, and what it interrupted afterwards, begins a batch of its own: what came before it is something else. */
static enum mt_step switched(struct mt_machine *m, struct mt_sink *sink)
{
	const bool any = !sink->counts && sink->v != sink->first;
	enum mt_step step;

	if (any)
		m->last = sink->v[-1].insn;
	step = mt_chunk_finish(m);
	m->before = any ? m->before : m->last;
	sink->switched = any;
	return step;
}

/* MT_FULL: out of memory. */
static enum mt_step stalled(struct mt_machine *m, struct mt_sink *sink, bool there)
{
	if (m->phase == MT_WORDS)
		return mt_chunk_stall(m);
	if (m->phase == MT_INTERRUPT && !there && !mt_place_before(m, m->place.node ? m->place.node : m->at_node))
		return MT_ERROR;
	return switched(m, sink);
}

/* The interrupted node, if it is a loop: up to shortly before the iteration. */
static void approach(struct mt_machine *m, struct mt_sink *sink)
{
	const struct mt_node *node = m->place.node;
	uint64_t n, max;

	if (m->phase != MT_INTERRUPT || node != m->at_node || !node->loop || node->words)
		return;
	max = mt_loop_near(m, node->loop);
	n = max ? mt_loop_run(m, node->loop, max, NULL, sink->counts ? NULL : &sink->v, sink->end) : 0;
	if (n == UINT64_MAX)
		return;
	if (sink->counts)
		mt_loop_count(sink->counts, node, sink->stack, n);
}

/* As much as can be done without looking at each operation. */
static void run_ahead(struct mt_machine *m, struct mt_sink *sink)
{
	if (m->place.begun || m->phase == MT_CARRY)
		return;
	mt_run_fast(m, sink);
	if (m->place.node)
		approach(m, sink);
}

static enum mt_status run(struct mt_machine *m, struct mt_sink *sink)
{
	while (m->phase != MT_TAKEN && m->phase != MT_CLOSED) {
		enum mt_step step;

		run_ahead(m, sink);
		if (sink->enough && !sink->lost)
			return MT_OK;
		step = sink->lost ? MT_ERROR : run_node(m, sink);

		if (step == MT_FULL)
			return MT_OK;
		if (step == MT_STALL || step == MT_THERE) {
			step = stalled(m, sink, step == MT_THERE);
			if (sink->switched && step == MT_STEP)
				return MT_OK;
			if (step == MT_FULL) {
				m->phase = MT_CLOSED;
				return MT_MEMORY;
			}
		} else if (step == MT_STEP && m->phase == MT_CARRY) {
			mt_chunk_carried(m);
		}
		if (step == MT_ERROR) {
			m->phase = MT_CLOSED;
			return MT_BAD_STREAM;
		}
	}
	return MT_OK;
}

size_t mt_next(struct mt_machine *m, struct mt_access *v, size_t max, enum mt_status *status)
{
	struct mt_sink sink = { .first = v, .v = v, .end = v + max, .fueled = v };

	*status = m->late;
	m->late = MT_OK;
	m->before = m->last;
	if (max && *status == MT_OK)
		*status = run(m, &sink);
	if (sink.v != v) {
		if (!sink.switched)
			m->last = sink.v[-1].insn;
		m->fuel = m->limit;
		m->late = *status;
		*status = MT_OK;
	}
	return (size_t)(sink.v - v);
}

void mt_machine_repeats(struct mt_machine *m)
{
	m->repeats = true;
}

uint64_t mt_before(const struct mt_machine *m)
{
	return m->before;
}

enum mt_status mt_count(struct mt_machine *m, int stack, struct mt_counts *counts)
{
	struct mt_sink sink = { .counts = counts, .stack = stack };

	return run(m, &sink);
}
