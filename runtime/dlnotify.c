// SPDX-License-Identifier: MIT
/*
 * Libraries that are loaded late.  The dynamic linker calls _dl_debug_state() after it has mapped
 * or unmapped libraries and before it runs their constructors; the injector wraps it with
 * sonde_rt_dl_state().  When the list of libraries has changed, the thread asks the collector to
 * look at it.
 */
#include "runtime/mail.h"
#include "runtime/stacks/stacks.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

/* As in <link.h>; the linker's own memory. */
struct link_map_head {
	uint64_t addr;
	uint64_t name;
	uint64_t ld;
	struct link_map_head *next;
};

struct r_debug_head {
	int32_t version;
	struct link_map_head *map;
	uint64_t brk;
	int32_t state; /* 0: RT_CONSISTENT */
};

/* Differs when a library has come or gone. */
static uint64_t list_digest(const struct r_debug_head *r)
{
	uint64_t digest = 0;

	for (const struct link_map_head *m = r->map; m; m = m->next)
		digest = (digest ^ m->addr ^ (m->ld << 1)) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return digest;
}

__attribute__((visibility("default"), used)) void sonde_rt_dl_state(void)
{
	static uint64_t last;
	const struct r_debug_head *r = (const void *)sonde_rt_config.r_debug;
	void (*real)(void) = (void (*)(void))sonde_rt_config.real_dl_debug_state;

	if (r && r->state == 0) {
		uint64_t digest = list_digest(r);
		int64_t unknown = 0;

		if (digest != last) {
			last = digest;
			if (!rt_mail_ask(RING_MAIL_LIBRARIES, &unknown) || unknown)
				rt_callers_stop();
		}
	}
	real();
}
