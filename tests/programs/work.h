/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What many of these programs call, and tests wrap: a function whose calls are all made, with the
 * arguments that the source gives, whatever the compiler could find out about it.
 */
#ifndef TESTS_PROGRAMS_WORK_H
#define TESTS_PROGRAMS_WORK_H

#include "opaque.h"

#ifdef __cplusplus
extern "C"
#endif
int work(int i);

#ifndef WORK_IS_ELSEWHERE
OPAQUE int work(int i)
{
	HIDE(i);
	return 3 * i + 1;
}
#endif

#endif
