// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/mirror/subject.h"

static const struct tramp_probe_env env = {
	.mode = TRAMP_PROBE_RECORD, .id = TRAMP_ID_FS_ZERO, .ptr = 8, .room = 16, .gate = 0x10000,
};

void build(struct subject *s, const void *code, size_t size, const void *behind, size_t more)
{
	size_t padding = 0;

	memset(s, 0, sizeof(*s));
	memcpy(s->bytes, code, size);
	memcpy(s->bytes + size, behind, more);
	while (padding < more && (s->bytes[size + padding] == 0x90 || s->bytes[size + padding] == 0xcc))
		padding++;
	s->size = size;
	s->len = size + more;
	s->map = (struct tramp_bytes){ .addr = ADDRESS, .bytes = s->bytes, .len = s->len, .code = true };
	s->fns[0] = (struct tramp_fn){ ADDRESS, size, TRAMP_FN_FRAMED, TRAMP_NONE };
	s->fns[1] = (struct tramp_fn){ ADDRESS + size + padding, more - padding, TRAMP_FN_FRAMED,
				       TRAMP_NONE };
	s->facts = (struct tramp_facts){ .bytes = &s->map, .nbytes = 1, .fns = s->fns, .nfns = 2 };
	assert_int_equal(tramp_code_new(&s->facts, &s->code), TRAMP_CODE_OK);
	s->mirror = tramp_mirror_new(s->code, &env, NULL);
	assert_non_null(s->mirror);
}

void drop(struct subject *s)
{
	tramp_mirror_free(s->mirror);
	tramp_code_free(s->code);
}

enum tramp_mirror_status plan(struct subject *s, unsigned int want)
{
	struct tramp_mirror_request req = { .fn = 0, .want = want, .enter = 2, .leave = 3 };

	return tramp_mirror_plan(s->mirror, &req, &s->plan);
}

void mirror(struct subject *s, unsigned int want)
{
	struct tramp_mirror_request req = { .fn = 0, .want = want, .enter = 2, .leave = 3 };
	struct tramp_flow flow = { 0 };
	struct mirror_subject walk = { s->code, &flow, &req, ARENA, s->buf, &s->out, NULL };
	const char *wrong;
	uint64_t where;
	size_t n;

	assert_int_equal(plan(s, want), TRAMP_MIRROR_OK);
	assert_true(tramp_mirror_room(s->mirror) <= sizeof(s->buf));
	assert_int_equal(tramp_mirror_emit(s->mirror, ADDRESS, ARENA, s->buf, sizeof(s->buf), &s->out),
			 TRAMP_MIRROR_OK);
	assert_int_equal(tramp_flow_build(&flow, s->code, 0), TRAMP_CODE_OK);
	walk.probes = tramp_mirror_probes(s->mirror, &n);
	wrong = mirror_walk(&walk, &where);
	if (wrong)
		fail_msg("%s at %#lx", wrong, (unsigned long)where);
	tramp_flow_free(&flow);
}

void patch_is(const struct subject *s, size_t i, uint32_t off, uint8_t len, uint8_t first)
{
	assert_true(i < s->out.npatches);
	assert_int_equal(s->out.patches[i].off, off);
	assert_int_equal(s->out.patches[i].len, len);
	assert_int_equal(s->out.patches[i].bytes[0], first);
}
