/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/output.h"
#include "launcher/common/files.h"
#include "launcher/common/message.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A file without a name, so that nothing is left of it if this process is killed; where the file system knows no such thing, one
 * with a name.
 */
static int open_unnamed(struct output *o)
{
	char *copy = strdup(o->path);
	int fd = copy ? open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;

	free(copy);
	if (asprintf(&o->temporary, "%s.%d", o->path, (int)getpid()) < 0) {
		o->temporary = NULL;
		if (fd >= 0)
			close(fd);
		errno = ENOMEM;
		return -1;
	}
	if (fd < 0)
		fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return fd;
}

bool output_open(struct output *o, const char *path)
{
	struct stat st;
	int fd;

	*o = (struct output){ .path = path };
	if (!path || strcmp(path, "-") == 0) {
		o->path = NULL;
		o->f = stdout;
		return true;
	}
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		fd = open(path, O_WRONLY | O_CLOEXEC);
	else
		fd = open_unnamed(o);
	o->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (o->f)
		return true;
	msg_error("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(o->temporary);
	return false;
}

static bool has_name(const struct output *o)
{
	struct stat st;

	return fstat(fileno(o->f), &st) == 0 && st.st_nlink > 0;
}

static bool give_name(struct output *o)
{
	char self[64];

	if (fflush(o->f) != 0 || ferror(o->f))
		return false;
	if (!o->temporary)
		return true;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(o->f));
	if (!has_name(o) && linkat(AT_FDCWD, self, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW) < 0)
		return false;
	return rename(o->temporary, o->path) == 0;
}

bool output_close(struct output *o, bool keep)
{
	bool good = true;

	if (!o->path)
		return true; /* main() says if standard output has failed */
	errno = 0;
	if (keep)
		good = give_name(o);
	if (!good)
		msg_error("%s: %s", o->path, errno ? strerror(errno) : "cannot be written");
	if (o->temporary && (!keep || !good) && has_name(o))
		unlink(o->temporary);
	fclose(o->f);
	free(o->temporary);
	return good;
}

bool output_folder_open(struct output_folder *f, const char *path)
{
	*f = (struct output_folder){ .path = path };
	if (access(path, F_OK) == 0) {
		msg_error("%s: is there already", path);
		return false;
	}
	if (asprintf(&f->temporary, "%s.%d", path, (int)getpid()) < 0) {
		f->temporary = NULL;
		msg_error("no memory");
		return false;
	}
	if (mkdir(f->temporary, 0777) < 0) {
		msg_error("%s: %s", path, strerror(errno));
		return false;
	}
	return true;
}

bool output_folder_close(struct output_folder *f, bool keep)
{
	if (!f->temporary)
		return false;
	if (keep && rename(f->temporary, f->path) < 0) {
		msg_error("%s: %s", f->path, strerror(errno));
		keep = false;
	}
	if (!keep)
		(void)!files_remove_tree(f->temporary);
	free(f->temporary);
	f->temporary = NULL;
	return keep;
}
