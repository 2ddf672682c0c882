/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/memoryfar.h"

enum {
	LEVEL = 1,
	DENSE = 25,		/* streams of which less than one byte in so many is written are small enough */
	VAIN = 3,
	PAUSE = 256,		/* pieces, doubled each time */
	PAUSE_MAX = 1 << 20,
	EARLY = 1 << 24,	/* bytes that a stream has before it is looked at */
	WIDER = 2,		/* what has not been seen yet may come from farther */
};

static void end(struct tf_far *f, uint64_t *room)
{
	if (!f->zstd)
		return;
	ZSTD_freeCCtx(f->zstd);
	f->zstd = NULL;
	*room += UINT64_C(1) << f->log;
	f->pause = f->pause ? f->pause : PAUSE;
	f->rest = f->pause;
	if (f->pause < PAUSE_MAX)
		f->pause *= 2;
}

void tf_far_free(struct tf_far *f, uint64_t *room)
{
	end(f, room);
	tf_recur_free(&f->recur);
}

static bool set_up(ZSTD_CCtx *zstd, unsigned int log)
{
	return !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL)) &&
	       !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, (int)log)) &&
	       !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_enableLongDistanceMatching, 1));
}

static void begin(struct tf_far *f, uint64_t *room, unsigned int log, unsigned int distance)
{
	f->zstd = ZSTD_createCCtx();
	if (!f->zstd)
		return;
	f->log = log;
	f->warm = UINT64_C(1) << distance;
	f->group = 0;
	f->vain = 0;
	*room -= UINT64_C(1) << log;
	tf_recur_free(&f->recur);
	if (!set_up(f->zstd, log))
		end(f, room);
}

size_t tf_far_pack(struct tf_far *f, uint64_t *room, void *at, size_t max, const void *chunk, size_t bytes,
		   bool *start)
{
	ZSTD_outBuffer out = { .dst = at, .size = max };
	ZSTD_inBuffer in = { .src = chunk, .size = bytes };

	if (f->group >= tf_far_group(f)) {
		ZSTD_CCtx_reset(f->zstd, ZSTD_reset_session_only);
		f->group = 0;
	}
	*start = f->group == 0;
	if (ZSTD_compressStream2(f->zstd, &out, &in, ZSTD_e_flush) != 0 || in.pos != bytes) {
		end(f, room);
		return 0;
	}
	f->group += bytes;
	return out.pos;
}

void tf_far_judge(struct tf_far *f, uint64_t *room, size_t packed, size_t other)
{
	f->vain = packed > other - other / 3 ? f->vain + 1 : 0;
	if (f->vain == VAIN)
		end(f, room);
}

void tf_far_consider(struct tf_far *f, uint64_t *room, const void *chunk, size_t bytes, size_t packed)
{
	unsigned int log, wide;

	f->bytes += bytes;
	if (f->rest) {
		f->rest--;
		return;
	}
	if (f->bytes < EARLY || packed < bytes / DENSE)
		return;
	log = tf_recur_look(&f->recur, chunk, bytes);
	if (!log)
		return;
	wide = log + WIDER < TF_FAR_MAX ? log + WIDER : TF_FAR_MAX;
	while (wide > log && UINT64_C(1) << wide > *room / 2)
		wide--;
	if (UINT64_C(1) << wide <= *room)
		begin(f, room, wide, log);
}
