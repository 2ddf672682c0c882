// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Mirrors the functions in arbitrary bytes and walks through each in step with the original; no byte is
 * patched by two functions.
 *
 * Input: what is wanted (1 byte), flags of the functions (1 byte), sizes of four functions (4 bytes), how far
 * the arena is (1 byte), code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/mirror/walk.h"

enum { HEADER = 7, INPUT_MAX = 2048, FUNCTIONS = 4 };

#define ADDRESS 0x7f1234501000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	struct tramp_bytes bytes;
	struct tramp_fn fns[FUNCTIONS];
	struct tramp_facts facts;
	uint8_t patched[INPUT_MAX];
};

static void die(const char *what, uint64_t where)
{
	fprintf(stderr, "%s at %#llx\n", what, (unsigned long long)where);
	abort();
}

static void cut(struct input *in, const uint8_t *data, uint8_t *code, size_t size)
{
	size_t at = 0;

	in->bytes = (struct tramp_bytes){ .addr = ADDRESS, .bytes = code, .len = size, .code = true };
	for (int i = 0; i < FUNCTIONS && at < size; i++) {
		size_t len = data[2 + i] + 1u;

		if (i == FUNCTIONS - 1 || len > size - at)
			len = size - at;
		in->fns[in->facts.nfns++] = (struct tramp_fn){
			.addr = ADDRESS + at, .size = len, .parent = TRAMP_NONE,
			.flags = data[1] & (TRAMP_FN_FRAMED | TRAMP_FN_FOREIGN | TRAMP_FN_MAYBE_PART),
		};
		at += len;
		while (at < size && code[at] == 0x90)	/* padding */
			at++;
	}
	in->facts.bytes = &in->bytes;
	in->facts.nbytes = 1;
	in->facts.fns = in->fns;
}

static void note_patches(struct input *in, const struct tramp_mirror_code *code)
{
	for (size_t i = 0; i < code->npatches; i++) {
		const struct tramp_patch *p = &code->patches[i];

		if (p->off + p->len > in->bytes.len)
			die("a patch behind the code", p->off);
		for (uint32_t k = 0; k < p->len; k++) {
			if (in->patched[p->off + k]++)
				die("patched twice", p->off + k);
		}
	}
}

static void mirror(struct input *in, struct tramp_mirror *m, struct tramp_flow *flow, uint32_t fn,
		   const uint8_t *data)
{
	const struct tramp_code *code = flow->code;
	uint64_t base = tramp_code_base(code), arena = base + 0x100000 + ((uint64_t)data[6] << 20) * 16;
	struct tramp_mirror_request req = { .fn = fn, .want = data[0] & 7u, .enter = 2, .leave = 3 };
	struct tramp_mirror_code out;
	struct tramp_mirror_plan plan;
	enum tramp_mirror_status status = tramp_mirror_plan(m, &req, &plan);
	struct mirror_subject subject = { code, flow, &req, arena, NULL, &out, NULL };
	size_t room = tramp_mirror_room(m), nprobes;
	const char *wrong;
	uint64_t where;
	uint8_t *buf;

	if (status != TRAMP_MIRROR_OK && status != TRAMP_MIRROR_NEVER_LEAVES)
		return;
	subject.buf = buf = malloc(room);
	if (!buf || tramp_flow_build(flow, code, fn) != TRAMP_CODE_OK)
		exit(99);
	status = tramp_mirror_emit(m, base, arena, buf, room, &out);
	if (status == TRAMP_MIRROR_OK) {
		subject.probes = tramp_mirror_probes(m, &nprobes);
		note_patches(in, &out);
		wrong = mirror_walk(&subject, &where);
		if (wrong)
			die(wrong, where);
	} else if (status != TRAMP_MIRROR_FAR) {
		die("emission failed", fn);
	}
	free(buf);
}

static void mirror_all(struct input *in, const uint8_t *data)
{
	static const struct tramp_probe_env env = {
		.mode = TRAMP_PROBE_RECORD, .id = TRAMP_ID_FS_ZERO, .ptr = 8, .room = 16, .gate = 1,
	};
	struct tramp_flow flow = { 0 };
	struct tramp_mirror *m;
	struct tramp_code *code;

	if (tramp_code_new(&in->facts, &code) != TRAMP_CODE_OK)
		return;
	m = tramp_mirror_new(code, &env, NULL);
	if (!m)
		exit(99);
	for (uint32_t fn = 0; fn < in->facts.nfns; fn++) {
		flow.code = code;
		if (tramp_code_function(code, in->fns[fn].addr) == fn)
			mirror(in, m, &flow, fn, data);
	}
	tramp_mirror_free(m);
	tramp_flow_free(&flow);
	tramp_code_free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct input in;
	uint8_t *code;

	if (size <= HEADER || size > INPUT_MAX)
		return 0;
	code = malloc(size - HEADER);	/* its end is guarded when sanitized */
	if (!code)
		return 0;
	memset(&in, 0, sizeof(in));
	memcpy(code, data + HEADER, size - HEADER);
	cut(&in, data, code, size - HEADER);
	mirror_all(&in, data);
	free(code);
	return 0;
}
