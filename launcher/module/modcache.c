/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compiled modules, kept.
 *
 * An entry is one file, so that it is replaced as a whole by rename(2): the shared object, and
 * after it (no loader looks there) a stamp: what it was made of.
 *
 *	ELF shared object
 *	stamp: lines "size mtime_ns ctime_ns inode hash path\n", one for each file that the compiler
 *	       read and for the compiler itself
 *	struct trailer
 *
 * The entry's name is a hash of the source's path, the command line and the folder it ran in. An
 * entry is good when each file of the stamp has the size, times and inode it had; where they differ,
 * or where a time is so young that a later change may hide in the same clock tick, its contents
 * decide. A file that may have changed while the compiler ran has no hash, and matches never.
 */
#include "launcher/common/files.h"
#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "launcher/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define TRAILER_MAGIC UINT64_C(0x31686361432d6453) /* "Sd-Cach1" */
#define MAX_STAMP (1u << 20)
#define CLOCK_TICK_NS INT64_C(20000000) /* coarsest kernel tick is 10 ms */
#define HASH_LEN 32

struct trailer {
	int64_t start_ns; /* when the compiler was started */
	uint64_t stamp_len;
	uint64_t magic;
};

static int64_t nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- hashes ---- */

static void print_hash(XXH128_hash_t h, char out[HASH_LEN + 1])
{
	snprintf(out, HASH_LEN + 1, "%016" PRIx64 "%016" PRIx64, (uint64_t)h.high64,
		 (uint64_t)h.low64);
}

static bool hash_file(const char *path, char out[HASH_LEN + 1])
{
	char buf[65536];
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	XXH3_state_t *state = XXH3_createState();

	if (fd >= 0 && state && XXH3_128bits_reset(state) == XXH_OK) {
		while ((n = read(fd, buf, sizeof(buf))) > 0)
			XXH3_128bits_update(state, buf, (size_t)n);
		print_hash(XXH3_128bits_digest(state), out);
	}
	XXH3_freeState(state);
	if (fd >= 0)
		close(fd);
	return n == 0;
}

/* ---- where the cache is ---- */

static pthread_mutex_t private_lock = PTHREAD_MUTEX_INITIALIZER;
static char *private_folder;
static pid_t private_owner;

/* Children that the launcher forks must not take the folder away. */
static void remove_private_folder(void)
{
	if (getpid() == private_owner && !files_remove_tree(private_folder))
		msg_warn("%s: not removed: %m", private_folder);
}

/* With the lock. */
static char *make_private_folder(void)
{
	const char *tmp = getenv("TMPDIR");

	if (private_folder && private_owner == getpid())
		return strdup(private_folder);
	if (asprintf(&private_folder, "%s/sonde-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0)
		private_folder = NULL;
	if (!private_folder || !mkdtemp(private_folder)) {
		msg_error("no folder for compiled modules: neither ~/.cache/sonde nor %s can be written: "
			  "%m", tmp && *tmp ? tmp : "/tmp");
		free(private_folder);
		private_folder = NULL;
		return NULL;
	}
	private_owner = getpid();
	atexit(remove_private_folder);
	return strdup(private_folder);
}

/* What is in there is preloaded into programs: nobody else may be able to put it there. */
static bool is_usable(const char *folder)
{
	struct stat st;

	/* A list of preloaded objects is split at blanks and colons; see ld.so(8). */
	if (strpbrk(folder, ": \t\n"))
		return false;
	return stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022) && access(folder, W_OK | X_OK) == 0;
}

char *modfile_cache_folder(void)
{
	const char *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char *folder = NULL;
	int n = -1;

	if (xdg && xdg[0] == '/')
		n = asprintf(&folder, "%s/sonde", xdg);
	else if (home && home[0] == '/')
		n = asprintf(&folder, "%s/.cache/sonde", home);
	if (n > 0 && files_make_folders(folder, 0700) && is_usable(folder))
		return folder;
	if (n > 0)
		free(folder);
	return NULL;
}

static char *cache_folder(void)
{
	char *folder = modfile_cache_folder();

	if (folder)
		return folder;
	pthread_mutex_lock(&private_lock);
	folder = make_private_folder();
	pthread_mutex_unlock(&private_lock);
	return folder;
}

/* ---- an entry's name ---- */

static void hash_word(XXH3_state_t *state, const char *word)
{
	XXH3_128bits_update(state, word, strlen(word) + 1);
}

static bool hash_command(const char *source, const char *real_source, char *const *argv,
			 const char *compiler, char out[HASH_LEN + 1])
{
	XXH3_state_t *state = XXH3_createState();
	char cwd[PATH_MAX];

	if (!state || XXH3_128bits_reset(state) != XXH_OK) {
		XXH3_freeState(state);
		return false;
	}
	hash_word(state, getcwd(cwd, sizeof(cwd)) ? cwd : "");
	hash_word(state, real_source);
	hash_word(state, compiler);
	for (; *argv; argv++) {
		if (strcmp(*argv, source) != 0) /* which may be spelt in several ways */
			hash_word(state, *argv);
	}
	print_hash(XXH3_128bits_digest(state), out);
	XXH3_freeState(state);
	return true;
}

struct entry {
	char *source;	/* as the user wrote it */
	const char *command; /* of the compiler; NULL: any */
	char *real;	/* absolute, without symbolic links */
	char *compiler;	/* its file */
	char *folder;
	char *path;	/* of the entry */
	char source_hash[HASH_LEN + 1]; /* before the compiler ran */
};

static void free_entry(struct entry *e)
{
	free(e->source);
	free(e->real);
	free(e->compiler);
	free(e->folder);
	free(e->path);
}

static int open_entry(const char *source, const char *command, struct entry *e)
{
	char hash[HASH_LEN + 1];

	*e = (struct entry){ .command = command };
	e->source = strdup(source);
	e->real = realpath(source, NULL);
	if (!e->source || !e->real) {
		msg_error("%s: cannot be read: %m", source);
		return EXIT_USAGE;
	}
	char **argv = modfile_compiler_argv(source, command, NULL);
	if (!argv)
		return EXIT_USAGE;
	e->compiler = program_find(argv[0]);
	bool hashed = hash_command(source, e->real, argv, e->compiler ? e->compiler : "", hash);
	modfile_argv_free(argv);
	if (!hashed)
		return EXIT_USAGE;
	e->folder = cache_folder();
	if (!e->folder || asprintf(&e->path, "%s/%s.so", e->folder, hash) < 0)
		return EXIT_USAGE;
	return 0;
}

/* ---- is it good? ---- */

/* The stamp of a cached file, a string; NULL when there is none. */
static char *read_stamp(const char *path, struct trailer *t)
{
	struct stat st;
	char *stamp = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size > (off_t)sizeof(*t) &&
	    pread(fd, t, sizeof(*t), st.st_size - (off_t)sizeof(*t)) == (ssize_t)sizeof(*t) &&
	    t->magic == TRAILER_MAGIC && t->stamp_len < MAX_STAMP &&
	    t->stamp_len + sizeof(*t) <= (uint64_t)st.st_size)
		stamp = calloc(1, t->stamp_len + 1);
	if (stamp && pread(fd, stamp, t->stamp_len,
			   st.st_size - (off_t)(sizeof(*t) + t->stamp_len)) != (ssize_t)t->stamp_len) {
		free(stamp);
		stamp = NULL;
	}
	close(fd);
	return stamp;
}

static bool is_unchanged(char *line, int64_t start_ns)
{
	uint64_t size, inode;
	int64_t mtime, ctime;
	char hash[HASH_LEN + 1], now[HASH_LEN + 1];
	int path_at = 0;
	struct stat st;

	if (sscanf(line, "%" SCNu64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %32s %n", &size, &mtime,
		   &ctime, &inode, hash, &path_at) != 5 || !path_at)
		return false;
	const char *path = line + path_at;
	if (stat(path, &st) != 0)
		return false;
	if ((uint64_t)st.st_size == size && (uint64_t)st.st_ino == inode &&
	    nanoseconds(st.st_mtim) == mtime && nanoseconds(st.st_ctim) == ctime &&
	    ctime < start_ns - CLOCK_TICK_NS)
		return true;
	return hash_file(path, now) && strcmp(now, hash) == 0;
}

static bool is_good(const char *path)
{
	struct trailer t;
	char *stamp = read_stamp(path, &t);
	bool good = stamp && *stamp;
	char *save = NULL;

	for (char *line = stamp ? strtok_r(stamp, "\n", &save) : NULL; line && good;
	     line = strtok_r(NULL, "\n", &save))
		good = is_unchanged(line, t.start_ns);
	free(stamp);
	return good;
}

/* ---- making it ---- */

static void print_stamp_line(FILE *out, const struct entry *e, const char *path, int64_t start_ns)
{
	char *real = realpath(path, NULL);
	char hash[HASH_LEN + 1] = "-";
	struct stat st;

	if (!real || strchr(real, '\n') || stat(real, &st) != 0) {
		fputs("0 0 0 0 - ?\n", out); /* matches nothing */
		free(real);
		return;
	}
	if (strcmp(real, e->real) == 0)
		memcpy(hash, e->source_hash, sizeof(hash));
	else if (nanoseconds(st.st_ctim) >= start_ns - CLOCK_TICK_NS || !hash_file(real, hash))
		strcpy(hash, "-");
	fprintf(out, "%" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %s %s\n", (uint64_t)st.st_size,
		nanoseconds(st.st_mtim), nanoseconds(st.st_ctim), (uint64_t)st.st_ino, hash, real);
	free(real);
}

/*
 * The next prerequisite of a make rule: words end at blanks that no backslash precedes; "$$" is "$",
 * and a backslash before a newline joins lines.
 */
static bool next_prerequisite(const char **text, char *word, size_t size)
{
	const char *p = *text;
	size_t len = 0;

	while (*p == ' ' || *p == '\n' || (*p == '\\' && p[1] == '\n'))
		p += *p == '\\' ? 2 : 1;
	for (; *p && *p != ' ' && *p != '\n'; p++) {
		if (*p == '\\' && (p[1] == ' ' || p[1] == '#' || p[1] == '\\'))
			p++;
		else if (*p == '\\' && p[1] == '\n')
			break;
		else if (*p == '$' && p[1] == '$')
			p++;
		if (len + 1 < size)
			word[len++] = *p;
	}
	word[len] = '\0';
	*text = p;
	return len > 0;
}

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

/* Appends stamp and trailer to a fresh shared object. */
static bool append_stamp(const struct entry *e, const char *object, const char *depfile,
			 int64_t start_ns)
{
	char word[PATH_MAX];
	char *deps = read_text(depfile);
	const char *p = deps ? strstr(deps, ": ") : NULL;
	FILE *out = p ? fopen(object, "ae") : NULL;

	if (!out) {
		free(deps);
		return false;
	}
	fseek(out, 0, SEEK_END);
	long begin = ftell(out);
	for (p += 2; next_prerequisite(&p, word, sizeof(word));)
		print_stamp_line(out, e, word, start_ns);
	if (e->compiler)
		print_stamp_line(out, e, e->compiler, start_ns);
	struct trailer t = { start_ns, (uint64_t)(ftell(out) - begin), TRAILER_MAGIC };
	fwrite(&t, sizeof(t), 1, out);
	free(deps);
	return fclose(out) == 0;
}

static int make_entry(struct entry *e)
{
	struct timespec now;
	char *object = NULL, *depfile = NULL;
	int status = EXIT_USAGE;

	if (asprintf(&object, "%s.%d.tmp", e->path, (int)getpid()) < 0 ||
	    asprintf(&depfile, "%s.%d.d", e->path, (int)getpid()) < 0)
		goto out;
	if (e->command) /* ours, which takes a while */
		msg_info("%s is compiled by %s, once", e->source, e->command);
	clock_gettime(CLOCK_REALTIME, &now);
	if (!hash_file(e->real, e->source_hash))
		strcpy(e->source_hash, "-");
	status = modfile_compile(e->source, e->command,
				 (const char *[]){ "-MD", "-MF", depfile, "-MT", "module", "-o", object, NULL });
	if (!status && (!append_stamp(e, object, depfile, nanoseconds(now)) ||
			rename(object, e->path) != 0)) {
		msg_error("%s: cannot be written: %m", e->path);
		status = EXIT_USAGE;
	}
	if (status)
		unlink(object);
	unlink(depfile);
out:
	free(object);
	free(depfile);
	return status;
}

bool modfile_is_cached(const char *source, const char *compiler)
{
	struct entry e;
	bool cached = open_entry(source, compiler, &e) == 0 && is_good(e.path);

	free_entry(&e);
	return cached;
}

int modfile_cached(const char *source, const char *compiler, char **path)
{
	struct entry e;
	int status = open_entry(source, compiler, &e);

	*path = NULL;
	if (!status && !is_good(e.path)) {
		/*
		 * One process compiles, the others wait and then find it done. Where folders cannot be
		 * locked (NFS), all compile, and the last rename stays.
		 */
		int lock = open(e.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (lock >= 0 && flock(lock, LOCK_EX) == 0 && is_good(e.path))
			msg_debug("%s: compiled by another process", source);
		else
			status = make_entry(&e);
		if (lock >= 0)
			close(lock);
	}
	if (!status) {
		*path = e.path;
		e.path = NULL;
	}
	free_entry(&e);
	return status;
}
