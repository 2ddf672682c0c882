/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which threads are switched, and what is reported of sampled memory accesses (launcher/collect/sampler.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/collect/sampler.h"

#define MS 1000000
#define HZ 2e9
#define TICKS_OF_MS 2000000

static const struct sample_times five = { .by = RING_SAMPLE_COST, .burst = 50000 };
static const struct sampler sampler = { .hz = HZ, .by = RING_SAMPLE_COST, .burst = 50000, .every = TICKS_OF_MS };
static struct ring_head head;
static struct sampled seen;

static struct sonde_trace_sampled result(uint64_t now)
{
	struct sampled_sums sums = { 0 };

	sampled_add(&sums, &sampler, &head, &seen, now);
	return sampled_result(&five, &sums);
}

/* A thread of 100 ms; the phase that is not over has lasted for 6 ms. */
static void open_phases(void **state)
{
	struct sonde_trace_sampled s;

	(void)state;
	head = (struct ring_head){
		.first_tsc = 1000,
		.sample = {
			.bursts = 3, .on_ticks = 4 * TICKS_OF_MS, .on_cpu = 3 * MS, .off_cpu = 91 * MS, .cost = MS, .packed = 2 * MS,
			.began = 1000 + 94 * TICKS_OF_MS, .then = 99 * MS, .then_at = 1000 + 94 * TICKS_OF_MS,
		},
	};
	s = result(1000 + 100 * TICKS_OF_MS);
	assert_int_equal(s.lived, 100 * TICKS_OF_MS);
	assert_int_equal(s.on, 4 * TICKS_OF_MS);
	assert_int_equal(s.cost_ns, MS);
	assert_int_equal(s.sonde_ns, 2 * MS);
	assert_int_equal(s.on_cpu_ns, 3 * MS);
	assert_int_equal(s.cpu_ns, 100 * MS);
	head.sample.phase = RING_PHASE_ON;
	s = result(1000 + 100 * TICKS_OF_MS);
	assert_int_equal(s.on, 10 * TICKS_OF_MS);
	assert_int_equal(s.on_cpu_ns, 9 * MS);
	assert_int_equal(s.cpu_ns, 100 * MS);
	head.sample.phase = RING_PHASE_OFF;
	s = result(1000 + 100 * TICKS_OF_MS);
	assert_int_equal(s.on, 4 * TICKS_OF_MS);
	assert_int_equal(s.on_cpu_ns, 3 * MS);
	assert_int_equal(s.cpu_ns, 100 * MS);
}

/* A thread that is blocked in a burst takes no CPU time, as far as was looked; later it is taken to go on so. */
static void blocked_in_a_burst(void **state)
{
	struct sonde_trace_sampled s;

	(void)state;
	head = (struct ring_head){
		.first_tsc = 1000,
		.sample = {
			.phase = RING_PHASE_ON, .on_cpu = 1 * MS, .off_cpu = 9 * MS, .began = 1000 + 10 * TICKS_OF_MS,
			.then = 20 * MS, .then_at = 1000 + 10 * TICKS_OF_MS,
		},
	};
	seen = (struct sampled){ .cpu = 21 * MS, .cpu_at = 1000 + 110 * TICKS_OF_MS };
	s = result(1000 + 130 * TICKS_OF_MS);
	assert_int_equal(s.on_cpu_ns, 1 * MS + 1 * MS + 2 * MS);
	assert_int_equal(s.cpu_ns, 13 * MS);
	seen = (struct sampled){ 0 };
}

/* One that is over before its first burst is: all of it is in that. */
static void all_in_a_burst(void **state)
{
	struct sonde_trace_sampled s;

	(void)state;
	head = (struct ring_head){
		.first_tsc = 1000,
		.sample = { .phase = RING_PHASE_ON, .began = 1000, .then = 5 * MS, .then_at = 1000 },
	};
	s = result(1000 + 3 * TICKS_OF_MS);
	assert_int_equal(s.on_cpu_ns, 3 * MS);
	assert_int_equal(s.cpu_ns, 3 * MS);
}

/* A phase cannot have begun before the thread, nor later than now. */
static void damaged_times(void **state)
{
	(void)state;
	head = (struct ring_head){ .first_tsc = 1000, .sample = { .phase = RING_PHASE_ON } };
	assert_int_equal(result(3000).on, 0);
	head.sample.began = 5000;
	assert_int_equal(result(3000).on, 0);
	head.sample.then = 1;
	head.sample.then_at = 5000;
	assert_int_equal(result(3000).on_cpu_ns, 0);
	head.sample.then_at = 500;
	assert_int_equal(result(3000).on_cpu_ns, 0);
}

/* ---- switching ---- */

#define WORD UINT64_C(0x100000000000)
#define OTHER "another program"

/* What stands at WORD, that was not 0. */
static uint64_t *map_word(void)
{
	uint64_t *word = mmap((void *)WORD, 4096, PROT_READ | PROT_WRITE, /* NOLINT: the same in both programs */
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (word == MAP_FAILED)
		_exit(2);
	*word = 1;
	return word;
}

static void say_and_wait(int to, int from)
{
	char c = 0;

	if (write(to, &c, 1) != 1 || read(from, &c, 1) != 1)
		_exit(3);
}

/* A process of the program's, with the file @fd; @executes: something else, which has memory at the same place. */
static void process(int fd, bool executes, const int to[2], const int from[2])
{
	const volatile uint64_t *word = map_word();
	char out[16], in[16];

	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		_exit(4);
	say_and_wait(to[1], from[0]);
	if (!executes)
		say_and_wait(to[1], from[0]);
	if (!executes)
		_exit(*word != 0);
	snprintf(out, sizeof(out), "%d", to[1]);
	snprintf(in, sizeof(in), "%d", from[0]);
	execl("/proc/self/exe", OTHER, out, in, NULL);
	_exit(5);
}

static int run_other(char **argv)
{
	const volatile uint64_t *word = map_word();

	say_and_wait(atoi(argv[1]), atoi(argv[2]));
	return *word != 1;
}

static void wait_for(const int fds[2])
{
	char c;

	assert_int_equal(read(fds[0], &c, 1), 1);
}

static void go_on(const int fds[2])
{
	assert_int_equal(write(fds[1], "", 1), 1);
}

static void switch_process(bool executes)
{
	struct sampled f = { 0 };
	int fd = memfd_create("rings", 0), to[2], from[2], mem, status;
	pid_t pid;

	assert_true(fd >= 0 && ftruncate(fd, 4096) == 0 && pipe(to) == 0 && pipe(from) == 0);
	pid = fork();
	if (pid == 0)
		process(fd, executes, to, from);
	wait_for(to);
	mem = sampler_open(pid, fd);
	assert_true(mem >= 0);
	go_on(from);
	wait_for(to);
	head = (struct ring_head){ .sample = { .phase = RING_PHASE_OFF, .until = 1, .off_at = WORD } };
	assert_true(sampler_visit(&sampler, &head, &f, mem) > 0);
	go_on(from);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(sampler_open(getpid(), fd), -1);
	close(mem);
	close(fd);
}

static void switches(void **state)
{
	(void)state;
	switch_process(false);
}

static void leaves_other_programs_alone(void **state)
{
	(void)state;
	switch_process(true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches),
		cmocka_unit_test(leaves_other_programs_alone),
		cmocka_unit_test(open_phases),
		cmocka_unit_test(blocked_in_a_burst),
		cmocka_unit_test(all_in_a_burst),
		cmocka_unit_test(damaged_times),
	};

	if (argc == 3 && strcmp(argv[0], OTHER) == 0)
		return run_other(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
