/* SPDX-License-Identifier: MIT */
#ifndef SONDE_RUNTIME_MAIL_H
#define SONDE_RUNTIME_MAIL_H

#include "tracefmt/ring.h"

/*
 * Asks the collector, and executes system calls for it until it is done; signals wait meanwhile.  0: there is nobody who
 * answers.
 */
int rt_mail_ask(enum ring_mail_kind kind);

#endif
