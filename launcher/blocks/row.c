/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/blocks/blocks.h"

const char *const block_classes[] = {
	[TRAMP_CLASS_BRANCH] = "branches", [TRAMP_CLASS_CALL] = "calls", [TRAMP_CLASS_RETURN] = "returns",
	[TRAMP_CLASS_INTEGER] = "integer", [TRAMP_CLASS_LOGIC] = "logic", [TRAMP_CLASS_SHIFT] = "shifts",
	[TRAMP_CLASS_MOVE] = "moves", [TRAMP_CLASS_FLOAT] = "float", [TRAMP_CLASS_VECTOR] = "vector",
	[TRAMP_CLASS_NOP] = "nops", [TRAMP_CLASS_SYSTEM] = "system",
};

const char *const block_kinds[] = {
	[MD_LOAD] = "loads", [MD_STORE] = "stores", [MD_MODIFY] = "modifications", [MD_PREFETCH] = "prefetches",
};

static const char *ends_how(const struct tramp_block *block)
{
	static const char *const how[] = {
		[TRAMP_END_FALL] = "fall", [TRAMP_END_JMP] = "jump", [TRAMP_END_JCC] = "branch",
		[TRAMP_END_CALL] = "call", [TRAMP_END_NORETURN] = "noreturn", [TRAMP_END_SWITCH] = "switch",
		[TRAMP_END_RET] = "return", [TRAMP_END_TAIL] = "tail", [TRAMP_END_TAIL_JCC] = "tail-branch",
		[TRAMP_END_TAIL_IND] = "tail-indirect", [TRAMP_END_TAIL_FALL] = "tail-fall",
		[TRAMP_END_UNSURE] = "unsure", [TRAMP_END_STOP] = "stop",
	};

	return how[block->ends];
}

static uint64_t address_of(const struct tramp_flow *flow, uint32_t block)
{
	return block == TRAMP_NONE ? 0 : tramp_code_base(flow->code) + flow->blocks[block].start;
}

static uint64_t head_of(const struct tramp_flow *flow, uint32_t loop)
{
	return loop == TRAMP_NONE ? 0 : address_of(flow, flow->loops[loop].head);
}

struct block_row block_row(const struct blocks *b, uint32_t i)
{
	const struct tramp_flow *flow = &b->a.flow;
	const struct tramp_block *block = &flow->blocks[i];
	struct block_row row = {
		.addr = address_of(flow, i), .bytes = block->end - block->start, .depth = block->loop_depth,
		.loop = head_of(flow, block->loop),
		.head = block->loop != TRAMP_NONE && flow->loops[block->loop].head == i,
		.sure = !(flow->flags & (TRAMP_FLOW_UNSURE | TRAMP_FLOW_BAD_CODE | TRAMP_FLOW_OVERLAP)),
		.ends = ends_how(block), .called = block->target_addr,
		.to = { address_of(flow, block->target), address_of(flow, block->next) },
		.facts = block_facts(flow, i),
	};

	if (block->loop != TRAMP_NONE)
		row.parent = head_of(flow, flow->loops[block->loop].parent);
	if (b->lines)
		row.file = lines_at(b->lines, row.addr, &row.line);
	return row;
}
