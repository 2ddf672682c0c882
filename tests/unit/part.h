/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many of N rounds of a test with random input: sanitized, a fourth. A round takes several times as long there, and all of them
 * run in the builds that are not.
 */
#ifndef TESTS_UNIT_PART_H
#define TESTS_UNIT_PART_H

#if defined(__SANITIZE_ADDRESS__)
#define PART_OF(n) (((n) + 3) / 4)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PART_OF(n) (((n) + 3) / 4)
#endif
#endif
#ifndef PART_OF
#define PART_OF(n) (n)
#endif

#endif
