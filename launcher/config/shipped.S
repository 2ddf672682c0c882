/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The example that `sonde config example' prints. */
	.section .rodata
	.globl config_example
	.hidden config_example
	.globl config_example_end
	.hidden config_example_end
config_example:
	.incbin "launcher/config/example.yaml"
config_example_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits
