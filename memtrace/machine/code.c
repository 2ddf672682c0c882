// SPDX-License-Identifier: MIT
/*
 * The descriptions of a process's objects.
 */
#include "memtrace/machine/fast.h"
#include "memtrace/machine/verify.h"

struct mt_code *mt_code_new(const struct mt_allocator *allocator)
{
	struct mt_code *code = allocator->alloc(allocator->arg, sizeof(*code));

	if (code)
		code->allocator = *allocator;
	return code;
}

void mt_code_fetches(struct mt_code *code)
{
	code->fetches = true;
}

static void free_object(const struct mt_code *code, struct mt_object *object)
{
	for (uint32_t i = 0; object->nodes && i < object->nnodes; i++)
		mt_loop_free(code, &object->nodes[i]);
	mt_release(code, object->ops, object->op_bytes);
	mt_release(code, object->nodes, object->nnodes * sizeof(*object->nodes));
	mt_release(code, object, sizeof(*object));
}

void mt_code_free(struct mt_code *code)
{
	struct mt_allocator allocator;

	if (!code)
		return;
	if (code->engine)
		code->engine->free(code->engine);
	while (code->objects) {
		struct mt_object *object = code->objects;

		code->objects = object->next;
		free_object(code, object);
	}
	allocator = code->allocator;
	allocator.release(allocator.arg, code, sizeof(*code));
}

/* False: no memory. */
static bool allocate(const struct mt_code *code, struct mt_object *made, const struct md_node *nodes,
		     const struct md_op *ops)
{
	size_t room = 0;

	for (uint32_t i = 0; i < made->nnodes; i++)
		room += mt_translated_room(&nodes[i], ops);
	made->op_bytes = 3 * room * sizeof(*made->ops);	/* ops, fast, lean */
	made->nodes = mt_alloc(code, made->nnodes * sizeof(*made->nodes));
	made->ops = mt_alloc(code, made->op_bytes);
	return made->nodes && made->ops;
}

/* Likewise. */
static bool make(const struct mt_code *code, struct mt_object *made, const struct md_object *object,
		 const struct md_node *nodes, const struct md_op *ops)
{
	struct mt_op *at = made->ops;

	for (uint32_t i = 0; i < made->nnodes; i++) {
		struct mt_node *node = &made->nodes[i];

		node->id = made->first + i;
		mt_translate(made, object->base + nodes[i].start, &nodes[i], ops, at, node);
		at += node->nops + 1;
		at += mt_fast_make(node, at);
		node->compiles = mt_verify_compiled(node);
		if (!mt_loop_make(code, node))
			return false;
	}
	mt_live(made);
	return true;
}

enum mt_status mt_code_add(struct mt_code *code, const struct md_object *object,
			   const struct md_node *nodes, const struct md_op *ops)
{
	struct mt_object *made;

	if (object->nnodes == 0)
		return MT_OK;
	if (!mt_verify(code, object, nodes, ops))
		return MT_BAD_CODE;
	made = mt_alloc(code, sizeof(*made));
	if (!made)
		return MT_MEMORY;
	made->first = object->first;
	made->nnodes = object->nnodes;
	made->load = object->load;
	if (!allocate(code, made, nodes, ops) || !make(code, made, object, nodes, ops)) {
		free_object(code, made);
		return MT_MEMORY;
	}
	made->next = code->objects;
	__atomic_store_n(&code->objects, made, __ATOMIC_RELEASE);
	return MT_OK;
}
