/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The description of the streams in TSDL, as LTTng-UST 2.13 writes it: CTF 1.8, section 7.  Viewers go by the environment and the
 * names of events: a call is lttng_ust_cyg_profile:func_entry and func_exit.
 */
#include "launcher/export/ctf-private.h"
#include "launcher/common/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static const char types[] =
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := address_t;\n"
	"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := double;\n\n";

static const char streams[] =
	"typealias integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; } := uint32_clock_monotonic_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_monotonic_t;\n\n"
	"struct packet_context {\n"
	"\tuint64_clock_monotonic_t timestamp_begin;\n"
	"\tuint64_clock_monotonic_t timestamp_end;\n"
	"\tuint64_t content_size;\n"
	"\tuint64_t packet_size;\n"
	"\tuint64_t packet_seq_num;\n"
	"\tuint64_t events_discarded;\n"
	"};\n\n"
	"struct event_header_compact {\n"
	"\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
	"\tvariant <id> {\n"
	"\t\tstruct {\n"
	"\t\t\tuint32_clock_monotonic_t timestamp;\n"
	"\t\t} compact;\n"
	"\t\tstruct {\n"
	"\t\t\tuint32_t id;\n"
	"\t\t\tuint64_clock_monotonic_t timestamp;\n"
	"\t\t} extended;\n"
	"\t} v;\n"
	"} align(8);\n\n"
	"stream {\n"
	"\tid = 0;\n"
	"\tevent.header := struct event_header_compact;\n"
	"\tpacket.context := struct packet_context;\n"
	"\tevent.context := struct {\n"
	"\t\tint32_t _vpid;\n"
	"\t\tint32_t _vtid;\n"
	"\t\tstring _procname;\n"
	"\t};\n"
	"};\n\n";

#define CALL "\t\taddress_t _addr;\n\t\tenum sonde_function _func;\n"
#define CALL_END CALL "\t\tenum sonde_end _end;\n"

/* ---- events ---- */

/* A literal; control characters, which would need escape sequences that readers disagree on, are spaces. */
static void put_quoted(struct tf_buf *b, const char *s)
{
	tf_buf_byte(b, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			tf_buf_byte(b, '\\');
		tf_buf_byte(b, (unsigned char)*s < ' ' || *s == 127 ? ' ' : (uint8_t)*s);
	}
	tf_buf_byte(b, '"');
}

static void put_name(struct tf_buf *b, const char *module, const char *name)
{
	struct tf_buf whole = { 0 };

	tf_buf_str(&whole, *module ? module : "sonde");
	tf_buf_byte(&whole, ':');
	tf_buf_str(&whole, name);
	tf_buf_byte(&whole, 0);
	if (!whole.failed)
		put_quoted(b, (const char *)whole.data);
	b->failed |= whole.failed;
	tf_buf_free(&whole);
}

static const char *type_of(enum sonde_trace_type type)
{
	switch (type) {
	case SONDE_TRACE_I32:
		return "int32_t";
	case SONDE_TRACE_I64:
		return "int64_t";
	case SONDE_TRACE_U32:
		return "uint32_t";
	case SONDE_TRACE_F64:
		return "double";
	case SONDE_TRACE_PTR:
		return "address_t";
	case SONDE_TRACE_STR:
		return "string";
	default:
		return "uint64_t";
	}
}

/* Letters, digits; with a number where the name was there before, or is one that all have. */
static void put_field(struct tf_buf *b, const struct sonde_trace_site *site, size_t at)
{
	const char *name = site->fields[at].name;
	bool again = strcmp(name, "addr") == 0 || strcmp(name, "func") == 0 || strcmp(name, "end") == 0;
	char number[24];

	tf_buf_str(b, "\t\t");
	tf_buf_str(b, type_of(site->fields[at].type));
	tf_buf_str(b, " _");
	for (const char *s = name; *s; s++) {
		bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_';

		again |= !plain;
		tf_buf_byte(b, plain ? (uint8_t)*s : '_');
	}
	for (size_t i = 0; i < at && !again; i++)
		again = strcmp(site->fields[i].name, name) == 0;
	snprintf(number, sizeof(number), "_%zu", at + 1);
	tf_buf_str(b, again || !*name ? number : "");
	tf_buf_str(b, ";\n");
}

static uint32_t declare(struct export *x, struct tf_buf *text)
{
	struct ctf *c = x->private;
	uint32_t class = 0;

	tf_buf_byte(text, 0);
	if (text->failed)
		x->buf.failed = true;
	else
		class = export_text(x, &c->classes, (const char *)text->data);
	tf_buf_free(text);
	return class;
}

void ctf_declare(struct export *x)
{
	static const char *const text[] = {
		[CTF_ENTRY] = "\tname = \"lttng_ust_cyg_profile:func_entry\";\n\tloglevel = 12;\n\tfields := struct {\n" CALL,
		[CTF_EXIT] = "\tname = \"lttng_ust_cyg_profile:func_exit\";\n\tloglevel = 12;\n\tfields := struct {\n" CALL_END,
		[CTF_STATE_BEGIN] = "\tname = \"lttng_ust_statedump:start\";\n\tloglevel = 13;\n\tfields := struct {\n",
		[CTF_STATE_FILE] = "\tname = \"lttng_ust_statedump:bin_info\";\n\tloglevel = 13;\n\tfields := struct {\n"
				   "\t\taddress_t _baddr;\n\t\tuint64_t _memsz;\n\t\tstring _path;\n\t\tuint8_t _is_pic;\n"
				   "\t\tuint8_t _has_build_id;\n\t\tuint8_t _has_debug_link;\n",
		[CTF_STATE_END] = "\tname = \"lttng_ust_statedump:end\";\n\tloglevel = 13;\n\tfields := struct {\n",
	};
	struct ctf *c = x->private;

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		(void)export_text(x, &c->classes, text[i]);
}

static struct ctf_site *slot_of(const struct ctf *c, const struct sonde_trace_site *site)
{
	return &c->sites[hash_slot(i, c->sites_room, hash_word((uintptr_t)site), !c->sites[i].site || c->sites[i].site == site)];
}

uint32_t ctf_class(struct export *x, const struct sonde_trace_site *site)
{
	struct ctf *c = x->private;
	struct tf_buf text = { 0 };
	struct ctf_site *at;

	if (!hash_grow(c->sites, c->sites_room, c->nsites + 1, old, old->site, slot_of(c, old->site))) {
		x->buf.failed = true;
		return 0;
	}
	at = slot_of(c, site);
	if (at->site)
		return at->class;
	tf_buf_str(&text, "\tname = ");
	if (site->kind == SONDE_TRACE_POINT)
		put_name(&text, export_module(site), *site->name ? site->name : export_name(x, site->function));
	else
		tf_buf_str(&text, site->kind == SONDE_TRACE_ENTER ? "\"lttng_ust_cyg_profile:func_entry\"" : "\"lttng_ust_cyg_profile:func_exit\"");
	tf_buf_str(&text, ";\n\tloglevel = 12;\n\tfields := struct {\n");
	tf_buf_str(&text, site->kind == SONDE_TRACE_LEAVE ? CALL_END : CALL);
	for (size_t i = 0; i < site->nfields; i++)
		put_field(&text, site, i);
	*at = (struct ctf_site){ .site = site, .class = declare(x, &text) };
	c->nsites++;
	return at->class;
}

/* ---- the file ---- */

static void put_line(struct tf_buf *b, const char *before, const char *quoted)
{
	tf_buf_str(b, before);
	put_quoted(b, quoted);
	tf_buf_str(b, ";\n");
}

static void put_uuid(struct tf_buf *b, const uint8_t *uuid)
{
	char hex[4];

	tf_buf_str(b, "\tuuid = \"");
	for (int i = 0; i < CTF_UUID; i++) {
		snprintf(hex, sizeof(hex), "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
		tf_buf_str(b, hex);
	}
	tf_buf_str(b, "\";\n");
}

static void put_trace(struct export *x, struct tf_buf *b)
{
	const struct sonde_trace_rank *first = sonde_trace_rank(x->trace, 0);
	const struct ctf *c = x->private;
	uint64_t origin = first->start_real_ns - first->start;
	char text[200];

	tf_buf_str(b, "/* CTF 1.8 */\n\n");
	tf_buf_str(b, types);
	tf_buf_str(b, "trace {\n\tmajor = 1;\n\tminor = 8;\n");
	put_uuid(b, c->uuid);
	tf_buf_str(b, "\tbyte_order = le;\n\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n"
		      "\t\tuint32_t stream_id;\n\t\tuint64_t stream_instance_id;\n\t};\n};\n\nenv {\n");
	put_line(b, "\thostname = ", first->host);
	tf_buf_str(b, "\tdomain = \"ust\";\n\ttracer_name = \"lttng-ust\"; /* by which viewers know the events' names */\n"
		      "\ttracer_major = 2;\n\ttracer_minor = 13;\n");
	put_line(b, "\tsonde_version = ", first->version);
	put_line(b, "\tprogram = ", first->program);
	tf_buf_str(b, "};\n\nclock {\n\tname = \"monotonic\";\n");
	put_uuid(b, c->uuid);
	snprintf(text, sizeof(text), "\tdescription = \"since the start of the trace\";\n\tfreq = 1000000000;\n\toffset_s = %" PRIu64
		 ";\n\toffset = %" PRIu64 ";\n};\n\n", origin / 1000000000, origin % 1000000000);
	tf_buf_str(b, text);
	tf_buf_str(b, streams);
}

static bool flush(struct export *x, struct tf_buf *b, FILE *out)
{
	bool good = !b->failed && fwrite(b->data, 1, b->size, out) == b->size;

	x->buf.failed |= b->failed;
	tf_buf_clear(b);
	return good;
}

/* One text after the other, with what is around it and its number. */
static bool put_names(struct export *x, struct tf_buf *b, FILE *out)
{
	const struct ctf *c = x->private;
	char number[32];
	bool good = true;

	tf_buf_str(b, "enum sonde_end : uint8_t { returned, unwound, open };\n\nenum sonde_function : uint32_t {\n");
	for (size_t i = 0; i < c->names.room && good; i++) {
		const struct export_text *t = &c->names.v[i];

		if (!t->s)
			continue;
		tf_buf_byte(b, '\t');
		put_quoted(b, t->s);
		snprintf(number, sizeof(number), " = %" PRIu32 ",\n", t->number);
		tf_buf_str(b, number);
		good = flush(x, b, out);
	}
	tf_buf_str(b, "};\n\n");
	return good;
}

static bool put_classes(struct export *x, struct tf_buf *b, FILE *out)
{
	const struct ctf *c = x->private;
	char number[64];
	bool good = true;

	for (size_t i = 0; i < c->classes.room && good; i++) {
		const struct export_text *t = &c->classes.v[i];

		if (!t->s)
			continue;
		snprintf(number, sizeof(number), "event {\n\tid = %" PRIu32 ";\n\tstream_id = 0;\n", t->number);
		tf_buf_str(b, number);
		tf_buf_str(b, t->s);
		tf_buf_str(b, "\t};\n};\n\n");
		good = flush(x, b, out);
	}
	return good;
}

bool ctf_write_metadata(struct export *x)
{
	struct tf_buf b = { 0 };
	FILE *out = ctf_create(x, "metadata");
	bool good = out;

	if (!out)
		return false;
	put_trace(x, &b);
	good = put_names(x, &b, out) && put_classes(x, &b, out) && flush(x, &b, out);
	if (fclose(out) != 0 || !good) {
		msg_error("metadata: %s", strerror(x->buf.failed ? ENOMEM : errno));
		good = false;
	}
	tf_buf_free(&b);
	return good;
}
