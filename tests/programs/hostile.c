/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: hostile shrink | hostile scribble SECONDS
 *
 * Some threads call work(), and then wait.  Then what this process shares with its parent, the memfds called sonde-*, is cut
 * off, or its words are overwritten at random for so long; not what holds code, which this process runs.
 */
#include <fcntl.h>
#include <dirent.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracefmt/ring.h"

enum { THREADS = 3, SCRIBBLERS = 2, CALLS = 5000, SHARED = 8 };

struct shared {
	char name[64];
	int fd;
	uint64_t bytes, *words;
};

static struct shared shared[SHARED];
static int nshared;
static uint64_t ring_bytes;
static time_t end;
static char data[4096];

__attribute__((noinline)) int store(int i)
{
	data[i % sizeof(data)] += i;
	return data[(i + 1) % sizeof(data)] + i;
}

__attribute__((noinline)) int work(int i)
{
	return store(i) + 1;
}

static void *call_and_wait(void *barrier)
{
	for (volatile int i = 0; i < CALLS; i++)
		work(i);
	pthread_barrier_wait(barrier);
	for (;;)
		pause();
}

/* The first child of our parent's. */
static int recorder(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
	f = fopen(path, "r");
	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static void find_shared(void)
{
	char folder[64], path[400], name[64];
	struct dirent *entry;
	struct stat st;
	ssize_t n;
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", recorder());
	dir = opendir(folder);
	while (dir && (entry = readdir(dir)) && nshared < SHARED) {
		struct shared *s = &shared[nshared];

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		n = readlink(path, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = '\0';
		if (strncmp(name, "/memfd:sonde-", 13) != 0)
			continue;
		s->fd = open(path, O_RDWR);
		if (s->fd < 0 || fstat(s->fd, &st) != 0)
			continue;
		strcpy(s->name, name);
		s->bytes = (uint64_t)st.st_size;
		nshared++;
	}
	if (dir)
		closedir(dir);
}

/* What we have mapped, and no file of. */
static void find_mapped(void)
{
	unsigned long long from, to;
	char line[512], name[64];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps) && nshared < SHARED) {
		struct shared *s = &shared[nshared];

		if (sscanf(line, "%llx-%llx rw-s %*s %*s %*s %63s", &from, &to, name) != 3 ||
		    strncmp(name, "/memfd:sonde-compiled", 21) != 0)
			continue;
		*s = (struct shared){ .fd = -1, .bytes = to - from, .words = (uint64_t *)(uintptr_t)from };
		strcpy(s->name, name);
		nshared++;
	}
	if (maps)
		fclose(maps);
}

static void shrink(void)
{
	for (int i = 0; i < nshared; i++)
		printf("%s: %s\n", shared[i].name, ftruncate(shared[i].fd, (off_t)shared[i].bytes / 2) == 0 ? "cut off" : "stays as it is");
}

static uint64_t roll(uint64_t *dice)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 7;
	return *dice ^= *dice << 17;
}

/* Anywhere, or in what says how things are: the first pages, and of each ring. */
static uint64_t choose_word(const struct shared *s, uint64_t *dice)
{
	uint64_t at = roll(dice) % s->bytes, rings = (s->bytes - RING_FIRST) / ring_bytes;

	if (strstr(s->name, "rings") && roll(dice) % 4)
		at = RING_FIRST + roll(dice) % (rings < 2 * THREADS ? rings : 2 * THREADS) * ring_bytes + at % RING_COUNTERS_OFFSET;
	else if (roll(dice) % 4 == 0)
		at %= 4096;
	return at / 8;
}

/* Small numbers are states and sizes; others come from elsewhere. */
static uint64_t choose_value(const struct shared *s, uint64_t *dice)
{
	uint64_t v = roll(dice);

	switch (v % 8) {
	case 0: return v >> 60 | (v >> 56 & 3) << 32;
	case 1: return v >> 46 << 3;
	case 2: return s->words[(v >> 8) % (s->bytes / 8)];
	case 3: return 0;
	case 4: return (uint64_t)getpid() << 32 | (v >> 62);
	default: return v;
	}
}

static void *scribble(void *seed)
{
	uint64_t dice = (uintptr_t)seed * 0x9e3779b97f4a7c15;

	while (time(NULL) < end) {
		for (int i = 0; i < 10000; i++) {
			const struct shared *s = &shared[roll(&dice) % (uint64_t)nshared];

			s->words[choose_word(s, &dice)] = choose_value(s, &dice);
		}
		usleep(100);
	}
	return NULL;
}

/* In the end, full buffers in which nothing is a record: that is to be noticed. */
static void damage(const struct shared *s, uint32_t sub_bytes, uint32_t nsub)
{
	for (uint64_t r = 0; r < THREADS; r++) {
		struct ring_head *head = (struct ring_head *)((char *)s->words + RING_FIRST + r * ring_bytes);

		for (uint32_t i = 0; i < nsub; i++) {
			memset((char *)head + RING_PAGE + (uint64_t)i * sub_bytes, 0xff, sub_bytes);
			head->sub[i].used = sub_bytes;
			head->sub[i].ngaps = 0;
			head->sub[i].state = RING_SUB_FULL;
		}
		head->state = RING_ACTIVE;
	}
}

static void scribble_all(time_t seconds)
{
	const struct shared *rings = NULL;
	struct ring_control control;
	pthread_t thread[SCRIBBLERS];

	find_mapped();
	for (int i = 0; i < nshared; i++) {
		if (strstr(shared[i].name, "code")) {
			shared[i--] = shared[--nshared]; /* what runs here */
			continue;
		}
		if (!shared[i].words)
			shared[i].words = mmap(NULL, shared[i].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared[i].fd, 0);
		if (shared[i].words == MAP_FAILED)
			shared[i--] = shared[--nshared]; /* sealed */
	}
	for (int i = 0; i < nshared; i++)
		if (strstr(shared[i].name, "rings"))
			rings = &shared[i];
	if (!rings)
		return;
	memcpy(&control, rings->words, sizeof(control));
	ring_bytes = control.ring_bytes;
	end = time(NULL) + seconds;
	for (uintptr_t i = 0; i < SCRIBBLERS; i++)
		pthread_create(&thread[i], NULL, scribble, (void *)(i + 1));
	for (int i = 0; i < SCRIBBLERS; i++)
		pthread_join(thread[i], NULL);
	damage(rings, control.sub_bytes, control.nsub);
}

int main(int argc, char **argv)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, call_and_wait, &barrier);
	pthread_barrier_wait(&barrier);
	find_shared();
	if (argc > 1 && strcmp(argv[1], "shrink") == 0)
		shrink();
	else
		scribble_all(argc > 2 ? atoi(argv[2]) : 1);
	printf("%d shared\n", nshared);
	fflush(stdout);
	syscall(SYS_exit_group, 0);
}
