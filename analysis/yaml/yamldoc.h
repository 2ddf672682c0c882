/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What readers of YAML have in common: documents of libyaml, keys by a table, and errors that say where: "line 3, column 7: ...".
 *
 * A function that reads returns false after an error, whose text is in the reader's `error'; nothing else is read then.
 */
#ifndef SONDE_ANALYSIS_YAML_YAMLDOC_H
#define SONDE_ANALYSIS_YAML_YAMLDOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#define YD_TEXT_MAX 200 /* bytes of a text, see yd_read_text() */

struct yd_reader {
	yaml_document_t doc;
	char *error;	/* "" as long as all is well */
	size_t room;	/* bytes of it */
};

/* Sets the error, at @node.  False. */
__attribute__((format(printf, 3, 4))) bool yd_bad(struct yd_reader *r, const yaml_node_t *node, const char *fmt, ...);
/* The same, where there is none.  False. */
bool yd_no_memory(struct yd_reader *r);

const yaml_node_t *yd_node(struct yd_reader *r, int index);

/* A scalar's text; "" and an error for anything else.  YAML may hold zeros: they end it. */
const char *yd_text(struct yd_reader *r, const yaml_node_t *node);

/* The index of the node's text in @words, which NULL ends; false: it is none of them, which is an error only if it is no scalar. */
bool yd_word(struct yd_reader *r, const yaml_node_t *node, const char *const *words, unsigned int *index);
/* One of @words; else @what belongs there. */
bool yd_choice(struct yd_reader *r, const yaml_node_t *node, const char *const *words, const char *what,
	       unsigned int *index);

/* For the value of a key.  Into a char *, malloc'ed; what was there is freed: 1 to YD_TEXT_MAX bytes. */
bool yd_read_text(struct yd_reader *r, const yaml_node_t *node, void *to);
/* Into a uint64_t, up to 2^40: digits, and K, M or G (powers of 1024). */
bool yd_read_size(struct yd_reader *r, const yaml_node_t *node, void *to);

struct yd_key {
	const char *name;	/* NULL: the end of the table, which has no more than 32 */
	bool (*read)(struct yd_reader *r, const yaml_node_t *node, void *to);
	size_t offset;		/* of what @read gets as @to */
	bool needed;
};

/* A mapping with these keys, each at most once. */
bool yd_mapping(struct yd_reader *r, const yaml_node_t *node, const struct yd_key *keys, void *to);

/* Calls @read for each document of @text, until it returns false.  *n: how many there were.  False: @error, of @room bytes, says why. */
bool yd_documents(const char *text, size_t bytes, char *error, size_t room,
		  bool (*read)(struct yd_reader *r, const yaml_node_t *root, void *arg), void *arg, size_t *n)
	__attribute__((warn_unused_result));

#endif
