// SPDX-License-Identifier: MIT
/* Memory that the runtime maps: noted, so that it can be unmapped by whoever takes the runtime out of the program. */
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

__attribute__((visibility("default"), used)) struct rt_mapped sonde_rt_mapped;

#define PROT_RW 3
#define MAP_PRIVATE_ANON 0x22
#define MAP_NORESERVE 0x4000

static void note(uint64_t addr, uint64_t bytes)
{
	uint64_t i = __atomic_fetch_add(&sonde_rt_mapped.n, 1, __ATOMIC_RELAXED);

	if (i >= RT_MAPPED)
		return;
	sonde_rt_mapped.v[i].addr = addr;
	__atomic_store_n(&sonde_rt_mapped.v[i].bytes, bytes, __ATOMIC_RELEASE);
}

uint64_t rt_map(uint64_t bytes)
{
	int64_t p = sys6(__NR_mmap, 0, bytes, PROT_RW, MAP_PRIVATE_ANON | MAP_NORESERVE, (uint64_t)-1, 0);

	if (SYS_IS_ERROR(p))
		return 0;
	note((uint64_t)p, bytes);
	return (uint64_t)p;
}

void rt_unmap(uint64_t addr, uint64_t bytes)
{
	for (uint64_t i = 0; i < sonde_rt_mapped.n && i < RT_MAPPED; i++)
		if (sonde_rt_mapped.v[i].addr == addr)
			__atomic_store_n(&sonde_rt_mapped.v[i].bytes, 0, __ATOMIC_RELEASE);
	sys2(__NR_munmap, addr, bytes);
}
