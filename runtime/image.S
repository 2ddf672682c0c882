/* SPDX-License-Identifier: MIT */
/* The runtime as bytes inside the launcher; assembled in the top build folder. */
	.section .rodata
	.globl sonde_runtime_image
	.hidden sonde_runtime_image
	.globl sonde_runtime_image_end
	.hidden sonde_runtime_image_end
	.balign 4096
sonde_runtime_image:
	.incbin "runtime/sonde-runtime.so"
sonde_runtime_image_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits
