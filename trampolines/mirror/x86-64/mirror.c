// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The mirror generator's outside: from a request to a plan, from a plan to code.
 *
 * Planning goes in rounds.  What the probes need is copied; jumps are placed; for each copy that is
 * reached but has no room for a jump something more is copied, and all is placed anew.
 */
#include <stdlib.h>
#include <string.h>

#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/mirror/x86-64/plan.h"

enum {
	ROUNDS = 64,
	CHANGED_MAX = 24,	/* an instruction in other bytes, or a jump, at most this long */
	MOVED_CALL_MAX = 48 + RT_CALL_SIZE,
};

const char *tramp_mirror_text(enum tramp_mirror_status status)
{
	static const char *const texts[TRAMP_MIRROR_STATUS_COUNT] = {
		[TRAMP_MIRROR_OK] = "it can be instrumented",
		[TRAMP_MIRROR_ENTRY_SHORT] = "no room for a jump at its entry",
		[TRAMP_MIRROR_EXIT_SHORT] = "no room for a jump where it returns",
		[TRAMP_MIRROR_UNSURE] = "where an indirect jump leads is not known",
		[TRAMP_MIRROR_BAD_CODE] = "it runs into bytes that are no instruction",
		[TRAMP_MIRROR_UNMOVABLE] = "an instruction in it works only where it is",
		[TRAMP_MIRROR_SIGRETURN] = "the return from signal handlers, not a function",
		[TRAMP_MIRROR_DECODERS] = "the decoders do not agree on its instructions",
		[TRAMP_MIRROR_UNMODELLED] = "it has an instruction whose memory accesses are not known",
		[TRAMP_MIRROR_VARIES] = "how many memory accesses its instructions make is not in its code",
		[TRAMP_MIRROR_NEVER_LEAVES] = "it never returns",
		[TRAMP_MIRROR_FAR] = "its copy would be more than 2 GiB away",
		[TRAMP_MIRROR_MEMORY] = "out of memory",
	};

	return texts[status < TRAMP_MIRROR_STATUS_COUNT ? status : TRAMP_MIRROR_MEMORY];
}

struct tramp_mirror *tramp_mirror_new(const struct tramp_code *code, const struct tramp_probe_env *env,
				      struct tramp_checker *checker)
{
	struct tramp_mirror *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->code = code;
	m->env = *env;
	m->checker = checker;
	m->code_base = tramp_code_base(code);
	m->table = &m->own_table;
	m->known = &m->own_known;
	m->planner = &m->own_planner;
	return m;
}

bool tramp_mirror_share(struct tramp_mirror *m, struct tramp_mirror *emits, struct tramp_mirror *plans)
{
	m->table = emits->table;
	m->known = plans->known;
	m->planner = &plans->own_planner;
	m->checker = plans->checker;
	return tramp_flow_share(&m->flow, &plans->flow);
}

void tramp_mirror_free(struct tramp_mirror *m)
{
	if (!m)
		return;
	tramp_flow_free(&m->flow);
	free(m->blocks.v);
	free(m->pred_at.v);
	free(m->preds.v);
	free(m->windows.v);
	free(m->shorts.v);
	free(m->fixups.v);
	free(m->probes.v);
	free(m->patches.v);
	free(m->calls.v);
	free(m->pieces.v);
	tramp_counts_free(&m->counts);
	free(m->count.v);
	free(m->counters.v);
	free(m->weights.v);
	free(m->weighed.v);
	free(m->work.v);
	free(m->lengths.v);
	free(m->own_table.maps);
	free(m->own_table.hash);
	free(m->own_known.v);
	mir_mem_free(m);
	free(m);
}

static bool is_sigreturn(const struct tramp_mirror *m)
{
	size_t left = 0;
	const uint8_t *code = tramp_code_at(m->code, tramp_code_facts(m->code)->fns[m->req.fn].addr,
					    &left);

	return code && tramp_is_sigreturn(code, left);
}

/* Instructions that share bytes stay as they are. */
static void mark_rigid(struct tramp_mirror *m)
{
	uint32_t end = 0, widest = 0;

	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		const struct tramp_block *fb = mir_flow_block(m, i);

		if (fb->start < end) {
			m->blocks.v[i].flags |= MIR_RIGID;
			m->blocks.v[widest].flags |= MIR_RIGID;
		}
		if (fb->end > end) {
			end = fb->end;
			widest = i;
		}
	}
}

/* An instruction that runs into the next function, where that is known wrongly, is not ours alone. */
static void mark_crossing(struct tramp_mirror *m)
{
	uint64_t limit = 0;

	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		const struct tramp_block *fb = mir_flow_block(m, i);

		if (m->code_base + fb->start >= limit)
			limit = mir_next_function(m, m->code_base + fb->start + 1);
		if (m->code_base + fb->end > limit)
			m->blocks.v[i].flags |= MIR_RIGID;
	}
}

static bool begin(struct tramp_mirror *m)
{
	if (!mir_reserve(&m->blocks, m->flow.nblocks))
		return false;
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		const struct tramp_block *fb = mir_flow_block(m, i);
		struct mir_block *b = &m->blocks.v[i];

		memset(b, 0, sizeof(*b));
		b->lo = tramp_endbr64_size(mir_bytes(m, fb->start), fb->end - fb->start) != 0;
		b->head = b->lo;
		b->tail = TRAMP_NONE;
	}
	mark_rigid(m);
	mark_crossing(m);
	m->have_preds = false;
	m->strict = m->flow.flags & TRAMP_FLOW_UNSURE;
	m->lost = false;
	m->nexits = 0;
	m->windows.n = 0;
	m->shorts.n = 0;
	return true;
}

static enum tramp_mirror_status refusal(const struct tramp_mirror *m)
{
	if (m->strict)
		return TRAMP_MIRROR_UNSURE;
	for (size_t k = 0; k < m->shorts.n && mir_wants(m, TRAMP_MIRROR_ENTRY); k++) {
		if (m->shorts.v[k].block == m->flow.entry &&
		    m->shorts.v[k].off == mir_off(m, m->flow.entry, m->blocks.v[m->flow.entry].lo))
			return TRAMP_MIRROR_ENTRY_SHORT;
	}
	return TRAMP_MIRROR_EXIT_SHORT;
}

static bool is_left_for_good(const struct tramp_mirror *m, uint32_t i)
{
	enum tramp_end ends = mir_flow_block(m, i)->ends;

	return ends == TRAMP_END_CALL || ends == TRAMP_END_NORETURN || mir_is_exit(ends);
}

/*
 * Of a block that has nothing to record it is no matter whether the original or the copy runs.  It must not be
 * followed by one that control would then come to from the original.
 */
static bool leave_bare(struct tramp_mirror *m)
{
	bool changed = false;

	for (size_t k = 0; k < m->shorts.n && mir_wants(m, TRAMP_MIRROR_ACCESSES); k++) {
		uint32_t i = m->shorts.v[k].block;
		enum tramp_end ends = mir_flow_block(m, i)->ends;

		if ((mir_wants(m, TRAMP_MIRROR_ENTRY) && i == m->flow.entry) ||
		    (mir_wants(m, TRAMP_MIRROR_EXIT) && mir_is_exit(ends)) ||
		    (m->blocks.v[i].flags & (MIR_MOVED | MIR_BARE)) || !is_left_for_good(m, i) ||
		    ends == TRAMP_END_TAIL_JCC || !mir_mem_bare(m, i))
			continue;
		m->blocks.v[i].flags |= MIR_BARE;
		changed = true;
	}
	return changed;
}

static enum tramp_mirror_status reach_all(struct tramp_mirror *m)
{
	for (int round = 0; round < ROUNDS; round++) {
		bool changed = false;

		mir_place(m);
		if (m->shorts.n == 0 || m->lost)
			break;
		if (leave_bare(m))
			continue;
		for (size_t k = 0; k < m->shorts.n; k++)
			changed |= mir_help(m, &m->shorts.v[k]);
		if (!changed)
			break;
	}
	if (m->lost)
		return TRAMP_MIRROR_MEMORY;
	return m->shorts.n ? refusal(m) : TRAMP_MIRROR_OK;
}

static enum tramp_mirror_status plan_function(struct tramp_mirror *m)
{
	enum tramp_mirror_status status;

	if (is_sigreturn(m))
		return TRAMP_MIRROR_SIGRETURN;
	if (tramp_flow_build(&m->flow, m->code, m->req.fn) != TRAMP_CODE_OK)
		return TRAMP_MIRROR_MEMORY;
	if (m->flow.entry >= m->flow.nblocks || (m->flow.flags & TRAMP_FLOW_BAD_CODE))
		return TRAMP_MIRROR_BAD_CODE;
	if (!begin(m))
		return TRAMP_MIRROR_MEMORY;
	status = mir_wants(m, TRAMP_MIRROR_ACCESSES) ? mir_mem_plan(m) : TRAMP_MIRROR_OK;
	if (mir_wants(m, TRAMP_MIRROR_BLOCKS) && m->weighs)
		status = mir_weigh_blocks(m);
	if (status == TRAMP_MIRROR_OK && mir_wants(m, TRAMP_MIRROR_BLOCKS))
		status = mir_count_plan(m);
	if (status == TRAMP_MIRROR_OK && mir_wants(m, TRAMP_MIRROR_BLOCKS) && m->weighs)
		status = mir_weigh_counters(m);
	if (status == TRAMP_MIRROR_OK)
		status = mir_choose(m);
	if (status == TRAMP_MIRROR_OK)
		status = reach_all(m);
	if (status == TRAMP_MIRROR_OK)
		status = mir_check(m);
	if (status == TRAMP_MIRROR_OK)
		mir_look_ahead(m);
	return status;
}

/* Counters if they say how many accesses there are, and can be placed; else what records accesses. */
static enum tramp_mirror_status plan_either(struct tramp_mirror *m)
{
	enum tramp_mirror_status status;

	m->req.want &= ~(unsigned int)TRAMP_MIRROR_ACCESSES;
	status = plan_function(m);
	if (status == TRAMP_MIRROR_OK || status == TRAMP_MIRROR_UNMODELLED || status == TRAMP_MIRROR_MEMORY)
		return status;
	m->req.want ^= TRAMP_MIRROR_BLOCKS | TRAMP_MIRROR_ACCESSES;
	return plan_function(m);
}

static void count_blocks(const struct tramp_mirror *m, struct tramp_mirror_plan *plan)
{
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		const struct mir_block *b = &m->blocks.v[i];

		plan->ncopied += b->head > b->lo || mir_end_copied(b);
		plan->nretargeted += (b->flags & MIR_RETARGETED) && !mir_end_copied(b);
		plan->nmoved_calls += (b->flags & MIR_MOVED) && mir_end_copied(b);
	}
	plan->nblocks = m->flow.nblocks;
	plan->whole = plan->ncopied == plan->nblocks;
}

enum tramp_mirror_status tramp_mirror_plan(struct tramp_mirror *m, const struct tramp_mirror_request *req,
					   struct tramp_mirror_plan *plan)
{
	enum tramp_mirror_status status;

	memset(plan, 0, sizeof(*plan));
	m->req = *req;
	m->planned = false;
	m->lengths.n = 0;
	m->weighs = mir_wants(m, TRAMP_MIRROR_BLOCKS) && mir_wants(m, TRAMP_MIRROR_ACCESSES);
	status = m->weighs ? plan_either(m) : plan_function(m);
	if (status != TRAMP_MIRROR_OK)
		return status;
	m->planned = true;
	for (size_t k = 0; k < m->windows.n; k++)
		plan->nshort += m->windows.v[k].len == MIR_SHORT;
	plan->nwindows = (uint32_t)m->windows.n - plan->nshort;
	plan->nexits = m->nexits;
	count_blocks(m, plan);
	return mir_wants(m, TRAMP_MIRROR_EXIT) && m->nexits == 0 ? TRAMP_MIRROR_NEVER_LEAVES :
								    TRAMP_MIRROR_OK;
}

const struct tramp_flow *tramp_mirror_flow(const struct tramp_mirror *m)
{
	return &m->flow;
}

uint32_t tramp_mirror_counters(const struct tramp_mirror *m)
{
	return m->planned && mir_wants(m, TRAMP_MIRROR_BLOCKS) ? mir_trips_counter(m, m->counts.ntrips) + (uint32_t)m->lengths.n : 0;
}

void tramp_mirror_number(struct tramp_mirror *m, uint32_t enter, uint32_t leave, uint32_t index,
			 uint32_t node)
{
	m->req.node = node;
	m->req.enter = enter;
	m->req.leave = leave;
	m->req.index = index;
}

void tramp_mirror_values(struct tramp_mirror *m, const struct tramp_values *entered, const struct tramp_values *returned)
{
	m->req.entered = entered;
	m->req.returned = returned;
}

size_t mir_probe_room(const struct tramp_mirror *m)
{
	size_t room = tramp_probe_room(m->env.mode);

	return m->req.entered || m->req.returned ? room + TRAMP_PROBE_VALUES_MAX + TRAMP_PROBE_VALUES_SLOW_MAX : room;
}

size_t tramp_mirror_room(const struct tramp_mirror *m)
{
	size_t room = 0, probes = !mir_wants(m, TRAMP_MIRROR_ACCESSES) || mir_wants(m, TRAMP_MIRROR_ENTRY);

	if (!m->planned)
		return 0;
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		const struct mir_block *b = &m->blocks.v[i];

		if (b->head > b->lo)
			room += mir_off(m, i, b->head) - mir_off(m, i, b->lo) + CHANGED_MAX;
		if (mir_end_copied(b))
			room += mir_flow_block(m, i)->end - mir_off(m, i, b->tail) + CHANGED_MAX;
		if (b->ahead)
			room += mir_flow_block(m, i)->end - mir_flow_block(m, i)->start + CHANGED_MAX;
		if (b->flags & MIR_MOVED)
			room += MOVED_CALL_MAX;
		if (mir_is_exit(mir_flow_block(m, i)->ends)) {
			room += CHANGED_MAX;
			probes += mir_wants(m, TRAMP_MIRROR_EXIT);
		}
	}
	if (mir_wants(m, TRAMP_MIRROR_ACCESSES))
		room += mir_mem_room(m);
	if (mir_wants(m, TRAMP_MIRROR_BLOCKS))
		room += mir_count_room(m);
	return room + probes * mir_probe_room(m);
}

static enum tramp_mirror_status emitted(const struct tramp_mirror *m)
{
	if (m->lost || m->out.status == TRAMP_NO_ROOM)
		return TRAMP_MIRROR_MEMORY;
	return m->out.status == TRAMP_OK ? TRAMP_MIRROR_OK : TRAMP_MIRROR_FAR;
}

static void emit_code(struct tramp_mirror *m)
{
	if (mir_wants(m, TRAMP_MIRROR_ACCESSES)) {
		mir_mem_emit_blocks(m);
		mir_emit_slow_paths(m);
		mir_mem_emit_slow_paths(m);
	} else {
		tramp_flow_live(&m->flow);
		mir_emit_blocks(m);
		mir_emit_slow_paths(m);
	}
}

static void hand_out(const struct tramp_mirror *m, struct tramp_mirror_code *out)
{
	out->len = m->out.len;
	out->patches = m->patches.v;
	out->npatches = m->patches.n;
	out->calls = m->calls.v;
	out->ncalls = m->calls.n;
	out->pieces = m->pieces.v;
	out->npieces = m->pieces.n;
	if (mir_wants(m, TRAMP_MIRROR_ACCESSES))
		out->mems = mir_mem_pieces(m, &out->nmems);
}

enum tramp_mirror_status tramp_mirror_emit(struct tramp_mirror *m, uint64_t base, uint64_t arena,
					   uint8_t *buf, size_t room, struct tramp_mirror_code *out)
{
	memset(out, 0, sizeof(*out));
	if (!m->planned)
		return TRAMP_MIRROR_MEMORY;
	m->out = (struct tramp_out){ .buf = buf, .room = room, .addr = arena };
	m->base = base;
	m->entry_at = 0;
	m->probes.n = 0;
	m->pieces.n = 0;
	m->kept = 0;
	emit_code(m);
	if (m->out.status == TRAMP_OK && !m->lost) {
		mir_emit_patches(m);
		mir_note_calls(m);
	}
	hand_out(m, out);
	return emitted(m);
}

const struct rt_probe_map *tramp_mirror_probes(const struct tramp_mirror *m, size_t *n)
{
	*n = m->table->n;
	return m->table->maps;
}
