/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: mem_avx512: gathers, scatters, masks, compressed and expanded vectors, broadcasts of AVX-512.  Exit status 77:
 * the processor has none.
 */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>

#include "work.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2")))

static float f[1024] __attribute__((aligned(64)));
static double d[1024] __attribute__((aligned(64)));
static int32_t v[1024] __attribute__((aligned(64)));
static int64_t q[1024] __attribute__((aligned(64)));
static uint8_t b[1024] __attribute__((aligned(64)));

AVX512 OPAQUE void gathers(int n)
{
	for (int i = 0; i < n; i++) {
		__m512i at = _mm512_and_si512(_mm512_loadu_si512(v + i), _mm512_set1_epi32(255));
		__m512i wide = _mm512_loadu_si512(q + i);
		__mmask16 k = _mm512_cmplt_epi32_mask(at, _mm512_set1_epi32(13 * i));

		_mm512_storeu_ps(f + 512, _mm512_mask_i32gather_ps(_mm512_setzero_ps(), k, at, f, 4));
		_mm512_storeu_pd(d + 512, _mm512_i64gather_pd(wide, d + 200, 8));
		_mm512_storeu_pd(d + 600, _mm512_mask_i32gather_pd(_mm512_setzero_pd(), (__mmask8)k,
								    _mm512_castsi512_si256(at), d, 8));
		_mm256_storeu_si256((__m256i *)(v + 800), _mm256_mmask_i32gather_epi32(
					    _mm256_setzero_si256(), (__mmask8)(k >> 3), _mm512_castsi512_si256(at), v, 4));
		_mm512_mask_i32scatter_ps(f + 600, k, at, _mm512_set1_ps((float)i), 4);
		_mm512_i64scatter_epi64(q + 700, wide, at, 8);
		_mm512_mask_i64scatter_epi32(v + 300, (__mmask8)(k >> 8), wide, _mm512_castsi512_si256(at), 4);
		_mm_mask_i64scatter_pd(d + 800, (__mmask8)(k & 3), _mm512_castsi512_si128(wide), _mm_set1_pd(i), 8);
	}
}

AVX512 OPAQUE void masks(int n)
{
	for (int i = 0; i < n; i++) {
		__mmask64 k = ((uint64_t)i * 0x9e3779b97f4a7c15) ^ (1ull << i);
		__m512i x = _mm512_maskz_loadu_epi8(k, b + i);

		_mm512_mask_storeu_epi8(b + 100 + i, k >> 5, x);
		_mm512_mask_storeu_epi16(b + 300, (__mmask32)k, x);
		_mm512_mask_storeu_epi32(v + 5 * i, (__mmask16)k, _mm512_mask_loadu_epi32(x, (__mmask16)(k >> 9), v + i));
		_mm512_mask_storeu_pd(d + i, (__mmask8)k, _mm512_maskz_loadu_pd((__mmask8)(k >> 7), d + 3 * i));
		_mm256_mask_storeu_ps(f + i, (__mmask8)k, _mm256_maskz_loadu_ps((__mmask8)(k >> 13), f + 3 * i));
		_mm512_mask_store_epi64(q, (__mmask8)k, _mm512_maskz_load_epi64((__mmask8)(k >> 20), q + 64));
		x = _mm512_mask_add_epi32(x, (__mmask16)k, x, _mm512_loadu_si512(v + i));
		_mm512_mask_storeu_epi32(v, (__mmask16)i, x);
		_mm_mask_store_ss(f + i, (__mmask8)i, _mm_maskz_load_ss((__mmask8)(i >> 1), f + 7));
		_mm_mask_store_sd(d + i, (__mmask8)(i >> 2), _mm_set_sd(i));
	}
}

AVX512 OPAQUE void packed(int n)
{
	for (int i = 0; i < n; i++) {
		__mmask16 k = (__mmask16)(i * 2377);

		_mm512_mask_compressstoreu_epi32(v + i, k, _mm512_loadu_si512(v + 100 + i));
		_mm512_storeu_ps(f + 900, _mm512_mask_expandloadu_ps(_mm512_setzero_ps(), (__mmask16)~k, f + i));
		_mm256_mask_compressstoreu_pd(d + i, (__mmask8)k, _mm256_loadu_pd(d + 100));
		_mm512_mask_compressstoreu_epi8(b + i, (__mmask64)k * 0x10003, _mm512_loadu_si512(b + 200));
	}
}

AVX512 OPAQUE double broadcasts(int n)
{
	__m512d s = _mm512_setzero_pd();
	__m512 t = _mm512_setzero_ps();

	for (int i = 0; i < n; i++) {
		s = _mm512_add_pd(_mm512_mul_pd(s, _mm512_set1_pd(d[i])), _mm512_loadu_pd(d + i));
		t = _mm512_mask_fmadd_ps(t, (__mmask16)(i * 77), _mm512_set1_ps(f[i]), _mm512_loadu_ps(f + i));
		t = _mm512_add_ps(t, _mm512_broadcast_f32x4(_mm_loadu_ps(f + 2 * i)));
		_mm512_mask_cvtepi32_storeu_epi8(b + i, (__mmask16)(i * 31), _mm512_loadu_si512(v + i));
		_mm512_mask_cvtsepi64_storeu_epi32(v + i, (__mmask8)(i * 3), _mm512_loadu_si512(q + i));
		s = _mm512_mask_cvtps_pd(s, (__mmask8)i, _mm256_loadu_ps(f + i));
	}
	return _mm512_reduce_add_pd(s) + (double)_mm512_reduce_add_ps(t);
}

int main(void)
{
	double s = 0;

	if (!__builtin_cpu_supports("avx512vbmi2") || !__builtin_cpu_supports("avx512vl"))
		return 77;
	for (int i = 0; i < 1024; i++) {
		f[i] = (float)i;
		d[i] = i * .5;
		v[i] = i * 37 % 101;
		q[i] = i * 53 % 111 - 40;
		b[i] = (uint8_t)i;
	}
	gathers(40);
	masks(40);
	packed(40);
	for (int i = 0; i < 64; i++)
		d[i] = f[i] = 1.f / (float)(i + 2);
	printf("%g\n", broadcasts(40));
	for (int i = 0; i < 1024; i++)
		s += d[i] + f[i] + v[i] + b[i] + q[i];
	printf("%g\n", s);
	return 0;
}
