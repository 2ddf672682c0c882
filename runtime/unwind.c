// SPDX-License-Identifier: MIT
/*
 * Modules that the injector has mapped into a process that runs are not known to its dynamic linker, and so not to the unwinder:
 * an exception, or the end of a cancelled thread, would not get past a wrapper.  So what the unwinder asks for each frame,
 * _Unwind_Find_FDE() of libgcc, is led here.
 */
#include "base/search.h"
#include "runtime/thread.h"

/* What it fills in besides; as in libgcc's unwind-dw2-fde.h. */
struct eh_bases {
	uint64_t text, data, function;
};

const void *sonde_rt_find_fde(uint64_t pc, struct eh_bases *bases);

__attribute__((visibility("default"), used)) const void *sonde_rt_find_fde(uint64_t pc, struct eh_bases *bases)
{
	const struct rt_frames *v = (const void *)sonde_rt_config.frames;
	const void *(*real)(uint64_t, struct eh_bases *) =
		(const void *(*)(uint64_t, struct eh_bases *))sonde_rt_config.real_find_fde;
	size_t after = search_first(i, sonde_rt_config.nframes, v[i].start > pc);

	if (!after || !v[after - 1].fde)
		return real(pc, bases);
	*bases = (struct eh_bases){ .function = v[after - 1].start };
	return (const void *)v[after - 1].fde;
}
