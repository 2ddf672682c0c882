// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Programs see that this process has ended, however that happens, by a word in their shared memory: a robust futex, which the
 * kernel marks.  It finds the words of all recordings by a list, which has to be where programs cannot write: so each link
 * is in a page of ours before the shared one.
 *
 *	our page			shared page
 *	│	link ── next ──▶	│	collector[0]: the thread	│
 *		└──────── futex_offset ────────▶┘
 *
 * The kernel goes 2,048 links far.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/collect/collector-private.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct robust_list_head head;
static uint32_t holder; /* the thread; 0: none yet */

/* With the lock. */
static void begin(void)
{
	head.list.next = &head.list;
	head.futex_offset = RING_PAGE;
	syscall(SYS_set_robust_list, &head, sizeof(head));
	holder = (uint32_t)syscall(SYS_gettid);
}

bool collector_hold(struct collector *c)
{
	uint8_t *pages = mmap(NULL, 2 * RING_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *shared = pages + RING_PAGE;

	if (pages == MAP_FAILED)
		return false;
	if (mmap(shared, RING_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, c->fd, 0) == MAP_FAILED) {
		munmap(pages, 2 * RING_PAGE);
		return false;
	}
	c->control = shared;
	c->holder = (struct robust_list *)(void *)(pages + offsetof(struct ring_control, collector));
	pthread_mutex_lock(&lock);
	if (!holder)
		begin();
	__atomic_store_n(&c->control->collector[0], holder, __ATOMIC_RELEASE);
	c->holder->next = head.list.next;
	/* from here on the kernel finds it */
	__atomic_store_n(&head.list.next, c->holder, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	return true;
}

void collector_release(struct collector *c)
{
	if (!c->holder)
		return;
	__atomic_store_n(&c->control->collector[0], RING_FUTEX_OWNER_DIED, __ATOMIC_RELEASE);
	pthread_mutex_lock(&lock);
	for (struct robust_list *l = &head.list; l->next != &head.list; l = l->next)
		if (l->next == c->holder) {
			__atomic_store_n(&l->next, c->holder->next, __ATOMIC_RELEASE);
			break;
		}
	pthread_mutex_unlock(&lock);
	munmap((uint8_t *)c->control - RING_PAGE, 2 * RING_PAGE);
	c->holder = NULL;
	c->control = NULL;
}
