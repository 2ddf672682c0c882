/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several ranks, perhaps on several nodes, come at the same time and find the same folder. All that
 * they decide hangs on one file in it, the marker:
 *
 *  - It appears with its text and its lock complete, by link(2) from a temporary name: of several
 *    that try, one succeeds.
 *  - Whoever records holds a lock on it: shared for ranks, exclusive otherwise.
 *  - The folder is moved away by whoever gets the exclusive lock on its marker, and only if the marker
 *    that was locked is still the one in the folder. So a later job moves it once; its other ranks
 *    then find a folder with their own job's marker.
 *
 * What a program was given, and where its memory is, concerns nobody else: folders are 0700, files 0600.
 *
 * Where the file system has no locks, the first and the last of this still hold for most cases.
 */
#include "launcher/trace/tracedir.h"
#include "launcher/common/files.h"
#include "launcher/common/message.h"
#include "launcher/trace/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARKER ".sonde"
#define MARKER_TEXT "Sonde trace\n"
#define MAX_MARKER 4096
#define MAX_RUNS 100000
#define RETRY_NS 10000000L /* 10 ms */
#define RETRIES 300	   /* 3 s in all */

/* What one attempt to get a folder comes to. */
enum outcome {
	DONE,	/* td is filled in */
	AGAIN,	/* something has just changed: look again */
	BUSY,	/* somebody records or moves things there: look again after a while */
	FAILED, /* said why */
};

static int fail(const char *path, const char *why)
{
	msg_error("%s: %s", path, why);
	return FAILED;
}

static char *path_in(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* ---- locks ---- */

/* False: somebody else holds it. Without locks in the file system everybody gets one. */
static bool try_lock(int fd, int how)
{
	int result;

	do {
		result = flock(fd, how | LOCK_NB);
	} while (result != 0 && errno == EINTR);
	return result == 0 || errno != EWOULDBLOCK;
}

static bool is_current(int fd, const char *marker)
{
	struct stat mine, there;

	return fstat(fd, &mine) == 0 && stat(marker, &there) == 0 && mine.st_ino == there.st_ino &&
	       mine.st_dev == there.st_dev;
}

/* ---- making the marker ---- */

/* Link, or where there are no hard links rename without replacing. */
static bool put_in_place(const char *temp, const char *marker)
{
	if (link(temp, marker) == 0) {
		unlink(temp);
		return true;
	}
	if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
		return false;
	return renameat2(AT_FDCWD, temp, AT_FDCWD, marker, RENAME_NOREPLACE) == 0;
}

static int write_marker(const char *temp, const struct job *job)
{
	int fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	int n = job->key ? dprintf(fd, MARKER_TEXT "job %s\n", job->key) : dprintf(fd, MARKER_TEXT);
	if (n > 0 && try_lock(fd, job->key ? LOCK_SH : LOCK_EX))
		return fd;
	close(fd);
	unlink(temp);
	return -1;
}

/* Empty but for what others are about to link there. */
static bool is_free(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	bool empty = dir != NULL;

	while (empty && (e = readdir(dir)))
		empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
			strncmp(e->d_name, MARKER, strlen(MARKER)) == 0;
	if (dir)
		closedir(dir);
	return empty;
}

static int mark(const char *marker, const struct job *job, struct tracedir *td)
{
	char host[64] = "";
	char *temp;

	gethostname(host, sizeof(host) - 1);
	if (asprintf(&temp, "%s.%s.%d", marker, host, (int)getpid()) < 0)
		return fail(marker, "out of memory");
	int fd = write_marker(temp, job);
	if (fd < 0) {
		int saved = errno;

		/* Left by somebody who died and had our PID. */
		if (saved == EEXIST)
			unlink(temp);
		free(temp);
		/* ENOENT: the folder has been moved away meanwhile. */
		return saved == ENOENT || saved == EEXIST ? AGAIN : fail(td->top, strerror(saved));
	}
	bool placed = put_in_place(temp, marker);
	int saved = errno;
	if (!placed) {
		unlink(temp);
		close(fd);
	}
	free(temp);
	if (placed) {
		td->lock_fd = fd;
		return DONE;
	}
	return saved == EEXIST || saved == ENOENT ? AGAIN : fail(td->top, strerror(saved));
}

static int make_new(const char *marker, const struct job *job, struct tracedir *td)
{
	const bool made = mkdir(td->top, 0700) == 0;
	int status;

	if (!made && errno != EEXIST) {
		msg_error("%s: the trace cannot be written there: %m", td->top);
		return FAILED;
	}
	if (!is_free(td->top)) {
		/* A marker that has come meanwhile, together with what belongs to it? */
		if (access(marker, F_OK) == 0)
			return AGAIN;
		return fail(td->top, access(td->top, R_OK | X_OK) == 0
					     ? "is there already and is not a Sonde trace; "
					       "name another with -o"
					     : strerror(errno));
	}
	status = mark(marker, job, td);
	if (status == FAILED && made)
		rmdir(td->top);
	return status;
}

/* ---- the trace before ---- */

static bool is_trace(const char *folder)
{
	char *marker = path_in(folder, MARKER);
	bool yes = marker && access(marker, F_OK) == 0;

	free(marker);
	return yes;
}

/*
 * DIR.old, if there is one, gets out of the way under a name of its own, which *trash becomes; it is
 * deleted later, when nobody waits for us.
 */
static bool clear_old(const char *old, char **trash)
{
	struct stat st;

	if (lstat(old, &st) != 0)
		return true;
	if (!is_trace(old) && files_is_empty_folder(old) != 1) {
		fail(old, "is in the way of the trace before, and is not a Sonde trace itself");
		return false;
	}
	if (asprintf(trash, "%s.%d", old, (int)getpid()) < 0) {
		*trash = NULL;
		return false;
	}
	if (rename(old, *trash) == 0)
		return true;
	msg_error("%s: cannot be replaced: %m", old);
	free(*trash);
	*trash = NULL;
	return false;
}

static void remove_trash(char *trash)
{
	if (trash && !files_remove_tree(trash))
		msg_warn("%s: not removed: %m", trash);
	free(trash);
}

/* With the exclusive lock on the marker of td->top. */
static int move_away(struct tracedir *td, char **trash)
{
	char *old;

	if (asprintf(&old, "%s.old", td->top) < 0)
		return fail(td->top, "out of memory");
	int outcome = clear_old(old, trash) ? AGAIN : FAILED;
	if (outcome == AGAIN && rename(td->top, old) != 0) {
		msg_error("%s: the trace there cannot be moved to %s: %m", td->top, old);
		outcome = FAILED;
	}
	td->moved |= outcome == AGAIN;
	free(old);
	return outcome;
}

/* ---- a folder with a marker ---- */

static bool is_of_job(int fd, const struct job *job)
{
	char text[MAX_MARKER + 1];
	ssize_t n = pread(fd, text, MAX_MARKER, 0);

	if (n <= 0 || !job->key)
		return false;
	text[n] = '\0';
	const char *line = strstr(text, "\njob ");
	size_t len = strlen(job->key);
	return line && strncmp(line + 5, job->key, len) == 0 && line[5 + len] == '\n';
}

static int join_job(int fd, const char *marker, struct tracedir *td)
{
	if (!try_lock(fd, LOCK_SH))
		return BUSY;
	if (!is_current(fd, marker))
		return AGAIN;
	td->lock_fd = fd;
	return DONE;
}

static int replace(int fd, const char *marker, struct tracedir *td, char **trash)
{
	if (!try_lock(fd, LOCK_EX))
		return BUSY;
	if (!is_current(fd, marker))
		return AGAIN;
	return move_away(td, trash);
}

static int attempt(const char *marker, const struct job *job, struct tracedir *td, char **trash)
{
	int fd = open(marker, O_RDWR | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return make_new(marker, job, td);
	if (fd < 0) {
		msg_error("%s: the trace cannot be written there: %m", td->top);
		return FAILED;
	}
	int outcome = is_of_job(fd, job) ? join_job(fd, marker, td) : replace(fd, marker, td, trash);
	if (outcome != DONE)
		close(fd);
	return outcome;
}

static int get_folder(const struct job *job, struct tracedir *td)
{
	char *marker = path_in(td->top, MARKER);
	char *trash = NULL;
	int outcome = marker ? AGAIN : fail(td->top, "out of memory");

	for (int tries = 0; outcome == AGAIN || outcome == BUSY; tries++) {
		outcome = attempt(marker, job, td, &trash);
		/* For one that is no rank, a lock means that somebody records there. */
		if ((outcome == BUSY && !job->key) || tries == RETRIES)
			outcome = fail(td->top, "another sonde is recording there; name another "
						"directory with -o");
		if (outcome == BUSY)
			nanosleep(&(struct timespec){ .tv_nsec = RETRY_NS }, NULL);
	}
	free(marker);
	remove_trash(trash);
	return outcome;
}

/* ---- folders in it ---- */

/* NAME-N, or NAME-N.2, ...: the first that is not there yet, made.  *@which: 1, 2, ...  NULL: errno is set. */
static char *make_folder(const char *in, const char *name, int n, int *which)
{
	for (*which = 1; *which < MAX_RUNS; ++*which) {
		char suffix[16] = "";
		char *path;

		if (*which > 1)
			snprintf(suffix, sizeof(suffix), ".%d", *which);
		if (asprintf(&path, "%s/%s-%d%s", in, name, n, suffix) < 0)
			return NULL;
		if (mkdir(path, 0700) == 0)
			return path;
		int saved = errno;
		free(path);
		errno = saved;
		if (errno != EEXIST)
			return NULL;
	}
	return NULL;
}

static int make_rank_folder(struct tracedir *td)
{
	int run;

	td->path = make_folder(td->top, "rank", td->rank, &run);
	if (td->path)
		return DONE;
	msg_error("%s: no folder can be made for rank %d: %m", td->top, td->rank);
	return FAILED;
}

char *tracedir_add_program(const char *first, int pid, int *number)
{
	return make_folder(first, "process", pid, number);
}

/* ---- the interface ---- */

/* Without slashes at the end; a symbolic link is replaced by what it points to. */
static char *clean_name(const char *dir)
{
	struct stat st;
	char *name = strdup(dir);

	for (size_t n = name ? strlen(name) : 0; n > 1 && name[n - 1] == '/'; n--)
		name[n - 1] = '\0';
	if (name && lstat(name, &st) == 0 && S_ISLNK(st.st_mode)) {
		char *real = realpath(name, NULL);

		if (real) {
			free(name);
			name = real;
		}
	}
	return name;
}

int tracedir_enter(const char *dir, const struct job *job, struct tracedir *td)
{
	int outcome;

	*td = (struct tracedir){ .lock_fd = -1, .rank = job->rank, .ranks = job->ranks, .top = clean_name(dir) };
	outcome = td->top ? get_folder(job, td) : fail(dir, "out of memory");
	if (outcome == DONE)
		return 0;
	tracedir_close(td);
	return EXIT_USAGE;
}

int tracedir_begin(struct tracedir *td)
{
	if (td->rank >= 0)
		return make_rank_folder(td) == DONE ? 0 : EXIT_USAGE;
	td->path = strdup(td->top);
	if (td->path)
		return 0;
	fail(td->top, "out of memory");
	return EXIT_USAGE;
}

int tracedir_create(const char *dir, struct tracedir *td)
{
	struct job job;
	int status;

	*td = (struct tracedir){ .lock_fd = -1, .rank = -1 };
	if (job_detect(&job) != 0) {
		msg_error("out of memory");
		return EXIT_USAGE;
	}
	status = tracedir_enter(dir, &job, td);
	job_free(&job);
	if (status == 0)
		status = tracedir_begin(td);
	if (status != 0)
		tracedir_close(td);
	return status;
}

int tracedir_join(const char *top, int rank, int ranks, struct tracedir *td)
{
	char *marker = path_in(top, MARKER);

	*td = (struct tracedir){ .rank = rank, .ranks = ranks, .top = strdup(top) };
	td->lock_fd = marker ? open(marker, O_RDWR | O_CLOEXEC) : -1;
	free(marker);
	/* it is held by who has entered */
	if (td->top && td->lock_fd >= 0 && try_lock(td->lock_fd, LOCK_SH))
		return 0;
	msg_error("%s: the trace cannot be written there: %m", top);
	tracedir_close(td);
	return EXIT_USAGE;
}

static void put_back(const struct tracedir *td)
{
	char *old;

	if (asprintf(&old, "%s.old", td->top) < 0)
		return;
	if (rename(old, td->top) != 0)
		msg_warn("%s: the trace before stays there: %m", old);
	free(old);
}

void tracedir_abandon(struct tracedir *td)
{
	if (td->rank >= 0 && td->path && !files_remove_tree(td->path))
		msg_warn("%s: not removed: %m", td->path);
	/* Other ranks of the job may use the folder, now or soon. */
	bool alone = td->lock_fd >= 0 && flock(td->lock_fd, LOCK_EX | LOCK_NB) == 0;
	if (alone && (td->rank < 0 || is_free(td->top)) && files_remove_tree(td->top) && td->moved)
		put_back(td);
	tracedir_close(td);
}

bool tracedir_is_gone(const struct tracedir *td)
{
	struct stat st;

	return td->lock_fd >= 0 && fstat(td->lock_fd, &st) == 0 && st.st_nlink == 0;
}

bool tracedir_is_recorded(const char *dir)
{
	char *marker = path_in(dir, MARKER);
	int fd = marker ? open(marker, O_RDWR | O_CLOEXEC) : -1;
	bool recorded = fd >= 0 && !try_lock(fd, LOCK_EX);

	free(marker);
	if (fd >= 0)
		close(fd);
	return recorded;
}

void tracedir_close(struct tracedir *td)
{
	if (td->lock_fd >= 0)
		close(td->lock_fd);
	free(td->path);
	free(td->top);
	*td = (struct tracedir){ .lock_fd = -1, .rank = -1 };
}
