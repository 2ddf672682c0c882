// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/trampoline.h"

static const char *const texts[TRAMP_STATUS_COUNT] = {
	[TRAMP_OK] = "can be instrumented",
	[TRAMP_TOO_SHORT] = "shorter than a jump, and no padding follows",
	[TRAMP_ENDS_EARLY] = "its first jump or return leaves less room than a jump needs",
	[TRAMP_BRANCH_TO_START] = "a branch inside it goes back to its first instruction",
	[TRAMP_BRANCH_INTO] = "a branch goes into the instructions that a jump would replace",
	[TRAMP_ADDRESS_TAKEN] = "refers to an instruction that a jump would replace",
	[TRAMP_CALL_RETURNS] = "a call in its first bytes would return into the jump",
	[TRAMP_UNDECODABLE] = "its first bytes are not known instructions",
	[TRAMP_UNMOVABLE] = "one of its first instructions works only where it is",
	[TRAMP_LENGTH_DIFFERS] = "the processor reads its first instructions in another way",
	[TRAMP_TRUNCATED] = "less of its code can be read than a jump takes",
	[TRAMP_SIGRETURN] = "the return from signal handlers, not a function",
	[TRAMP_FAR] = "no room for code within 2 GiB of what it refers to",
	[TRAMP_NO_ROOM] = "its relocated code does not fit",
};

const char *tramp_reason_text(enum tramp_status status)
{
	if ((unsigned int)status >= TRAMP_STATUS_COUNT)
		return "unknown reason";
	return texts[status];
}
