/* SPDX-License-Identifier: MIT */
#ifndef SONDE_RUNTIME_MAIL_H
#define SONDE_RUNTIME_MAIL_H

#include "tracefmt/ring.h"

/*
 * Asks the collector, and executes system calls for it until it is done; signals wait meanwhile.  0: there is nobody who
 * answers; else *result is what the collector says.
 */
int rt_mail_ask(enum ring_mail_kind kind, int64_t *result);

/* The same in parts, with signals blocked.  The mailbox is this thread's; 0: there is no collector. */
int rt_mail_take(void);
void rt_mail_give_back(void);

/* With the mailbox: function @index is called for the first time.  1: ring_mail.result is the answer. */
int rt_mail_first(uint32_t index);

#endif
