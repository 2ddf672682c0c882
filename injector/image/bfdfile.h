/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What uses BFD has it in common; symbols.c. */
#ifndef SONDE_INJECTOR_IMAGE_BFDFILE_H
#define SONDE_INJECTOR_IMAGE_BFDFILE_H

#include <bfd.h>
#include <stdint.h>

/* The library has state of its own: one thread at a time.  It is ready, and writes no messages, with the lock. */
void inj_bfd_lock(void);
void inj_bfd_unlock(void);

/* A symbol's size as ELF says; 0: not known, or more than its section. */
uint64_t inj_bfd_symbol_size(const asymbol *sym);

#endif
