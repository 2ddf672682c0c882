/* SPDX-License-Identifier: MIT */
/*
 * Hash tables with open addressing, written once; freestanding.  A table is an array of slots of its user's, whose number
 * is a power of two and larger than that of slots in use, best at least twice as large.  Nothing is removed.
 */
#ifndef SONDE_BASE_HASH_H
#define SONDE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Knuth's multiplicative hashing, with the good bits below as well. */
static inline uint64_t hash_word(uint64_t word)
{
	word *= UINT64_C(0x9e3779b97f4a7c15);
	return word ^ word >> 32;
}

/* Word by word. */
static inline uint64_t hash_bytes(const void *bytes, size_t n)
{
	const unsigned char *at = (const unsigned char *)bytes;
	uint64_t h = n, word = 0;

	for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word)) {
		__builtin_memcpy(&word, at, sizeof(word));
		h = hash_word(h ^ word);
	}
	for (word = 0; n; n--)
		word = word << 8 | *at++;
	return hash_word(h ^ word);
}

/* Slots for a table of @n. */
static inline size_t hash_room(size_t n)
{
	size_t room = 16;

	while (room < 2 * n)
		room *= 2;
	return room;
}

static inline size_t hash_next(size_t slot, size_t room)
{
	return (slot + 1) & (room - 1);
}

/*
 * The first slot from where @hash belongs on for which @stops, an expression with the slot's index @i, is true: it is free,
 * or holds what is looked for.  @i is a name that this declares.
 *
 *	size_t at = hash_slot(i, room, hash, !table[i].key || table[i].key == key);
 */
#define hash_slot(i, room, hash, stops)							\
	({										\
		size_t i##_room = (room), i = (size_t)(hash) & (i##_room - 1);		\
		while (!(stops))							\
			i = hash_next(i, i##_room);					\
		i;									\
	})

/*
 * Moves a table with @n slots in use, one that is to be used included, to a larger array from calloc() if it needs one.  False:
 * there is no memory, and the table is as it was.  @table and @room are lvalues, NULL and 0 at first.  Of a slot @old of the
 * old array, a name that this declares, @in_use says whether it is, and @slot is where it belongs in @table.
 *
 *	if (!hash_grow(table, room, n + 1, old, old->key, find(table, room, old->key)))
 *		return NULL;
 */
#define hash_grow(table, room, n, old, in_use, slot)					\
	({										\
		__typeof__(table) old##_first = (table), old = old##_first;		\
		size_t old##_room = (room);						\
		int old##_fits = 2 * (n) <= old##_room;					\
		if (!old##_fits) {							\
			(room) = hash_room(2 * (n));					\
			(table) = calloc((room), sizeof(*(table)));			\
			old##_fits = (table) != NULL;					\
			if (!old##_fits) {						\
				(table) = old##_first;					\
				(room) = old##_room;					\
			} else {							\
				for (; old##_room; old##_room--, old++)			\
					if (in_use)					\
						*(slot) = *old;				\
				free(old##_first);					\
			}								\
		}									\
		old##_fits;								\
	})

#endif
