// SPDX-License-Identifier: MIT
/*
 * Chunks: what each kind proves about the one before, and where the machine goes on then.
 */
#include "memtrace/machine/state.h"

enum { MAX_FRAMES = 256, FIRST_ROOM = 256 };

#define DEFAULT_LIMIT (1ull << 32)

struct mt_machine *mt_machine_new(struct mt_code *code)
{
	struct mt_machine *m = mt_alloc(code, sizeof(*m));

	if (!m)
		return NULL;
	m->code = code;
	m->engine = code->engine;
	m->phase = MT_CLOSED;
	m->limit = DEFAULT_LIMIT;
	m->fuel = m->limit;
	return m;
}

void mt_machine_limit(struct mt_machine *m, uint64_t nodes)
{
	m->limit = nodes;
	m->fuel = nodes;
}

static struct mt_frame *top(struct mt_machine *m)
{
	return m->frames;
}

static void drop(struct mt_machine *m)
{
	struct mt_frame *f = top(m);

	m->frames = f->below;
	m->nframes--;
	mt_release(m->code, f, sizeof(*f) + f->bytes);
}

/* Handlers that were left by longjmp() never come back. */
static void drop_from(struct mt_machine *m, uint32_t depth)
{
	while (top(m) && top(m)->depth >= depth)
		drop(m);
}

void mt_machine_free(struct mt_machine *m)
{
	if (!m)
		return;
	drop_from(m, 0);
	mt_release(m->code, m->carry, m->carry_room);
	mt_release(m->code, m, sizeof(*m));
}

/* ---- words between chunks ---- */

/* Puts words after those in carry. */
static bool carry(struct mt_machine *m, const uint8_t *words, size_t bytes)
{
	uint32_t room = m->carry_room ? m->carry_room : FIRST_ROOM;
	uint8_t *more;

	while (room < m->carried + bytes)
		room *= 2;
	if (room > m->carry_room) {
		more = mt_alloc(m->code, room);
		if (!more)
			return false;
		if (m->carried)
			__builtin_memcpy(more, m->carry, m->carried);
		mt_release(m->code, m->carry, m->carry_room);
		m->carry = more;
		m->carry_room = room;
	}
	if (bytes)
		__builtin_memcpy(m->carry + m->carried, words, bytes);
	m->carried += (uint32_t)bytes;
	return true;
}

/* Not NULL, to which not even 0 may be added. */
static const uint8_t no_words[1];

static void from_chunk(struct mt_machine *m)
{
	m->phase = MT_WORDS;
	m->words = m->chunk;
	m->end = m->chunk_end;
}

static void from_carry(struct mt_machine *m, enum mt_phase phase, enum mt_phase after)
{
	m->phase = phase;
	m->after = after;
	m->words = m->carry ? m->carry : no_words;
	m->end = m->words + m->carried;
}

static void from_nowhere(struct mt_machine *m)
{
	m->phase = MT_OUT;
	m->words = m->end = no_words;
}

enum mt_step mt_chunk_stall(struct mt_machine *m)
{
	m->phase = MT_TAKEN;
	return carry(m, m->words, (size_t)(m->end - m->words)) ? MT_STEP : MT_FULL;
}

void mt_chunk_carried(struct mt_machine *m)
{
	m->carried = 0;
	if (m->after == MT_WORDS)
		from_chunk(m);
	else
		from_nowhere(m);
}

/* ---- handlers ---- */

static void forget(struct mt_machine *m)
{
	__builtin_memset(m->reg, 0, sizeof(m->reg));
	m->reg[MD_FS] = m->fs;
	m->flags = (struct mt_flags){ 0 };
	m->place = (struct mt_place){ 0 };
	m->proven = false;
	m->carried = 0;
	from_chunk(m);
}

static void note_left(struct mt_machine *m)
{
	if (m->at.node)
		m->left[m->nleft++ % MT_LEFT] = (struct mt_left){ m->at.node, m->at.insn, m->at.regs[MD_RSP], m->last };
}

/* What came before the place where the program goes on: in the same node, or where a handler came in there. */
static uint64_t last_before(struct mt_machine *m)
{
	for (uint32_t op = m->place.node ? m->place.op : 0; op-- > 0;)
		if (m->place.node->ops[op].code == MD_ACCESS)
			return m->place.node->ops[op].insn;
	for (uint32_t i = m->nleft; i > 0 && m->nleft - i < MT_LEFT; i--) {
		const struct mt_left *left = &m->left[(i - 1) % MT_LEFT];

		if (left->node != m->at.node || left->insn != m->at.insn || left->sp != m->at.regs[MD_RSP])
			continue;
		m->nleft = i - 1;
		return left->last;
	}
	return 0;
}

static enum mt_step push(struct mt_machine *m)
{
	uint32_t bytes = (uint32_t)(m->end - m->words);
	struct mt_frame *f;

	drop_from(m, m->depth);
	if (m->nframes == MAX_FRAMES)
		return MT_ERROR;
	f = mt_alloc(m->code, sizeof(*f) + bytes);
	if (!f)
		return MT_FULL;
	f->below = m->frames;
	f->depth = m->depth;
	f->place = m->place;
	f->flags = m->flags;
	f->last = m->last;
	f->bytes = bytes;
	__builtin_memcpy(f->reg, m->reg, sizeof(f->reg));
	if (bytes)
		__builtin_memcpy(f->carry, m->words, bytes);
	m->frames = f;
	m->nframes++;
	note_left(m);
	m->last = 0;
	forget(m);
	return MT_STEP;
}

/* A node some of whose words are in carry goes on with those of the chunk. */
static enum mt_step complete(struct mt_machine *m)
{
	size_t more = (size_t)(m->chunk_end - m->chunk), need;
	enum mt_step step = mt_place_find(m->code, &m->place, m->carry, m->carry + m->carried);

	if (step != MT_STEP)
		return MT_ERROR;
	need = mt_place_words(&m->place);
	if (need < m->carried)
		return MT_ERROR;
	if (m->carried + more < need + 4) {	/* not proven */
		m->phase = MT_TAKEN;
		return carry(m, m->chunk, more) ? MT_STEP : MT_FULL;
	}
	need -= m->carried;
	if (!carry(m, m->chunk, need))
		return MT_FULL;
	m->chunk += need;
	from_carry(m, MT_CARRY, MT_WORDS);
	return MT_STEP;
}

static enum mt_step pop(struct mt_machine *m)
{
	struct mt_frame *f;
	bool fits;

	drop_from(m, m->depth + 1);
	f = top(m);
	if (!f || f->depth != m->depth)
		return MT_ERROR;
	__builtin_memcpy(m->reg, f->reg, sizeof(f->reg));
	m->reg[MD_FS] = m->fs;
	m->flags = f->flags;
	m->last = f->last;
	m->place = f->place;
	m->proven = false;
	m->carried = 0;
	fits = carry(m, f->carry, f->bytes);
	drop(m);
	if (!fits)
		return MT_FULL;
	if (m->carried)
		return complete(m);
	from_chunk(m);
	return MT_STEP;
}

/* What the chunk proved has been handed out. */
enum mt_step mt_chunk_finish(struct mt_machine *m)
{
	switch (m->kind) {
	case MD_CHUNK_SIGNAL:
		return push(m);
	case MD_CHUNK_RESUME:
		return pop(m);
	case MD_CHUNK_END:
		drop_from(m, 0);
		m->phase = MT_CLOSED;
		return MT_STEP;
	default:
		return MT_ERROR;
	}
}

/* ---- feeding ---- */

/* Checks the head. */
static bool open_chunk(struct mt_machine *m, const uint8_t *p, size_t bytes)
{
	bool has_place;
	struct md_chunk head;

	if (bytes < sizeof(head))
		return false;
	__builtin_memcpy(&head, p, sizeof(head));
	has_place = head.kind == MD_CHUNK_SIGNAL || head.kind == MD_CHUNK_STATE;
	if (head.head > bytes || head.head < sizeof(head) + (has_place ? sizeof(m->at) : 0) ||
	    head.head % 4 || bytes % 4)
		return false;
	if (has_place)
		__builtin_memcpy(&m->at, p + sizeof(head), sizeof(m->at));
	m->kind = head.kind;
	m->depth = head.depth;
	m->fs = head.fs;
	m->chunk = p + head.head;
	m->chunk_end = p + bytes;
	return true;
}

static enum mt_status start(struct mt_machine *m)
{
	drop_from(m, 0);
	m->fuel = m->limit;
	m->refills = 0;
	m->last = 0;
	forget(m);
	if (m->kind != MD_CHUNK_STATE)
		return MT_OK;
	if (!mt_place_state(m)) {
		m->phase = MT_CLOSED;
		return MT_BAD_STREAM;
	}
	m->last = last_before(m);
	return MT_OK;
}

/*
 * Of a thread that has ended, all is there up to the last word that is not zero.  It has come to the end of its last
 * node, so those that are missing of that are zero.
 */
static bool pad(struct mt_machine *m)
{
	static const uint8_t zeros[4];
	uint32_t need = 0;

	if (mt_place_find(m->code, &m->place, m->carry, m->carry + m->carried) == MT_STEP)
		need = mt_place_words(&m->place);
	while (m->carried < need)
		if (!carry(m, zeros, sizeof(zeros)))
			return false;
	return true;
}

/* What the chunk proves of the one before, and so what is run first.  False: it cannot come here. */
static bool begin_phase(struct mt_machine *m)
{
	switch (m->kind) {
	case MD_CHUNK_MORE:
		m->reg[MD_FS] = m->fs;
		if (m->chunk == m->chunk_end)
			return true;
		if (m->carried)
			from_carry(m, MT_CARRY, MT_WORDS);
		else
			from_chunk(m);
		return true;
	case MD_CHUNK_SIGNAL:
		if (m->at.node) {
			from_carry(m, MT_INTERRUPT, MT_OUT);
			return m->depth > 0 && mt_place_interrupt(m);
		}
		break;
	case MD_CHUNK_END:
		m->zeros = m->fs == 0 || m->fs > MT_MAX_ZEROS ? MT_MAX_ZEROS : (uint32_t)m->fs - 1;
		if (m->carried && !pad(m))
			return false;
		break;
	case MD_CHUNK_RESUME:
		break;
	default:
		return false;
	}
	if (m->carried)
		from_carry(m, MT_CARRY, MT_OUT);
	else
		from_nowhere(m);
	return m->kind == MD_CHUNK_END || m->depth > 0;
}

enum mt_status mt_feed(struct mt_machine *m, const void *chunk, size_t bytes)
{
	m->late = MT_OK;
	if (!open_chunk(m, chunk, bytes)) {
		m->phase = MT_CLOSED;
		return MT_BAD_STREAM;
	}
	if (m->kind == MD_CHUNK_START || m->kind == MD_CHUNK_STATE)
		return start(m);
	if (m->phase != MT_TAKEN || !begin_phase(m)) {
		m->phase = MT_CLOSED;
		return MT_BAD_STREAM;
	}
	return MT_OK;
}
