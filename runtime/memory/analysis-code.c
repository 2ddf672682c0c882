// SPDX-License-Identifier: MIT
/*
 * The descriptions of the process's code, in the form in which the machine runs them.  The injector has put them into
 * the program's memory, in a list that grows at its head; a thread that comes to use them adds what is new.
 *
 * fork() copies them.  If another thread was adding some at that moment, that is what is lost: the list of what
 * is there, and the memory that is left, are consistent at any time, and the lock is in memory that is wiped by fork.
 */
#include "runtime/memory/analysis.h"
#include "trampolines/mirror/codemap.h"

#define WAIT_MS 100
#define BLOCK (UINT64_C(1) << 20)
#define ALIGN UINT64_C(16)

static struct mt_code *code;
static uint64_t added; /* of the list: this one and those after it */

/* ---- the lock ---- */

/* The rest of the first pool's page. */
static _Atomic uint32_t *lock_word(void)
{
	return (_Atomic uint32_t *)(sonde_rt_config.pools + RT_POOL_BYTES - 64);
}

static void lock(void)
{
	_Atomic uint32_t *word = lock_word();
	uint32_t mine = (uint32_t)sys0(__NR_gettid), holder = 0;

	while (!__atomic_compare_exchange_n((uint32_t *)word, &holder, mine, 0, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		sys_futex_wait(word, holder, WAIT_MS);
		if (rt_is_there(sys0(__NR_getpid), holder))
			holder = 0;
	}
}

static void unlock(void)
{
	__atomic_store_n((uint32_t *)lock_word(), 0, __ATOMIC_RELEASE);
	sys_futex_wake(lock_word());
}

/* ---- memory ---- */

/* At its own beginning, so that whoever sees it finds it complete. */
struct block {
	uint64_t next, end; /* of what is left */
};

static struct block *current;

static void *take(uint64_t *next, uint64_t end, size_t bytes)
{
	uint64_t at = *next;

	bytes = (bytes + ALIGN - 1) & ~(ALIGN - 1);
	if (bytes > end - at)
		return NULL;
	*next = at + bytes;
	return (void *)at;
}

static struct block *new_block(void)
{
	struct block *b = (struct block *)rt_pages_get(BLOCK);

	if (b) {
		b->next = (uint64_t)b + ALIGN;
		b->end = (uint64_t)b + BLOCK;
		__atomic_store_n(&current, b, __ATOMIC_RELEASE);
	}
	return b;
}

/* For good: descriptions stay.  Zeroed since it is new. */
static void *take_for_code(size_t bytes)
{
	void *p = current ? take(&current->next, current->end, bytes) : NULL;

	if (p)
		return p;
	if (bytes >= BLOCK / 4)
		return (void *)rt_pages_get(bytes);
	return new_block() ? take(&current->next, current->end, bytes) : NULL;
}

/* For the machine, which lives as long as a chunk is analysed. */
static void *take_for_machine(struct rt_work *w, size_t bytes)
{
	void *p = take(&w->next, w->arena_end, bytes);

	return p ? __builtin_memset(p, 0, bytes) : NULL;
}

static void *alloc(void *arg, size_t bytes)
{
	struct rt_work *w = (struct rt_work *)rt_current()->mem_work;

	(void)arg;
	return w->adding ? take_for_code(bytes) : take_for_machine(w, bytes);
}

static void release(void *arg, void *p, size_t bytes)
{
	(void)arg;
	(void)p;
	(void)bytes;
}

/* ---- adding ---- */

static const struct rt_described *newest(void)
{
	const struct rt_codemaps *maps = (const struct rt_codemaps *)sonde_rt_config.codemaps;

	return (const struct rt_described *)__atomic_load_n(&maps->described, __ATOMIC_ACQUIRE);
}

/* One that contradicts itself is left out: the machine will not know its nodes. */
static int add_all(void)
{
	const struct rt_described *first = newest();
	const struct mt_allocator allocator = { .alloc = alloc, .release = release };

	if (!code)
		code = mt_code_new(&allocator);
	if (!code)
		return 0;
	for (const struct rt_described *d = first; d && (uint64_t)d != added;
	     d = (const struct rt_described *)d->next) {
		const struct md_node *nodes = (const struct md_node *)d->object.nodes;
		const struct md_op *ops = (const struct md_op *)d->object.ops;

		if (mt_code_add(code, &d->object, nodes, ops) == MT_MEMORY)
			return 0;
	}
	__atomic_store_n(&added, (uint64_t)first, __ATOMIC_RELEASE);
	return 1;
}

struct mt_code *rt_analysis_code(struct rt_work *w)
{
	int done;

	if (__atomic_load_n(&added, __ATOMIC_ACQUIRE) == (uint64_t)newest() && code)
		return code;
	lock();
	w->adding = 1;
	done = add_all();
	w->adding = 0;
	unlock();
	return done ? code : NULL;
}
