/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions and values of which the compiler can find out nothing. */
#ifndef TESTS_PROGRAMS_OPAQUE_H
#define TESTS_PROGRAMS_OPAQUE_H

#if defined(__has_attribute) && __has_attribute(noipa)
#define OPAQUE __attribute__((noipa))
#else
#define OPAQUE __attribute__((noinline))
#endif

/* To the compiler @v may be anything after this. */
#define HIDE(v) __asm__ volatile("" : "+r"(v) : : "memory")

#endif
