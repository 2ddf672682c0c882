/* SPDX-License-Identifier: MIT */
/* Arrays that grow, written once. */
#ifndef SONDE_BASE_ARRAY_H
#define SONDE_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * Makes room for @need items in the array @v, which has room for @room; both are lvalues, NULL and 0 at first.  What was there
 * is kept; the room at least doubles.  False: there is no memory, or @room cannot say so much, and all is as it was.
 *
 *	if (!array_room(list->v, list->room, list->n + 1))
 *		return false;
 *	list->v[list->n++] = item;
 */
#define array_room(v, room, need)							\
	({										\
		size_t array_need = (need), array_more = 2 * (size_t)(room);		\
		int array_fits = array_need <= (room);					\
		if (!array_fits) {							\
			__typeof__(v) array_v = NULL;					\
			array_more = array_more < 16 ? 16 : array_more;			\
			array_more = array_more < array_need ? array_need : array_more;	\
			if ((__typeof__(room))array_more == array_more)			\
				array_v = reallocarray((v), array_more, sizeof(*(v)));	\
			array_fits = array_v != NULL;					\
			if (array_fits) {						\
				(v) = array_v;						\
				(room) = (__typeof__(room))array_more;			\
			}								\
		}									\
		array_fits;								\
	})

/*
 * Makes room for one more item in the array @v of @n items, which has no room to spare: for lists that stay short.  @v is an
 * lvalue, NULL at first; @n stays as it is.  False: there is no memory, and all is as it was.
 */
#define array_one_more(v, n)								\
	({										\
		__typeof__(v) array_v = reallocarray((v), (size_t)(n) + 1, sizeof(*(v)));	\
		if (array_v)								\
			(v) = array_v;							\
		array_v != NULL;							\
	})

#endif
