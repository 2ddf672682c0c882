/* SPDX-License-Identifier: MIT */
/*
 * The end of the unwind table: linked last.  libgcc, which is handed the table in static programs (injector/patch/frames.c),
 * stops there.
 */
	.section .eh_frame, "a", @progbits
	.balign	4
	.long	0

	.section .note.GNU-stack, "", @progbits
