// SPDX-License-Identifier: GPL-3.0-or-later
/* The trace directory: rotation, ranks that come at the same time, what must not be touched. */
#include "launcher/common/files.h"
#include "launcher/common/message.h"
#include "launcher/trace/job.h"
#include "launcher/trace/tracedir.h"
#include "tests/unit/launcher/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RANKS 12

static const char *const variables[] = {
	"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "PMI_RANK", "PMI_SIZE",
	"PMIX_RANK", "PALS_RANKID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID", "SLURM_JOB_ID",
	"PMIX_NAMESPACE", "PMI_JOBID", "PALS_APID", "OMPI_MCA_orte_precondition_transports",
};

/*
 * Stand in for the C library's: the moments that matter in races are reached on purpose, by doing
 * what another process could do just then.
 */
static void (*before_flock)(void), (*before_link)(void);

static void run_once(void (**hook)(void))
{
	void (*f)(void) = *hook;

	*hook = NULL;
	if (f)
		f();
}

int flock(int fd, int operation)
{
	run_once(&before_flock);
	return (int)syscall(SYS_flock, fd, operation);
}

int link(const char *from, const char *to)
{
	run_once(&before_link);
	return (int)syscall(SYS_link, from, to);
}

static void become_nobody_in_particular(void)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
}

static void become_rank(int rank, int ranks, const char *job)
{
	char text[16];

	become_nobody_in_particular();
	snprintf(text, sizeof(text), "%d", rank);
	setenv("OMPI_COMM_WORLD_RANK", text, 1);
	snprintf(text, sizeof(text), "%d", ranks);
	setenv("OMPI_COMM_WORLD_SIZE", text, 1);
	setenv("PMIX_NAMESPACE", job, 1);
}

static int enter_fresh_folder(void **state)
{
	(void)state;
	become_nobody_in_particular();
	return chdir(fresh_folder());
}

static int leave_folder(void **state)
{
	(void)state;
	return chdir("..");
}

static void create(const char *dir, struct tracedir *td)
{
	capture_begin(2);
	int status = tracedir_create(dir, td);
	const char *said = capture_end();
	if (status != 0 || *said)
		fail_msg("%s: status %d, said: %s", dir, status, said);
}

static void refused(const char *dir, const char *text)
{
	struct tracedir td;

	capture_begin(2);
	int status = tracedir_create(dir, &td);
	const char *said = capture_end();
	if (status != EXIT_USAGE || !is_one_line(said) || !strstr(said, text))
		fail_msg("%s: status %d, said: %s", dir, status, said);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void put(const struct tracedir *td, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/data", td->path);
	write_text(path, text);
}

static void expect_text(const char *path, const char *text)
{
	size_t len;
	char *found = read_whole(path, &len);

	assert_string_equal(found, text);
	free(found);
}

static void test_rotation(void **state)
{
	struct tracedir td;
	static const char *const texts[] = { "first", "second", "third" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		create("t", &td);
		assert_string_equal(td.path, "t");
		assert_int_equal(td.rank, -1);
		assert_int_equal(td.moved, i > 0);
		assert_false(exists("t/data"));
		put(&td, texts[i]);
		tracedir_close(&td);
		expect_text("t/data", texts[i]);
		if (i)
			expect_text("t.old/data", texts[i - 1]);
	}
}

static void test_names(void **state)
{
	struct tracedir td;

	(void)state;
	create("a/", &td);
	assert_string_equal(td.path, "a");
	tracedir_close(&td);
	create("./a//", &td);
	assert_true(td.moved);
	assert_true(exists("a.old"));
	tracedir_close(&td);
	/* An empty folder that is there already, and a link to one. */
	assert_int_equal(mkdir("empty", 0755), 0);
	create("empty", &td);
	assert_false(td.moved);
	tracedir_close(&td);
	assert_int_equal(mkdir("real", 0755), 0);
	assert_int_equal(symlink("real", "link"), 0);
	create("link", &td);
	put(&td, "x");
	assert_true(exists("real/data"));
	tracedir_close(&td);
	create("link", &td);
	tracedir_close(&td);
	assert_true(exists("real.old/data"));
	assert_true(exists("link/.sonde"));
}

static void test_untouched(void **state)
{
	(void)state;
	assert_int_equal(mkdir("mine", 0755), 0);
	write_text("mine/thesis", "years of work");
	refused("mine", "is not a Sonde trace");
	expect_text("mine/thesis", "years of work");
	assert_false(exists("mine/.sonde"));
	assert_false(exists("mine.old"));
	write_text("file", "x");
	refused("file", "Not a directory");
	expect_text("file", "x");
	refused("no/such/parent", "No such file or directory");
	assert_false(exists("no"));
}

/* DIR.old may be the user's own. */
static void test_old_untouched(void **state)
{
	struct tracedir td;

	(void)state;
	create("t", &td);
	put(&td, "new");
	tracedir_close(&td);
	assert_int_equal(mkdir("t.old", 0755), 0);
	write_text("t.old/thesis", "years of work");
	refused("t", "t.old: is in the way");
	expect_text("t.old/thesis", "years of work");
	expect_text("t/data", "new");
}

static void test_in_use(void **state)
{
	struct tracedir td;

	(void)state;
	create("t", &td);
	put(&td, "running");
	refused("t", "another sonde is recording there");
	expect_text("t/data", "running");
	assert_false(exists("t.old"));
	tracedir_close(&td);
	create("t", &td);
	assert_true(td.moved);
	tracedir_close(&td);
}

static void test_lock_not_inherited(void **state)
{
	struct tracedir td;

	(void)state;
	create("t", &td);
	assert_true(fcntl(td.lock_fd, F_GETFD) & FD_CLOEXEC);
	tracedir_close(&td);
}

static void test_abandon(void **state)
{
	struct tracedir td;

	(void)state;
	create("t", &td);
	put(&td, "good");
	tracedir_close(&td);
	create("t", &td);
	put(&td, "of no use");
	tracedir_abandon(&td);
	expect_text("t/data", "good");
	assert_false(exists("t.old"));
	create("u", &td);
	tracedir_abandon(&td);
	assert_false(exists("u"));
}

static void test_unwritable(void **state)
{
	(void)state;
	refused("/proc/t", "cannot be written");
}

/* ---- ranks ---- */

static const char *job_name;

/* All come at once, one after the other writes, none sees another's folder. */
static int be_rank(int index)
{
	struct tracedir td;
	char wanted[64];
	uint64_t random = (uint64_t)index * 77777 + 1;

	become_rank(index, RANKS, job_name);
	nanosleep(&(struct timespec){ .tv_nsec = (long)(next_random(&random) % 3000000) }, NULL);
	if (tracedir_create("t", &td) != 0)
		return 1;
	snprintf(wanted, sizeof(wanted), "t/rank-%d", index);
	if (strcmp(td.path, wanted) != 0 || td.rank != index || td.ranks != RANKS)
		return 2;
	put(&td, job_name);
	nanosleep(&(struct timespec){ .tv_nsec = (long)(next_random(&random) % 20000000) }, NULL);
	tracedir_close(&td);
	return 0;
}

static void expect_ranks(const char *top, const char *text)
{
	char path[64];

	for (int i = 0; i < RANKS; i++) {
		snprintf(path, sizeof(path), "%s/rank-%d/data", top, i);
		expect_text(path, text);
	}
}

static void test_ranks(void **state)
{
	static const char *const jobs[] = { "job-a", "job-b", "job-c", "job-d", "job-e", "job-f" };

	(void)state;
	for (int i = 0; i < 6; i++) {
		job_name = jobs[i];
		assert_int_equal(run_children(RANKS, be_rank), RANKS);
		expect_ranks("t", jobs[i]);
		if (i) /* moved once, as a whole */
			expect_ranks("t.old", jobs[i - 1]);
	}
}

/* Fewer ranks than before: none of the old ones is left among the new. */
static void test_stale_ranks(void **state)
{
	struct tracedir td;

	(void)state;
	job_name = "big";
	assert_int_equal(run_children(RANKS, be_rank), RANKS);
	become_rank(0, 1, "small");
	create("t", &td);
	tracedir_close(&td);
	assert_true(exists("t/rank-0"));
	assert_false(exists("t/rank-1"));
	assert_true(exists("t.old/rank-1"));
}

static void test_same_rank_again(void **state)
{
	struct tracedir a, b;

	(void)state;
	become_rank(3, 8, "job");
	create("t", &a);
	create("t", &b); /* nested, or a second program of the same rank */
	assert_string_equal(a.path, "t/rank-3");
	assert_string_equal(b.path, "t/rank-3.2");
	tracedir_abandon(&b);
	assert_true(exists("t/rank-3"));
	assert_false(exists("t/rank-3.2"));
	tracedir_close(&a);
}

static void test_rank_abandons(void **state)
{
	struct tracedir a, b;

	(void)state;
	become_rank(0, 2, "before");
	create("t", &a);
	put(&a, "good");
	tracedir_close(&a);
	become_rank(0, 2, "job");
	create("t", &a);
	become_rank(1, 2, "job");
	create("t", &b);
	tracedir_abandon(&a); /* the other one is still there */
	assert_true(exists("t/rank-1"));
	assert_false(exists("t/rank-0"));
	tracedir_abandon(&b);
	assert_false(exists("t"));
	/* It was a's to put back, but a had company. */
	expect_text("t.old/rank-0/data", "good");
}

static void test_job_waits_for_other(void **state)
{
	struct tracedir a;

	(void)state;
	become_rank(0, 1, "one");
	create("t", &a);
	become_rank(0, 1, "two");
	refused("t", "another sonde is recording there");
	tracedir_close(&a);
	create("t", &a);
	assert_true(a.moved);
	tracedir_close(&a);
}

static int hold_for_a_while(int index)
{
	struct tracedir td;

	become_rank(index, 1, "first");
	if (tracedir_create("t", &td) != 0)
		return 1;
	put(&td, "first");
	write_text("ready", "");
	nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
	tracedir_close(&td);
	return 0;
}

static int come_later(int index)
{
	struct tracedir td;

	if (index == 0)
		return hold_for_a_while(index);
	while (!exists("ready"))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	become_rank(0, 1, "second");
	if (tracedir_create("t", &td) != 0)
		return 1;
	put(&td, "second");
	tracedir_close(&td);
	return 0;
}

/* The job before is about to end: its last ranks are still writing. */
static void test_waits_for_end(void **state)
{
	(void)state;
	assert_int_equal(run_children(2, come_later), 2);
	expect_text("t/rank-0/data", "second");
	expect_text("t.old/rank-0/data", "first");
}

/* ---- races ---- */

static struct tracedir other;

static void another_job_takes_it(void)
{
	become_rank(0, 1, "quick");
	assert_int_equal(tracedir_create("t", &other), 0);
	put(&other, "quick");
	become_rank(0, 1, "slow");
}

/*
 * 1. slow opens the marker of the trace before;
 * 2. quick moves that trace away, makes its own and records;
 * 3. slow locks the marker that it has open, which is now in t.old, and must not take this for
 *    the right to move quick's trace.
 */
static void test_marker_moved_before_lock(void **state)
{
	struct tracedir td;

	(void)state;
	become_rank(0, 1, "before");
	create("t", &td);
	put(&td, "before");
	tracedir_close(&td);
	become_rank(0, 1, "slow");
	before_flock = another_job_takes_it;
	refused("t", "another sonde is recording there");
	assert_null(before_flock);
	expect_text("t/rank-0/data", "quick");
	expect_text("t.old/rank-0/data", "before");
	tracedir_close(&other);
	create("t", &td);
	expect_text("t.old/rank-0/data", "quick");
	tracedir_close(&td);
}

static void another_rank_is_first(void)
{
	become_rank(1, 2, "job");
	assert_int_equal(tracedir_create("t", &other), 0);
	become_rank(0, 2, "job");
}

static bool locks_the_marker(const struct tracedir *td)
{
	struct stat mine, there;

	return fstat(td->lock_fd, &mine) == 0 && stat("t/.sonde", &there) == 0 &&
	       mine.st_ino == there.st_ino;
}

/* Both find the folder empty; one places its marker just before the other does. */
static void test_marker_made_before_ours(void **state)
{
	struct tracedir td;

	(void)state;
	become_rank(0, 2, "job");
	before_link = another_rank_is_first;
	create("t", &td);
	assert_null(before_link);
	assert_true(locks_the_marker(&td));
	assert_true(locks_the_marker(&other));
	assert_true(exists("t/rank-0"));
	assert_true(exists("t/rank-1"));
	tracedir_close(&td);
	tracedir_close(&other);
}

/* ---- what a rank is ---- */

struct environment {
	const char *set[5][2];
	int rank, ranks;
	const char *key; /* NULL: any */
};

static const struct environment environments[] = {
	{ { { NULL, NULL } }, -1, 0, NULL },
	{ { { "PMIX_RANK", "2" }, { "PMIX_NAMESPACE", "prterun-h-1@1" } }, 2, 0, "pmix:prterun-h-1@1:" },
	{ { { "PMI_RANK", "1" }, { "PMI_SIZE", "4" }, { "PMI_JOBID", "77.0" } }, 1, 4, "pmi:77.0:" },
	/* a step of srun */
	{ { { "SLURM_PROCID", "5" }, { "SLURM_STEP_ID", "3" }, { "SLURM_STEP_NUM_TASKS", "8" },
	    { "SLURM_JOB_ID", "42" } }, 5, 8, "slurm:42:3" },
	/* a batch script, and srun with one task: no ranks */
	{ { { "SLURM_PROCID", "0" }, { "SLURM_JOB_ID", "42" } }, -1, 0, NULL },
	{ { { "SLURM_PROCID", "0" }, { "SLURM_STEP_ID", "0" }, { "SLURM_STEP_NUM_TASKS", "1" },
	    { "SLURM_JOB_ID", "42" } }, -1, 0, NULL },
	/* mpirun in a batch script */
	{ { { "OMPI_COMM_WORLD_RANK", "3" }, { "OMPI_COMM_WORLD_SIZE", "4" }, { "PMIX_NAMESPACE", "9" },
	    { "SLURM_PROCID", "0" }, { "OMPI_MCA_orte_precondition_transports", "abc" } },
	  3, 4, "pmix:9:abc" },
	{ { { "PMI_RANK", "-1" } }, -1, 0, NULL },
	{ { { "PMI_RANK", "x" } }, -1, 0, NULL },
	{ { { "PMI_RANK", "99999999999" } }, -1, 0, NULL },
	{ { { "PMI_RANK", "0" } }, 0, 0, NULL },
};

static void test_job(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(environments) / sizeof(environments[0]); i++) {
		const struct environment *e = &environments[i];
		struct job job;

		become_nobody_in_particular();
		for (int k = 0; k < 5 && e->set[k][0]; k++)
			setenv(e->set[k][0], e->set[k][1], 1);
		assert_int_equal(job_detect(&job), 0);
		assert_int_equal(job.rank, e->rank);
		assert_int_equal(job.ranks, e->ranks);
		assert_int_equal(job.key != NULL, e->rank >= 0);
		if (e->key)
			assert_string_equal(job.key, e->key);
		job_free(&job);
	}
	become_nobody_in_particular();
}

/* ---- programs ---- */

static void test_programs(void **state)
{
	static const struct {
		int pid, number;
		const char *path;
	} expected[] = { { 77, 1, "t/process-77" }, { 78, 1, "t/process-78" }, { 77, 2, "t/process-77.2" } };
	int number;

	(void)state;
	assert_int_equal(mkdir("t", 0755), 0);
	for (size_t i = 0; i < 3; i++) {
		char *path = tracedir_add_program("t", expected[i].pid, &number);

		assert_string_equal(path, expected[i].path);
		assert_int_equal(number, expected[i].number);
		assert_true(exists(path));
		free(path);
	}
	assert_null(tracedir_add_program("none", 77, &number));
	assert_int_equal(errno, ENOENT);
}

static void test_files(void **state)
{
	(void)state;
	assert_true(files_make_folders("a/b/c", 0755));
	assert_true(files_make_folders("a/b/c", 0755));
	write_text("a/b/file", "x");
	assert_false(files_make_folders("a/b/file/d", 0755));
	assert_int_equal(files_is_empty_folder("a/b/c"), 1);
	assert_int_equal(files_is_empty_folder("a/b"), 0);
	assert_int_equal(files_is_empty_folder("a/b/file"), -1);
	/* Links are removed, not followed. */
	assert_int_equal(mkdir("kept", 0755), 0);
	write_text("kept/file", "x");
	assert_int_equal(symlink("../../kept", "a/b/link"), 0);
	assert_true(files_remove_tree("a"));
	assert_false(exists("a"));
	assert_true(exists("kept/file"));
}

#define IN_FOLDER(test_) cmocka_unit_test_setup_teardown(test_, enter_fresh_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_rotation),	   IN_FOLDER(test_names),
		IN_FOLDER(test_untouched),	   IN_FOLDER(test_old_untouched),
		IN_FOLDER(test_in_use),		   IN_FOLDER(test_lock_not_inherited),
		IN_FOLDER(test_abandon),	   IN_FOLDER(test_unwritable),
		IN_FOLDER(test_ranks),		   IN_FOLDER(test_stale_ranks),
		IN_FOLDER(test_same_rank_again),   IN_FOLDER(test_rank_abandons),
		IN_FOLDER(test_job_waits_for_other), IN_FOLDER(test_waits_for_end),
		IN_FOLDER(test_marker_moved_before_lock), IN_FOLDER(test_marker_made_before_ours),
		IN_FOLDER(test_job),
		IN_FOLDER(test_programs),		   IN_FOLDER(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
