/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file that grows by whole pieces.  It is open only while a piece is written: thousands of
 * threads must not need thousands of file descriptors.
 */
#ifndef SONDE_TRACEFMT_WRITE_OUTFILE_H
#define SONDE_TRACEFMT_WRITE_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tf_outfile {
	int dirfd;	/* not owned */
	char name[64];
	uint64_t size;	/* of the pieces written so far */
};

/* Creates the file, which must not exist, for the user alone (0600).  False: errno says why. */
__attribute__((warn_unused_result)) bool tf_outfile_create(struct tf_outfile *f, int dirfd,
							   const char *name);

/*
 * Appends @n bytes, all or nothing: after a failure the file is cut back to what it was.
 * False: errno says why.
 */
__attribute__((warn_unused_result)) bool tf_outfile_append(struct tf_outfile *f, const void *data,
							   size_t n);

#endif /* SONDE_TRACEFMT_WRITE_OUTFILE_H */
