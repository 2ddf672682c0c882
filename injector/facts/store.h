// SPDX-License-Identifier: GPL-3.0-or-later
/* Files of the cache folder are written anew, never changed. */
#ifndef SONDE_INJECTOR_FACTS_STORE_H
#define SONDE_INJECTOR_FACTS_STORE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes @name a file of @nhead and then @nrest bytes, for this user alone: who reads meanwhile has all of the old one or all of the new one.
 * By any thread; @head is this call's own.  False: it is as before, and nothing is left of the attempt.
 */
bool inj_store(const char *name, const void *head, size_t nhead, const void *rest, size_t nrest);

#endif
