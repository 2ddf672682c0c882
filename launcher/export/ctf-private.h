/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this format share: ctf.c writes streams, ctf-metadata.c says what is in them. */
#ifndef SONDE_LAUNCHER_EXPORT_CTF_PRIVATE_H
#define SONDE_LAUNCHER_EXPORT_CTF_PRIVATE_H

#include "launcher/export/export.h"

#define CTF_MAGIC 0xc1fc1fc1u
#define CTF_UUID 16

/* Classes of events without values of a module's, which are declared first. */
enum { CTF_ENTRY, CTF_EXIT, CTF_STATE_BEGIN, CTF_STATE_FILE, CTF_STATE_END };

struct ctf_site {
	const struct sonde_trace_site *site; /* NULL: a free slot */
	uint32_t class;
};

struct ctf {
	struct output_folder folder;
	uint8_t uuid[CTF_UUID];
	struct export_texts names;   /* of functions, for the enumeration of them */
	struct export_texts files;   /* that functions are from */
	struct export_texts classes; /* declarations of events; a class is the number of its declaration */
	struct ctf_site *sites;	     /* a hash table */
	size_t nsites, sites_room;
	uint32_t *name;	     /* by function: the number of its name, + 1; 0: it has none yet */
	uint32_t *open;	     /* of the thread's open calls: the numbers of their names */
	size_t open_room;

	/* the stream that is written */
	const struct sonde_trace_thread *thread;
	FILE *out;	       /* NULL: nothing is in it yet */
	struct tf_buf packet;  /* that is not yet in it */
	struct tf_buf context; /* what is in each event, of its thread */
	uint64_t begin, end;   /* times of the packet's first and last event */
	uint64_t packets, discarded;
	bool said;	       /* which files there are */
};

/* Declares the classes that have a constant. */
void ctf_declare(struct export *x);
/* The class of what a place with values records, which is declared. */
uint32_t ctf_class(struct export *x, const struct sonde_trace_site *site);
/* The file "metadata": all that was declared, named.  False after a message. */
bool ctf_write_metadata(struct export *x) __attribute__((warn_unused_result));

/* A file in the folder, to be written.  NULL after a message. */
FILE *ctf_create(struct export *x, const char *name);

#endif
