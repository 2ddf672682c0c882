// SPDX-License-Identifier: GPL-3.0-or-later
/*
 *	lea desc(%rip), %r11
 *	jmp sonde_rt_guest_enter, or sonde_rt_guest_real
 */
#include "config.h"

#include <string.h>

#include "injector/guest/guest.h"
#include "runtime/guest/layout.h"

#define SIZE 64
#define DESC 32

static const uint8_t lea_r11[] = { 0x4c, 0x8d, 0x1d, 0, 0, 0, 0 };

static enum inj_status emit(struct inj_session *s, const struct rt_guest_desc *desc, uint64_t to, uint64_t *entry)
{
	int32_t rel = DESC - sizeof(lea_r11);
	enum inj_status status;
	uint8_t *mem;
	size_t len;

	status = inj_code_alloc(&s->code, s->target, 0, 0, SIZE, entry, &mem);
	if (status != INJ_OK)
		return status;
	memcpy(mem, lea_r11, sizeof(lea_r11));
	memcpy(mem + sizeof(lea_r11) - sizeof(rel), &rel, sizeof(rel));
	memcpy(mem + DESC, desc, sizeof(*desc));
	return tramp_emit_jump(*entry + sizeof(lea_r11), to, mem + sizeof(lea_r11), DESC - sizeof(lea_r11), &len) == TRAMP_OK ?
		       INJ_OK :
		       INJ_NO_ROOM;
}

enum inj_status inj_guest_enter(struct inj_session *s, const struct inj_wrap *w, uint64_t next, uint64_t *entry)
{
	const struct rt_guest_desc desc = { .target = w->wrapper, .next = next, .words = inj_guest_words(s, w) };

	return emit(s, &desc, s->rt_guest_enter, entry);
}

enum inj_status inj_guest_real(struct inj_session *s, const struct inj_wrap *w, uint64_t next, uint64_t *entry)
{
	const struct rt_guest_desc desc = { .target = next, .words = inj_guest_words(s, w) };

	return emit(s, &desc, s->rt_guest_real, entry);
}
