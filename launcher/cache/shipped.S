/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The systems that are shipped, as text. */
	.section .rodata
	.globl cache_shipped
	.hidden cache_shipped
	.globl cache_shipped_end
	.hidden cache_shipped_end
cache_shipped:
	.incbin "analysis/cache/systems.yaml"
cache_shipped_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits
