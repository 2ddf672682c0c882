/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Taking records out of a sub-buffer (tracefmt/ring.h) and feeding them to an encoder.
 */
#ifndef SONDE_TRACEFMT_WRITE_DRAIN_H
#define SONDE_TRACEFMT_WRITE_DRAIN_H

#include <stdint.h>

#include "tracefmt/write/encode.h"
#include "tracefmt/write/writer.h"

/*
 * See tf_thread_drain().  @damaged: incremented for each run of words that made no sense.
 * Returns where it stopped, a byte offset, at least @pos.
 */
uint32_t tf_drain(struct tf_enc *e, const struct tf_sub *sub, uint32_t pos, uint64_t *damaged);

#endif /* SONDE_TRACEFMT_WRITE_DRAIN_H */
