# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_la_SOURCES += \
	trampolines/memory/memory.h \
	trampolines/memory/plan.h \
	trampolines/memory/plan/demand.c \
	trampolines/memory/plan/describe.c \
	trampolines/memory/plan/facts.c \
	trampolines/memory/plan/graph.c \
	trampolines/memory/plan/headers.c \
	trampolines/memory/plan/known.c \
	trampolines/memory/plan/nodes.c \
	trampolines/memory/plan/passes.h \
	trampolines/memory/plan/plan.c \
	trampolines/memory/plan/polls.c \
	trampolines/memory/plan/regs.c \
	trampolines/memory/plan/room.c \
	trampolines/memory/plan/stores.c \
	trampolines/memory/plan/weights.c \
	trampolines/memory/x86-64/emit-check.c \
	trampolines/memory/x86-64/emit-gate.c \
	trampolines/memory/x86-64/emit-guess.c \
	trampolines/memory/x86-64/emit-label.c \
	trampolines/memory/x86-64/emit-node.c \
	trampolines/memory/x86-64/emit-plain.c \
	trampolines/memory/x86-64/emit-state.c \
	trampolines/memory/x86-64/emit-store.c \
	trampolines/memory/x86-64/emit-unroll.c \
	trampolines/memory/x86-64/emit.c \
	trampolines/memory/x86-64/emit.h \
	trampolines/memory/x86-64/facts-access.c \
	trampolines/memory/x86-64/facts-add.c \
	trampolines/memory/x86-64/facts-bits.c \
	trampolines/memory/x86-64/facts-compute.c \
	trampolines/memory/x86-64/facts-flags.c \
	trampolines/memory/x86-64/facts-lanes.c \
	trampolines/memory/x86-64/facts-special.c \
	trampolines/memory/x86-64/facts.c \
	trampolines/memory/x86-64/facts.h
