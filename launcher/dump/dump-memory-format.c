/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An access in one of the formats.  Sources of the foreign ones: Valgrind's lackey/lk_main.c
 * (--trace-mem=yes); dineroIV(1), "traditional din format"; ChampSim's inc/trace_instruction.h;
 * DynamoRIO's api/samples/memtrace_simple.c.
 */
#include "launcher/dump/dump-memory.h"
#include "base/path.h"
#include "launcher/blocks/blocks.h"
#include "launcher/dump/dump.h"

#include <inttypes.h>
#include <string.h>

#include "launcher/trace/processtree.h"
#include "tracefmt/buffer.h"
#include "tracefmt/json.h"

#define NUMBERS 160 /* bytes of a line, without texts that have lengths of their own */

/* ---- figures: there are millions of them a second ---- */

static char *put_hex(char *at, uint64_t v, unsigned int least)
{
	static const char digit[] = "0123456789abcdef";
	unsigned int n = v ? (67 - (unsigned int)__builtin_clzll(v)) / 4 : 1;

	n = n < least ? least : n;
	for (unsigned int i = n; i-- > 0; v >>= 4)
		at[i] = digit[v & 15];
	return at + n;
}

/* At least @width columns, to the right. */
static char *put_decimal(char *at, uint64_t v, unsigned int width)
{
	char text[20];
	unsigned int n = 0;

	do {
		text[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	for (; width > n; width--)
		*at++ = ' ';
	while (n)
		*at++ = text[--n];
	return at;
}

static char *put_bytes(char *at, const char *text, size_t n)
{
	memcpy(at, text, n);
	return at + n;
}

/* ---- text ---- */

/* As in `sonde blocks'. */
static void put_block_id(const struct memplace *p, struct tf_buf *b)
{
	char id[48];

	if (p->object)
		snprintf(id, sizeof id, "%016" PRIx64 "-%" PRIx64 " ", blocks_hash(p->object->build_id, p->object->code), p->addr);
	else
		snprintf(id, sizeof id, "? ");
	tf_buf_str(b, id);
}

static void make_place(struct dump_memory *d, struct memplace *p, struct tf_buf *b)
{
	char number[24];

	if (d->o->blocks)
		put_block_id(p, b);
	if (p->function) {
		dump_put_name(b, p->function);
		snprintf(number, sizeof number, "+0x%" PRIx64, p->addr - p->entry);
		tf_buf_str(b, number);
	} else if (p->path) {
		dump_put_name(b, path_basename(p->path));
		snprintf(number, sizeof number, "+0x%" PRIx64, p->addr);
		tf_buf_str(b, number);
	} else {
		snprintf(number, sizeof number, "0x%" PRIx64, p->insn);
		tf_buf_str(b, number);
	}
	if (p->file && (d->o->lines || d->o->blocks)) {
		tf_buf_byte(b, ' ');
		dump_put_name(b, p->file);
		snprintf(number, sizeof number, ":%d", p->line);
		tf_buf_str(b, number);
	}
	tf_buf_byte(b, '\n');
}

static void make_json_place(struct dump_memory *d, struct memplace *p, struct tf_buf *b)
{
	if (d->o->blocks) {
		tf_buf_str(b, ",\"block\":\"");
		put_block_id(p, b);
		b->size--;
		tf_buf_str(b, "\"");
	} else {
		tf_json_hex(b, "insn", p->insn);
	}
	if (p->path) {
		tf_json_str(b, "object", p->path);
		tf_json_hex(b, "address", p->addr);
	}
	if (p->function)
		tf_json_str(b, "function", p->function);
	if (p->function)
		tf_json_uint(b, "offset", p->addr - p->entry);
	if (p->file && (d->o->lines || d->o->blocks)) {
		tf_json_str(b, "file", p->file);
		tf_json_int(b, "line", p->line);
	}
	tf_buf_str(b, "}\n");
}

/* The part of a line that is the same for all accesses of an instruction. */
static void make_text(struct dump_memory *d, struct memplace *p,
		      void (*make)(struct dump_memory *d, struct memplace *p, struct tf_buf *b))
{
	struct tf_buf b = { 0 };

	make(d, p, &b);
	if (b.failed) {
		d->failed = true;
		tf_buf_free(&b);
		return;
	}
	p->text = (char *)b.data;
	p->text_len = b.size;
}

/* By kind: "load     ", padded. */
#define KIND_LEN 9
static const char kinds[MD_KIND + 1][KIND_LEN + 1] = {
	"load     ", "store    ", "modify   ", "prefetch ", "?        ", "?        ", "?        ", "?        ",
};

#define MAX_PROGRAM 255u /* bytes of its name that are shown: what a file's name has at most */

/* Of several programs, which the thread is of; else NULL. */
static const struct sonde_trace_rank *program_of(const struct memtrace_thread *t)
{
	return process_several_programs(t->trace) ? sonde_trace_rank(t->trace, t->rank_index) : NULL;
}

static void begin_text(struct dump_memory *d, const struct memtrace_thread *t)
{
	const struct sonde_trace_rank *program = program_of(t);
	char text[MAX_PROGRAM + 1];

	if (t->rank >= 0)
		snprintf(text, sizeof text, "%d:%d.%d ", t->rank, t->about.pid, t->about.tid);
	else
		snprintf(text, sizeof text, "%d.%d ", t->about.pid, t->about.tid);
	tf_buf_clear(&d->thread);
	tf_buf_str(&d->thread, text);
	if (program) {
		snprintf(text, sizeof text, "%s", program_name(program->program));
		dump_put_name(&d->thread, text);
		tf_buf_byte(&d->thread, ' ');
	}
	d->failed |= d->thread.failed;
}

static char *put_access(char *at, const struct mt_access *a)
{
	at = put_bytes(at, kinds[a->kind & MD_KIND], KIND_LEN);
	at = put_decimal(at, a->size, 4);
	at = put_bytes(at, " 0x", 3);
	at = put_hex(at, a->addr, 12);
	return a->kind & MD_STACK ? put_bytes(at, " stack ", 7) : put_bytes(at, " ", 1);
}

static void put_text(struct dump_memory *d, const struct mt_access *a, struct memplace *place)
{
	char *at;

	if (!place->text)
		make_text(d, place, make_place);
	at = dump_memory_room(d, NUMBERS + d->thread.size + place->text_len);
	at = put_bytes(at, (const char *)d->thread.data, d->thread.size);
	if (!d->o->blocks)
		at = put_access(at, a);
	if (place->text)
		at = put_bytes(at, place->text, place->text_len);
	d->n = (size_t)(at - d->buffer);
}

static void put_text_off(struct dump_memory *d)
{
	static const char off[] = "off\n";
	char *at = dump_memory_room(d, NUMBERS + d->thread.size);

	at = put_bytes(at, (const char *)d->thread.data, d->thread.size);
	at = put_bytes(at, off, sizeof off - 1);
	d->n = (size_t)(at - d->buffer);
}

/* ---- JSON ---- */

static void begin_json(struct dump_memory *d, const struct memtrace_thread *t)
{
	const struct sonde_trace_rank *program = program_of(t);
	char text[MAX_PROGRAM + 1];

	snprintf(text, sizeof text, "\"rank\":%d,", t->rank);
	tf_buf_clear(&d->thread);
	if (t->rank >= 0)
		tf_buf_str(&d->thread, text);
	snprintf(text, sizeof text, "\"pid\":%d,\"tid\":%d", t->about.pid, t->about.tid);
	tf_buf_str(&d->thread, text);
	if (program) {
		snprintf(text, sizeof text, "%s", program_name(program->program));
		tf_json_int(&d->thread, "number", program->number);
		tf_json_str(&d->thread, "program", text);
	}
	tf_buf_byte(&d->thread, ',');
	d->failed |= d->thread.failed;
}

static char *put_json_address(char *at, const struct mt_access *a)
{
	at = put_bytes(at, ",\"addr\":\"0x", 11);
	at = put_hex(at, a->addr, 1);
	at = put_bytes(at, "\"", 1);
	return a->kind & MD_STACK ? put_bytes(at, ",\"stack\":true", 13) : at;
}

static void put_json(struct dump_memory *d, const struct mt_access *a, struct memplace *place)
{
	char *at;

	if (!place->text)
		make_text(d, place, make_json_place);
	at = dump_memory_room(d, NUMBERS + d->thread.size + place->text_len);
	at = put_bytes(at, "{\"type\":\"", 9);
	if (d->o->blocks)
		at = put_bytes(at, "block", 5);
	else
		at = put_bytes(at, kinds[a->kind & MD_KIND], strcspn(kinds[a->kind & MD_KIND], " "));
	at = put_bytes(at, "\",", 2);
	at = put_bytes(at, (const char *)d->thread.data, d->thread.size);
	at = put_bytes(at, "\"size\":", 7);
	at = put_decimal(at, a->size, 0);
	if (!d->o->blocks)
		at = put_json_address(at, a);
	if (place->text)
		at = put_bytes(at, place->text, place->text_len);
	d->n = (size_t)(at - d->buffer);
}

static void put_json_off(struct dump_memory *d)
{
	static const char off[] = "{\"type\":\"off\",";
	char *at = dump_memory_room(d, NUMBERS + d->thread.size);

	at = put_bytes(at, off, sizeof off - 1);
	at = put_bytes(at, (const char *)d->thread.data, d->thread.size - 1); /* without the comma */
	at = put_bytes(at, "}\n", 2);
	d->n = (size_t)(at - d->buffer);
}

/* ---- formats of others ---- */

/* " L addr,size": no threads, no prefetches. */
static void put_lackey(struct dump_memory *d, const struct mt_access *a, struct memplace *place)
{
	static const char letter[] = "LSM";
	unsigned int kind = a->kind & MD_KIND;
	char *at = dump_memory_room(d, NUMBERS);

	(void)place;
	if (kind > MD_MODIFY)
		return;
	*at++ = ' ';
	*at++ = letter[kind];
	*at++ = ' ';
	at = put_hex(at, a->addr, 8);
	*at++ = ',';
	at = put_decimal(at, a->size, 0);
	*at++ = '\n';
	d->n = (size_t)(at - d->buffer);
}

static char *put_label(char *at, char label, uint64_t addr)
{
	*at++ = label;
	*at++ = ' ';
	at = put_hex(at, addr, 1);
	*at++ = '\n';
	return at;
}

/* "0 addr" read, "1 addr" write; a modification is both. */
static void put_din(struct dump_memory *d, const struct mt_access *a, struct memplace *place)
{
	unsigned int kind = a->kind & MD_KIND;
	char *at = dump_memory_room(d, NUMBERS);

	(void)place;
	if (kind == MD_LOAD || kind == MD_MODIFY)
		at = put_label(at, '0', a->addr);
	if (kind == MD_STORE || kind == MD_MODIFY)
		at = put_label(at, '1', a->addr);
	d->n = (size_t)(at - d->buffer);
}

static char *put_reference(char *at, char label, const struct mt_access *a)
{
	at = put_bytes(at, "0x", 2);
	at = put_hex(at, a->addr, 16);
	at = put_bytes(at, ": ", 2);
	at = put_decimal(at, a->size, 2);
	at = put_bytes(at, ", ", 2);
	*at++ = label;
	*at++ = '\n';
	return at;
}

static void begin_memtrace(struct dump_memory *d, const struct memtrace_thread *t)
{
	static const char head[] = "Format: <data address>: <data size>, <(r)ead/(w)rite/opcode>\n";
	char *at = dump_memory_room(d, sizeof head);

	(void)t;
	d->n = (size_t)(put_bytes(at, head, sizeof head - 1) - d->buffer);
}

static void put_memtrace(struct dump_memory *d, const struct mt_access *a, struct memplace *place)
{
	unsigned int kind = a->kind & MD_KIND;
	char *at = dump_memory_room(d, NUMBERS);

	(void)place;
	if (kind == MD_LOAD || kind == MD_MODIFY)
		at = put_reference(at, 'r', a);
	if (kind == MD_STORE || kind == MD_MODIFY)
		at = put_reference(at, 'w', a);
	d->n = (size_t)(at - d->buffer);
}

/* ---- ChampSim: 64 bytes for each instruction ---- */

enum { CS_DEST_AT = 16, CS_SRC_AT = 32 };

static void put_record(struct dump_memory *d)
{
	if (!d->loads && !d->stores)
		return;
	put_bytes(dump_memory_room(d, sizeof d->record), d->record, sizeof d->record);
	d->n += sizeof d->record;
	d->loads = d->stores = 0;
}

/*
 * The accesses of an instruction are beside each other, but so are those of one that is executed
 * again: a record ends before a second load or store, or a load after a store.
 */
static void put_champsim(struct dump_memory *d, const struct mt_access *a, struct memplace *place)
{
	unsigned int kind = a->kind & MD_KIND;
	bool load = kind == MD_LOAD || kind == MD_MODIFY;
	bool store = kind == MD_STORE || kind == MD_MODIFY;

	(void)place;
	if (!load && !store)
		return;
	if (d->insn != a->insn || (load && (d->loads || d->stores)) || (store && d->stores)) {
		put_record(d);
		memset(d->record, 0, sizeof d->record);
		memcpy(d->record, &a->insn, 8);
		d->insn = a->insn;
	}
	if (load)
		memcpy(d->record + CS_SRC_AT + 8 * d->loads++, &a->addr, 8);
	if (store)
		memcpy(d->record + CS_DEST_AT + 8 * d->stores++, &a->addr, 8);
}

/* ---- */

static const struct dump_memory_format formats[] = {
	{ "text", true, true, begin_text, put_text, put_text_off, NULL },
	{ "json", true, true, begin_json, put_json, put_json_off, NULL },
	{ "lackey", false, false, NULL, put_lackey, NULL, NULL },
	{ "din", false, false, NULL, put_din, NULL, NULL },
	{ "champsim", false, false, NULL, put_champsim, NULL, put_record },
	{ "memtrace", false, false, begin_memtrace, put_memtrace, NULL, NULL },
	{ "drmemtrace", false, false, drmemtrace_begin, drmemtrace_put, drmemtrace_off, drmemtrace_end },
};

const struct dump_memory_format *dump_memory_format(const char *name)
{
	for (size_t i = 1; name && i < sizeof formats / sizeof formats[0]; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return &formats[0];
}
