// SPDX-License-Identifier: GPL-3.0-or-later
/* Where recording goes off and on (runtime/memory/memsample.c), by calls of what the gate calls. */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <asm/prctl.h>

#include <cmocka.h>

#include "runtime/memory/memory.h"
#include "trampolines/mirror/codemap.h"

#define NSUB 4
#define SUB_BYTES 16384
#define MEM_BYTES 65536
#define RING_BYTES (RING_PAGE + NSUB * (SUB_BYTES + MEM_BYTES))
#define HOUR UINT64_C(7200000000000) /* ticks, about */

struct rt_config sonde_rt_config = { .magic = RT_CONFIG_MAGIC };

static struct ring_control *control;
static uint64_t old_gs;

static void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static struct ring_head *ring(void)
{
	return (struct ring_head *)(void *)((uint8_t *)control + RING_FIRST);
}

static int set_up(void **state)
{
	uint8_t *pools = shared(2 * RT_POOL_BYTES);

	(void)state;
	control = shared(RING_FIRST + RING_BYTES);
	control->magic = RING_MAGIC;
	control->sub_bytes = SUB_BYTES;
	control->nsub = NSUB;
	control->ring_bytes = RING_BYTES;
	control->max_rings = 1;
	control->mem_offset = RING_PAGE + NSUB * SUB_BYTES;
	control->mem_bytes = MEM_BYTES;
	control->mem_nsub = NSUB;
	control->collector[0] = 1;
	control->sample_by = RING_SAMPLE_TIME;
	control->sample_burst = HOUR;
	control->sample_every = 2 * HOUR;
	sonde_rt_config.control = (uint64_t)control;
	sonde_rt_config.nrings = 1;
	sonde_rt_config.nobody = (uint64_t)pools;
	sonde_rt_config.pools = (uint64_t)pools + RT_POOL_BYTES;
	sonde_rt_config.npools = 1;
	sonde_rt_config.mem_slack = 1024;
	syscall(SYS_arch_prctl, ARCH_GET_GS, &old_gs);
	syscall(SYS_arch_prctl, ARCH_SET_GS, pools);
	return 0;
}

static int put_back(void **state)
{
	(void)state;
	return (int)syscall(SYS_arch_prctl, ARCH_SET_GS, old_gs);
}

/* A check without room. */
static void check(void)
{
	static struct {
		uint8_t code[RT_MEM_DESC];
		struct rt_mem_desc desc;
		uint8_t leave[64];
	} code;
	static uint64_t regs[RT_MEM_FRAME / 8 + 1];

	code.desc.reg = 0;
	rt_mem_slow(code.code, regs, (uint64_t)regs);
}

static void end_burst(void)
{
	control->sample_burst = 1;
	((struct rt_thread *)sonde_rt_config.pools)->mem_until = 0;
	check();
	control->sample_burst = HOUR;
}

/* The collector ends a pause at the moment that the control is looked at. */
static void end_pause(int sig)
{
	(void)sig;
	mprotect(control, RING_FIRST, PROT_READ | PROT_WRITE);
	*(uint64_t *)ring()->sample.off_at = 0;
}

/* Between two looks at whether recording is off: there is no burst that could be over. */
static void pause_ends_meanwhile(void **state)
{
	struct sigaction act = { .sa_handler = end_pause }, old;

	(void)state;
	check();
	assert_int_equal(ring()->sample.phase, RING_PHASE_ON);
	end_burst();
	assert_int_equal(ring()->sample.phase, RING_PHASE_OFF);
	assert_int_equal(ring()->sample.bursts, 1);
	sigaction(SIGSEGV, &act, &old);
	mprotect(control, RING_FIRST, PROT_NONE);
	check();
	sigaction(SIGSEGV, &old, NULL);
	assert_int_equal(*(uint64_t *)ring()->sample.off_at, 0);
	assert_int_equal(ring()->sample.bursts, 1);
	assert_true(ring()->sample.on_ticks < HOUR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pause_ends_meanwhile, set_up, put_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
