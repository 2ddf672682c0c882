/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_lists: lists, trees, tables: addresses that come from memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

struct node {
	struct node *next, *left, *right;
	int key;
	char name[13];
};

static struct node *table[31];
static struct node pool[300];
static int used;

OPAQUE struct node *new_node(int key)
{
	struct node *n = &pool[used++];

	n->key = key;
	for (int i = 0; i < 12; i++)
		n->name[i] = (char)('a' + (key + i) % 26);
	return n;
}

OPAQUE struct node *insert(struct node *tree, int key)
{
	if (!tree)
		return new_node(key);
	if (key < tree->key)
		tree->left = insert(tree->left, key);
	else if (key > tree->key)
		tree->right = insert(tree->right, key);
	return tree;
}

OPAQUE void insert_loop(struct node **at, int key)
{
	while (*at && (*at)->key != key)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	if (!*at)
		*at = new_node(key);
}

OPAQUE int depth(const struct node *n)
{
	int l, r;

	if (!n)
		return 0;
	l = depth(n->left);
	r = depth(n->right);
	return 1 + (l > r ? l : r);
}

OPAQUE long walk(const struct node *n, int level)
{
	long s = 0;

	for (; n; n = n->right)
		s += n->key * level + walk(n->left, level + 1);
	return s;
}

OPAQUE struct node *reversed(struct node *list)
{
	struct node *to = NULL, *next;

	for (; list; list = next) {
		next = list->next;
		list->next = to;
		to = list;
	}
	return to;
}

OPAQUE struct node *find(int key)
{
	for (struct node *n = table[key % 31]; n; n = n->next)
		if (n->key == key && strcmp(n->name, "zabcdefghijk") != 0)
			return n;
	return NULL;
}

OPAQUE void put(struct node *n)
{
	struct node **at = &table[n->key % 31];

	while (*at && (*at)->key < n->key)
		at = &(*at)->next;
	n->next = *at;
	*at = n;
}

OPAQUE long names(const struct node *list)
{
	long s = 0;

	for (; list; list = list->next)
		for (const char *p = list->name; *p; p++)
			s = s * 31 + *p;
	return s;
}

int main(void)
{
	struct node *tree = NULL, *other = NULL, *list = NULL;
	int hits = 0;

	for (int i = 0; i < 60; i++)
		tree = insert(tree, i * 37 % 61);
	for (int i = 0; i < 60; i++)
		insert_loop(&other, i * 17 % 59);
	printf("%d %d %ld\n", depth(tree), depth(other), walk(tree, 1));
	for (int i = 0; i < used; i++)
		put(&pool[i]);
	for (int i = 0; i < 80; i++)
		hits += find(i) != NULL;
	for (int i = 0; i < 20; i++) {
		struct node *n = malloc(sizeof(*n));

		*n = pool[i];
		n->next = list;
		list = n;
	}
	list = reversed(list);
	printf("%d %ld %ld\n", hits, names(list), names(table[3]));
	return 0;
}
