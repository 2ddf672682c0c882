// SPDX-License-Identifier: MIT
/*
 * The descriptions of a process's objects.
 */
#include "memtrace/machine/fast.h"

struct mt_code *mt_code_new(const struct mt_allocator *allocator)
{
	struct mt_code *code = allocator->alloc(allocator->arg, sizeof(*code));

	if (code)
		code->allocator = *allocator;
	return code;
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

const struct mt_node *mt_find(const struct mt_code *code, uint32_t id)
{
	const struct mt_object *object = __atomic_load_n(&code->objects, __ATOMIC_ACQUIRE);

	for (; object; object = object->next) {
		if (id - object->first < object->nnodes)
			return &object->nodes[id - object->first];
	}
	return NULL;
}

static bool ids_free(const struct mt_code *code, const struct md_object *object)
{
	uint64_t first = object->first, end = first + object->nnodes;

	if (first == 0 || end - 1 > UINT32_MAX)
		return false;
	for (const struct mt_object *o = code->objects; o; o = o->next) {
		if (first < (uint64_t)o->first + o->nnodes && o->first < end)
			return false;
	}
	return true;
}

/* Are all operations possible, and none in two nodes?  Then there is room for all in proportion. */
static bool count_room(const struct md_object *object, const struct md_node *nodes,
		       const struct md_op *ops, size_t *room)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < object->nops; i++) {
		if (!mt_op_valid(&ops[i]))
			return false;
	}
	for (uint32_t i = 0; i < object->nnodes; i++) {
		if (!nodes[i].nops || (uint64_t)nodes[i].op + nodes[i].nops > object->nops)
			return false;
		used += nodes[i].nops;
		if (used > object->nops)
			return false;
		*room += mt_node_room(&nodes[i], ops);
	}
	return true;
}

/* What is looked for in the stream has to be there. */
static bool has_headers(const struct mt_object *made)
{
	for (uint32_t i = 0; i < made->nnodes; i++) {
		if (made->nodes[i].peeks && !mt_end(&made->nodes[i])->target->header)
			return false;
	}
	return true;
}

static bool make(struct mt_object *made, const struct md_object *object, const struct md_node *nodes,
		 const struct md_op *ops)
{
	struct mt_op *at = made->ops;

	for (uint32_t i = 0; i < object->nnodes; i++) {
		struct mt_node *node = &made->nodes[i];

		node->id = object->first + i;
		if (!mt_node_make(made, object->base + nodes[i].start, &nodes[i], ops, at, node))
			return false;
		at += node->nops + 1;
		at += mt_fast_make(node, at);
	}
	return has_headers(made);
}

enum mt_status mt_code_add(struct mt_code *code, const struct md_object *object,
			   const struct md_node *nodes, const struct md_op *ops)
{
	struct mt_object *made;
	size_t room = 0;

	if (object->nnodes == 0)
		return MT_OK;
	if (!ids_free(code, object) || !count_room(object, nodes, ops, &room))
		return MT_BAD_CODE;
	made = mt_alloc(code, sizeof(*made));
	if (!made)
		return MT_MEMORY;
	made->first = object->first;
	made->nnodes = object->nnodes;
	made->load = object->load;
	made->op_bytes = 3 * room * sizeof(*made->ops);	/* ops, fast, lean */
	made->nodes = mt_alloc(code, made->nnodes * sizeof(*made->nodes));
	made->ops = mt_alloc(code, made->op_bytes);
	if (!made->nodes || !made->ops || !make(made, object, nodes, ops)) {
		bool memory = !made->nodes || !made->ops;

		free_object(code, made);
		return memory ? MT_MEMORY : MT_BAD_CODE;
	}
	for (uint32_t i = 0; i < made->nnodes; i++) {
		if (!mt_loop_make(code, &made->nodes[i])) {
			free_object(code, made);
			return MT_MEMORY;
		}
	}
	mt_live(made);
	made->next = code->objects;
	__atomic_store_n(&code->objects, made, __ATOMIC_RELEASE);
	return MT_OK;
}
