# SPDX-License-Identifier: GPL-3.0-or-later
# The machine: in the runtime, too. Freestanding, general registers only.
MACHINE_FILES = \
	memtrace/description.h \
	memtrace/machine/code.c \
	memtrace/machine.h \
	memtrace/machine/check.c \
	memtrace/machine/chunk.c \
	memtrace/machine/code.h \
	memtrace/machine/enter.c \
	memtrace/machine/enter.h \
	memtrace/machine/fast.c \
	memtrace/machine/fast.h \
	memtrace/machine/live.c \
	memtrace/machine/loop.c \
	memtrace/machine/loop.h \
	memtrace/machine/state.h \
	memtrace/machine/ops.c \
	memtrace/machine/place.c \
	memtrace/machine/run.c \
	memtrace/machine/stride.c \
	memtrace/shared.c \
	memtrace/shared.h
libtrampolines_la_SOURCES += $(MACHINE_FILES) \
	memtrace/heap.h \
	trampolines/memory/memory.h \
	trampolines/memory/x86-64/emit.c \
	trampolines/memory/x86-64/emit.h \
	trampolines/memory/x86-64/emit-check.c \
	trampolines/memory/x86-64/emit-gate.c \
	trampolines/memory/x86-64/emit-guess.c \
	trampolines/memory/x86-64/emit-label.c \
	trampolines/memory/x86-64/emit-node.c \
	trampolines/memory/x86-64/emit-plain.c \
	trampolines/memory/x86-64/emit-state.c \
	trampolines/memory/x86-64/emit-store.c \
	trampolines/memory/x86-64/emit-turns.c \
	trampolines/memory/x86-64/facts.c \
	trampolines/memory/x86-64/facts.h \
	trampolines/memory/x86-64/facts-access.c \
	trampolines/memory/x86-64/facts-bits.c \
	trampolines/memory/x86-64/facts-compute.c \
	trampolines/memory/x86-64/facts-flags.c \
	trampolines/memory/x86-64/facts-lanes.c \
	trampolines/memory/x86-64/facts-special.c \
	trampolines/memory/plan/plan.c \
	trampolines/memory/plan.h \
	trampolines/memory/plan/ask.c \
	trampolines/memory/plan/decide.c \
	trampolines/memory/plan/describe.c \
	trampolines/memory/plan/early.c \
	trampolines/memory/plan/edges.c \
	trampolines/memory/plan/facts.c \
	trampolines/memory/plan/headers.c \
	trampolines/memory/plan/paths.c \
	trampolines/memory/plan/unroll.c \
	trampolines/memory/plan/tails.c \
	trampolines/memory/plan/known.c \
	trampolines/memory/plan/loops.c \
	trampolines/memory/plan/nodes.c \
	trampolines/memory/plan/polls.c \
	trampolines/memory/plan/passes.h \
	trampolines/memory/plan/regs.c \
	trampolines/memory/plan/room.c \
	trampolines/memory/plan/want.c \
	trampolines/memory/plan/ways.c \
	trampolines/memory/plan/weights.c
