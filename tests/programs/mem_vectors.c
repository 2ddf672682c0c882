/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_vectors: gathers, masked moves, prefetches and other stores of AVX2, SSE2, MMX.  Exit status 77: no AVX2. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>

#include "work.h"

#define AVX2 __attribute__((target("avx2,fma")))

static float f[512] __attribute__((aligned(64)));
static double d[512] __attribute__((aligned(64)));
static int32_t v[512] __attribute__((aligned(64)));
static int64_t q[512] __attribute__((aligned(64)));

AVX2 OPAQUE float gathers(int n)
{
	__m256 s = _mm256_setzero_ps();
	__m256d t = _mm256_setzero_pd();
	__m128 u = _mm_setzero_ps();
	float out[8];

	for (int i = 0; i < n; i++) {
		__m256i at = _mm256_loadu_si256((const __m256i *)(v + i));
		__m256i wide = _mm256_loadu_si256((const __m256i *)(q + i));

		s = _mm256_add_ps(s, _mm256_i32gather_ps(f, at, 4));
		t = _mm256_add_pd(t, _mm256_i32gather_pd(d + 100, _mm256_castsi256_si128(at), 8));
		t = _mm256_add_pd(t, _mm256_i64gather_pd(d + 100, wide, 8));
		u = _mm_add_ps(u, _mm256_i64gather_ps(f + 100, wide, 4));
	}
	_mm256_storeu_ps(out, s);
	_mm256_storeu_pd((double *)(f + 400), t);
	_mm_storeu_ps(f + 300, u);
	return out[3];
}

AVX2 OPAQUE void masked_gathers(int n)
{
	__m256i s = _mm256_setzero_si256();

	for (int i = 0; i < n; i++) {
		__m256i at = _mm256_loadu_si256((const __m256i *)(v + i));
		__m256i mask = _mm256_cmpgt_epi32(at, _mm256_set1_epi32(i * 9));

		s = _mm256_mask_i32gather_epi32(s, v, at, mask, 4);
		s = _mm256_mask_i32gather_epi64(s, (const long long *)q, _mm256_castsi256_si128(at),
						_mm256_slli_epi64(mask, i), 8);
	}
	_mm256_storeu_si256((__m256i *)(v + 500), s);
}

AVX2 OPAQUE void masked_moves(int n)
{
	for (int i = 0; i < n; i++) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(v + i));
		__m256i mask = _mm256_cmpgt_epi32(x, _mm256_set1_epi32(40));

		_mm256_maskstore_epi32(v + 2 * i, mask, _mm256_maskload_epi32(v + 3 * i, mask));
		_mm256_maskstore_pd(d + i, mask, _mm256_maskload_pd(d + 2 * i, mask));
		_mm_maskstore_ps(f + i, _mm256_castsi256_si128(mask),
				 _mm_maskload_ps(f + 2 * i, _mm256_castsi256_si128(mask)));
	}
}

OPAQUE void bytes(char *to, int n)
{
	for (int i = 0; i < n; i++) {
		__m128i x = _mm_loadu_si128((const __m128i *)(v + i));
		_mm_maskmoveu_si128(x, _mm_slli_epi32(x, i), to + i);
	}
}

OPAQUE void mmx_bytes(char *to, int n)
{
	for (int i = 0; i < n; i++)
		__asm__ volatile("movq (%1), %%mm0\n\tmovq %%mm0, %%mm3\n\tpsllw $3, %%mm3\n\tmaskmovq %%mm3, %%mm0\n\temms"
				 : : "D"(to), "r"(v + i) : "memory", "mm0", "mm3");
}

OPAQUE void past(int n)
{
	for (int i = 0; i < n; i++) {
		_mm_prefetch((const char *)(v + 8 * i) + 3, _MM_HINT_T0);
		_mm_prefetch((const char *)(v + 8 * i), _MM_HINT_NTA);
		_mm_stream_si32(v + i, i);
		_mm_stream_ps(f + 4 * i, _mm_set1_ps((float)i));
		_mm_clflush(q + i);
		__builtin_prefetch(d + i, 1);
	}
	_mm_sfence();
}

AVX2 OPAQUE void halves(int n)
{
	for (int i = 0; i < n; i++) {
		__m256d x = _mm256_broadcast_sd(d + i);
		x = _mm256_insertf128_pd(x, _mm_loadu_pd(d + i + 1), 1);
		x = _mm256_fmadd_pd(x, _mm256_broadcast_pd((const __m128d *)(d + i)), _mm256_loadu_pd(d + i));
		_mm_storeu_pd(d + i, _mm256_extractf128_pd(x, 1));
		_mm_storel_pd(d + i, _mm_loadh_pd(_mm_load_sd(d + i), d + i + 3));
		v[i] = _mm_extract_epi16(_mm_cvtsi32_si128(v[i]), 1) + _mm_cvttsd_si32(_mm_load_sd(d + i)) % 3;
		*(uint8_t *)(v + i) = (uint8_t)_mm_extract_epi8(_mm_insert_epi8(_mm_setzero_si128(), v[i], 3), 3);
	}
}

int main(void)
{
	char to[64] = { 0 };
	double s = 0;

	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
		return 77;
	for (int i = 0; i < 512; i++) {
		f[i] = (float)i;
		d[i] = i * .5;
		v[i] = i * 37 % 101;
		q[i] = i * 53 % 111 - 40;
	}
	printf("%g\n", (double)gathers(40));
	masked_gathers(30);
	masked_moves(30);
	bytes(to, 30);
	mmx_bytes(to, 9);
	past(9);
	halves(20);
	for (int i = 0; i < 100; i++)
		s += d[i] + f[i] + v[i] + to[i % 64];
	printf("%g\n", s);
	return 0;
}
