/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long memory accesses are recorded (runtime/memory/mempace.c), with programs that are computed: how many units they do, and
 * how long they take for it, is known here, so what recording did cost is, too.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/memory/memory.h"

#define STEP 1000.0 /* ns of plain time */
#define PERCENT 10000

struct rt_config sonde_rt_config;
static struct ring_control control;
static struct ring_head head;
static struct rt_thread thread;

enum way { RECORDS, COUNTS, FREE };

/* A program, and what is slow in it.  Times: ns.  Phases follow upon each other, and begin again. */
struct program {
	struct {
		double length, speed; /* units a ns */
		double records; /* times plain */
	} phases[4];
	double counts;		/* times plain */
	double cold, cold_for;	/* times what it would be, right behind each switch from one copy to another */
	double beside, beside_for; /* likewise, while the collector works: so much for each ns of a burst */
};

static const struct program *program;
static double cpu, plain, switched, busy_until;
static enum way way;

uint64_t rt_cpu_clock(void)
{
	return (uint64_t)cpu;
}

int rt_mem_has_room(const struct rt_thread *t, uint32_t chunks)
{
	(void)t;
	return chunks < control.mem_nsub || cpu >= busy_until;
}

static unsigned int phase(void)
{
	double all = 0, at;
	unsigned int i = 0;

	for (unsigned int k = 0; k < 4; k++)
		all += program->phases[k].length;
	at = fmod(plain, all);
	while (i < 3 && at >= program->phases[i].length)
		at -= program->phases[i++].length;
	return i;
}

/* Goes on for a step; returns the units. */
static double step(void)
{
	unsigned int i = phase();
	double took = STEP;

	if (way == RECORDS)
		took *= program->phases[i].records;
	if (way == COUNTS)
		took *= program->counts;
	if (cpu - switched < program->cold_for)
		took *= program->cold;
	if (cpu < busy_until)
		took *= program->beside;
	cpu += took;
	plain += STEP;
	return STEP * program->phases[i].speed;
}

static void go(enum way to)
{
	switched = way == to ? switched : cpu;
	way = to;
}

static uint64_t do_units(uint64_t units)
{
	double done = 0;

	while (done < (double)units)
		done += step();
	return (uint64_t)done;
}

static void record(void)
{
	double began = cpu;

	go(RECORDS);
	thread.mem_given = (int64_t)do_units(rt_pace_on(&thread));
	if (program->beside_for > 0)
		busy_until = cpu + program->beside_for * (cpu - began);
}

static void pause_recording(void)
{
	uint64_t units = rt_pace_off(&thread, (uint64_t)thread.mem_given);

	go(COUNTS);
	do {
		double end;

		units = rt_pace_pause(&thread, do_units(units));
		if (units || thread.pace.in != RT_PAUSE_FREE)
			continue;
		go(FREE);
		for (end = cpu + (double)thread.pace.free; cpu < end;)
			(void)step();
		units = rt_pace_pause(&thread, 0);
		go(COUNTS);
	} while (units);
}

/* What it cost and what is told, in percent of plain time.  The first second is not in it: nothing is known then. */
struct outcome {
	double real, told;
};

static struct outcome run(const struct program *p, double percent, double seconds)
{
	double real, first_cpu = 0, first_plain = 0;
	struct ring_cost first = { 0 };

	memset(&thread, 0, sizeof(thread));
	memset(&head, 0, sizeof(head));
	thread.ring = &head;
	head.sample.switched = 1;
	control.sample_burst = (uint64_t)(percent * PERCENT);
	control.mem_nsub = 8;
	sonde_rt_config.control = (uint64_t)&control;
	program = p;
	cpu = plain = switched = busy_until = 0;
	while (plain < (seconds + 1) * 1e9) {
		if (plain > 1e9 && !first.cycles) {
			first_cpu = cpu;
			first_plain = plain;
			first = head.sample.cost;
		}
		record();
		pause_recording();
	}
	real = (cpu - first_cpu) / (plain - first_plain) - 1;
	return (struct outcome){
		.real = 100 * real,
		.told = 100 * (double)(head.sample.cost.cost - first.cost) / (double)(head.sample.cost.plain - first.plain),
	};
}

static void check(const struct program *p, double part)
{
	static const double percents[] = { 1, 2, 5, 10, 25 };

	for (unsigned int i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		struct outcome o = run(p, percents[i], 10);
		double most = 0.3 + part * percents[i];

		if (fabs(o.real - percents[i]) > most || fabs(o.real - o.told) > most)
			fail_msg("%g %%: it is %.2f %%, told %.2f %%", percents[i], o.real, o.told);
	}
}

static void steady(void **state)
{
	static const struct program p = { .phases = { { 1e9, 2, 3 } }, .counts = 1.1 };

	(void)state;
	check(&p, 0.03);
}

/* Where phases are about as long as what is measured, it is not known which of them a burst was in: less is recorded. */
static void phases(void **state)
{
	static const struct program p = {
		.phases = { { 3.1e6, 1, 2 }, { 1.7e6, 4, 5 }, { 0.9e6, 8, 1.5 }, { 5.3e6, 0.5, 3 } }, .counts = 1.1,
	};

	(void)state;
	check(&p, 0.3);
}

static void long_phases(void **state)
{
	static const struct program p = {
		.phases = { { 23e6, 1, 2 }, { 40e6, 4, 5 }, { 7e6, 8, 1.5 }, { 1e6, 0.5, 3 } }, .counts = 1.1,
	};

	(void)state;
	check(&p, 0.2);
}

/* Each copy has its own code, which the caches have forgotten meanwhile. */
static void cold(void **state)
{
	static const struct program p = { .phases = { { 1e9, 2, 3 } }, .counts = 1.1, .cold = 2, .cold_for = 80e3 };

	(void)state;
	check(&p, 0.05);
}

/* As long as the collector works, the program is slower. */
static void beside(void **state)
{
	static const struct program p = { .phases = { { 1e9, 2, 3 } }, .counts = 1.1, .beside = 1.4, .beside_for = 1 };

	(void)state;
	check(&p, 0.05);
}

/* Of the processor that the collector has, the thread is told: it is the whole cost here. */
static void taken(void **state)
{
	static const struct program p = { .phases = { { 1e9, 2, 1 } }, .counts = 1 };
	double share, first, began;
	uint64_t bursts = 0;

	(void)state;
	(void)run(&p, 5, 1);
	first = plain;
	for (began = 0; plain < first + 20e9; bursts++) {
		double then = plain;

		record();
		began += plain - then;
		head.sample.taken += (uint64_t)(plain - then);
		pause_recording();
	}
	share = 100 * began / (plain - first);
	/* counting is taken for cost, too */
	if (share < 3 || share > 5.5)
		fail_msg("what was taken is %.2f %% of the time in %lu bursts", share, (unsigned long)bursts);
}

/* The first bursts of a thread cost no more than a fraction of a millisecond each. */
static void begin(void **state)
{
	static const struct program p = { .phases = { { 1e9, 2, 4 } }, .counts = 1.1 };

	(void)state;
	(void)run(&p, 1, 0);
	memset(&thread.pace, 0, sizeof(thread.pace));
	cpu = plain = switched = busy_until = 0;
	while (plain < 20e6) {
		record();
		pause_recording();
	}
	if (cpu - plain > 1e6)
		fail_msg("%.0f us of 20 ms", (cpu - plain) / 1e3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steady),
		cmocka_unit_test(phases),
		cmocka_unit_test(long_phases),
		cmocka_unit_test(cold),
		cmocka_unit_test(beside),
		cmocka_unit_test(taken),
		cmocka_unit_test(begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
