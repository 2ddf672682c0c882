/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a linker may change of x86-64 code for a relocation, and what is to be read from the result.  Bytes in, numbers out.
 * ABI: System V psABI for x86-64, 4.4 (relocation types), B.2 (GOTPCRELX), 11 of its TLS supplement (TLS sequences).
 */
#ifndef SONDE_INJECTOR_SIGNATURES_SIGMASK_H
#define SONDE_INJECTOR_SIGNATURES_SIGMASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injector/signatures/sigformat.h"

/*
 * Of a relocation of ELF type @type at code[at]: ref->start, len, at and kind.  A TLS sequence covers the call in it, whose own
 * relocation then lies within.  False: such a relocation is not known, or its instruction is not all in code[0..len).  @ref->len
 * is 0 when it changes nothing.
 */
bool inj_sig_mask(uint32_t type, const uint8_t *code, size_t len, uint64_t at, struct sig_ref *ref);

/*
 * The address of the symbol that linked code at address @addr, of which code[0] is the unit's first byte, has for @ref.  False: it
 * cannot be said.  *branch: the instruction is a call or a jump there.
 */
bool inj_sig_target(const struct sig_ref *ref, const uint8_t *code, uint64_t addr, uint64_t *target, bool *branch);

/* How many of the first bytes a key is of, if @fixed of them are not covered. */
uint8_t inj_sig_prefix(uint32_t fixed);
uint32_t inj_sig_key(const uint8_t *code, uint8_t prefix, uint32_t first_len);

/* What sig_unit.hash is of code[0..len); the refs ascending.  @room: len bytes to work in. */
uint64_t inj_sig_hash(const uint8_t *code, uint32_t len, const struct sig_ref *refs, size_t nrefs, uint8_t *room);

/* Is it, at @addr, an entry of a PLT: a jump through *slot, with what may come before it? */
bool inj_sig_is_plt(const uint8_t *code, uint64_t left, uint64_t addr, uint64_t *slot);

#endif
