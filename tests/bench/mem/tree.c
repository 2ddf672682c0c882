// SPDX-License-Identifier: GPL-3.0-or-later
/* A B-tree: keys are inserted one by one, then looked up. */
#include "kernel.h"

#define KEYS 15

struct node {
	int n;
	uint64_t key[KEYS];
	struct node *child[KEYS + 1];	/* all NULL: a leaf */
};

static int place(const struct node *t, uint64_t key)
{
	int i = 0;

	while (i < t->n && t->key[i] < key)
		i++;
	return i;
}

/* Child i of t is full, t is not. */
static void split(struct node *t, int i)
{
	struct node *left = t->child[i], *right = array(1, sizeof(*right));

	right->n = KEYS / 2;
	left->n = KEYS / 2;
	memcpy(right->key, left->key + KEYS / 2 + 1, sizeof(uint64_t) * (KEYS / 2));
	memcpy(right->child, left->child + KEYS / 2 + 1, sizeof(struct node *) * (KEYS / 2 + 1));
	memmove(t->key + i + 1, t->key + i, sizeof(uint64_t) * (size_t)(t->n - i));
	memmove(t->child + i + 2, t->child + i + 1, sizeof(struct node *) * (size_t)(t->n - i));
	t->key[i] = left->key[KEYS / 2];
	t->child[i + 1] = right;
	t->n++;
}

static struct node *grow(struct node *root)
{
	struct node *t;

	if (root->n < KEYS)
		return root;
	t = array(1, sizeof(*t));
	t->child[0] = root;
	split(t, 0);
	return t;
}

static struct node *insert(struct node *root, uint64_t key)
{
	struct node *t = grow(root);

	root = t;
	while (t->child[0]) {
		int i = place(t, key);

		if (t->child[i]->n == KEYS) {
			split(t, i);
			i += t->key[i] < key;
		}
		t = t->child[i];
	}
	for (int i = t->n++; ; i--) {
		if (i == 0 || t->key[i - 1] < key) {
			t->key[i] = key;
			return root;
		}
		t->key[i] = t->key[i - 1];
	}
}

static int lookup(const struct node *t, uint64_t key)
{
	for (; t;) {
		int i = place(t, key);

		if (i < t->n && t->key[i] == key)
			return 1;
		t = t->child[i];
	}
	return 0;
}

int main(int argc, char **argv)
{
	long n = argument(argc, argv, 1, 400000), times = argument(argc, argv, 2, 4), found = 0;
	struct node *root = array(1, sizeof(*root));

	for (long i = 0; i < n; i++)
		root = insert(root, random_at((uint64_t)i));
	for (long t = 0; t < times; t++) {
#pragma omp parallel for reduction(+ : found)
		for (long i = 0; i < n; i++)
			found += lookup(root, random_at((uint64_t)(2 * i + t)));
	}
	checksum("tree", (double)found);
	return 0;
}
