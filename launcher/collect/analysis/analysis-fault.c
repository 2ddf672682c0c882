/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules' code for memory accesses runs in our process: if it faults, that ends us, but the user learns
 * whose fault it was.  Of SIGBUS collector-fault.c has the handler.
 */
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "launcher/collect/analysis/analysis-private.h"
#include "launcher/common/message.h"

static _Thread_local const char *volatile running;

/* Returns to the fault, which then ends us. */
void analysis_fault(int sig)
{
	if (running)
		msg_error("module %s: %s in its code for memory accesses: recording ends here, the program goes on",
			  running, strsignal(sig));
}

void analysis_watch(void)
{
	static const int faults[] = { SIGSEGV, SIGILL, SIGFPE, SIGABRT };
	struct sigaction action = { .sa_handler = analysis_fault, .sa_flags = SA_RESETHAND };

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigaction(faults[i], &action, NULL);
}

void analysis_running(const char *module)
{
	running = module;
}
