/* SPDX-License-Identifier: MIT */
/* Are windows of this process written in and taken out, and how are they now (enum rt_windows)? */
#ifndef SONDE_RUNTIME_WINDOWS_H
#define SONDE_RUNTIME_WINDOWS_H

#include "runtime/thread.h"

RT_HIDDEN int rt_windows_are_switched(void);
RT_HIDDEN int rt_windows_are_in(void);
/* Whoever has stopped all threads has this one run something for it: it must wait for nobody. */
RT_HIDDEN int rt_windows_are_moving(void);

#endif
