/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three kinds of output, what is said when something is missing, and the exit status. */
#include "tests/unit/report/support.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/verbs.h"

enum { MAIN, READ, QUOTED };

static struct trace_maker m;

/*
 * main 1000..9000 with a read of 512 bytes from 2000 to 2250; in that and from 3000 on, when it is left by
 * longjmp, a function with a difficult name.
 */
static void make_trace(const char *name, uint64_t lost)
{
	static const struct tf_field enter[] = { { "wait", SONDE_TRACE_WAIT }, { NULL, 0 } };
	static const struct tf_field leave[] = { { "bytes", SONDE_TRACE_BYTES }, { NULL, 0 } };

	maker_begin(&m, name, -1);
	maker_module(&m, "io");
	maker_function(&m, MAIN, "main", "/opt/app", NULL);
	maker_function_fields(&m, READ, "read", "io", enter, leave);
	maker_function(&m, QUOTED, "op\"\x1b\xff,", "/lib/a,b.so", NULL);
	maker_thread(&m, 100, 100);
	maker_enter_at(&m, MAIN, 1000);
	maker_enter_at(&m, READ, 2000);
	maker_enter_at(&m, QUOTED, 2100);
	maker_leave_at(&m, QUOTED, 2150);
	maker_at(&m, 2250);
	maker_leave(&m, READ, 1, UINT64_C(512));
	maker_enter_at(&m, QUOTED, 3000);
	maker_unwind_to(&m, 1);
	maker_leave_at(&m, MAIN, 9000);
	maker_end_thread(&m, lost);
	maker_end(&m, 10000);
}

static void test_csv(void **state)
{
	struct opened o;

	(void)state;
	make_trace("csv", 0);
	report_open(&o, "csv", &everything);
	char *text = printed(report_print_csv, &o.report);
	assert_string_equal(
		text,
		"function,module,kind,calls,total_ns,total_percent,self_ns,self_percent,average_ns,"
		"min_ns,max_ns,wait_ns,threads,processes,ranks,unwound,open,orphaned,symbol,path,estimated,error_ns,"
		"blocked_ns,preempted_ns,\"bytes\"\n"
		"\"main\",\"\",function,1,8000,80.000,1750,17.500,8000,8000,8000,0,1,1,1,0,0,0,\"main\","
		"\"/opt/app\",0,0,0,0,0\n"
		"\"op\"\"\x1b\xff,\",\"\",function,2,6050,60.500,6050,60.500,3025,50,6000,0,1,1,1,1,0,0,"
		"\"op\"\"\x1b\xff,\",\"/lib/a,b.so\",0,0,0,0,0\n"
		"\"read\",\"io\",function,1,250,2.500,200,2.000,250,250,250,250,1,1,1,0,0,0,\"read\",\"\","
		"0,0,0,0,512\n");
	free(text);
	report_close(&o);
}

static json_int_t number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void test_json(void **state)
{
	json_error_t error;
	struct opened o;

	(void)state;
	make_trace("json", 7);
	report_open(&o, "json", &everything);
	char *text = printed(report_print_json, &o.report);
	json_t *all = json_loads(text, 0, &error);
	assert_non_null(all);
	assert_int_equal(number(all, "events"), 8);
	const json_t *run = json_array_get(json_object_get(all, "runs"), 0);
	assert_int_equal(number(run, "exit_status"), 3);
	assert_int_equal(number(run, "end_ns"), 10000);
	assert_string_equal(json_string_value(json_array_get(json_object_get(run, "arguments"), 1)),
			    "-n 3");
	assert_int_equal(json_array_size(json_object_get(all, "problems")), 1);
	const json_t *table = json_array_get(json_object_get(all, "tables"), 0);
	assert_int_equal(number(table, "time_ns"), 10000);
	assert_int_equal(number(table, "wait_ns"), 250);
	assert_int_equal(number(json_object_get(table, "waiting_ns"), "io"), 250);
	assert_int_equal(json_object_size(json_object_get(table, "apart_ns")), 0);
	const json_t *functions = json_object_get(table, "functions");
	assert_int_equal(json_array_size(functions), 3);
	const json_t *quoted = json_array_get(functions, 1), *read = json_array_get(functions, 2);
	assert_string_equal(json_string_value(json_object_get(quoted, "function")),
			    "op\"\x1b\xef\xbf\xbd,");
	assert_int_equal(number(quoted, "unwound"), 1);
	assert_int_equal(number(read, "total_ns"), 250);
	assert_int_equal(number(json_object_get(read, "bytes"), "bytes"), 512);
	json_decref(all);
	free(text);
	report_close(&o);
}

static unsigned width;

static void print_text(const struct report *r, FILE *out)
{
	report_print_text(r, out, width, false);
}

static void test_table(void **state)
{
	struct opened o;

	(void)state;
	make_trace("table", 0);
	report_open(&o, "table", &everything);
	width = 0;
	char *text = printed(print_text, &o.report);
	assert_non_null(strstr(text, "program     ./app '-n 3'\n"));
	assert_non_null(strstr(text, " on node7, for 10.00 us\n"));
	assert_non_null(strstr(text, "ended       exit status 3\n"));
	assert_non_null(strstr(text, "contents    1 process, 1 thread, 8 events\n"
				     "waiting     250 ns (2.5%): io 250 ns\n"));
	assert_non_null(strstr(text, "\ncalls     total  total%      self  self%   average       min       max"
				     "    wait  bytes  module  function\n"
				     "    1  8.000 us   80.0%  1.750 us  17.5%  8.000 us  8.000 us  8.000 us"
				     "                         main\n"));
	assert_non_null(strstr(text, "    1    250 ns    2.5%    200 ns   2.0%    250 ns    250 ns    250 ns"
				     "  250 ns  512 B  io      read\n"));
	assert_non_null(strstr(text, "  op\"?\xff,  (1 unwound)\n"));
	assert_non_null(strstr(text, "unwound: left by longjmp"));
	assert_null(strstr(text, "warning"));
	free(text);
	report_close(&o);
}

/* Every line of the table fits the terminal, and the name is there in part. */
static void test_width(void **state)
{
	char name[200] = "very_long_";
	struct opened o;

	(void)state;
	memset(name + strlen(name), 'x', 150);
	maker_begin(&m, "width", -1);
	maker_function(&m, 0, name, NULL, NULL);
	maker_thread(&m, 100, 100);
	maker_enter_at(&m, 0, 1000);
	maker_leave_at(&m, 0, 2000);
	maker_end_thread(&m, 0);
	maker_end(&m, 10000);
	report_open(&o, "width", &everything);
	for (width = 80; width < 250; width += 20) {
		char *text = printed(print_text, &o.report), *rest = strstr(text, "\ncalls");

		assert_non_null(rest);
		assert_non_null(strstr(rest, "very_"));
		assert_true((strstr(rest, "..") != NULL) == (strstr(rest, name) == NULL));
		for (char *line = strtok(rest, "\n"); line; line = strtok(NULL, "\n"))
			assert_true(strlen(line) <= width);
		free(text);
	}
	report_close(&o);
}

/* ---- the verb ---- */

static int run(const char *option, const char *dir, char *out, size_t size)
{
	char verb[] = "report", *argv[] = { verb, (char *)option, (char *)dir, NULL };
	int saved = dup(STDOUT_FILENO), status;
	int fd = open(test_path("stdout"), O_RDWR | O_CREAT | O_TRUNC, 0666);

	fflush(stdout);
	assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
	status = verb_report(3, argv);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	ssize_t n = pread(fd, out, size - 1, 0);
	out[n > 0 ? n : 0] = '\0';
	close(fd);
	close(saved);
	return status;
}

static void corrupt(const char *dir, long at)
{
	char path[512], byte;
	int fd;

	snprintf(path, sizeof(path), "%s/100.100.sonde", dir);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte = (char)~byte;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void test_status(void **state)
{
	char out[8192];

	(void)state;
	make_trace("intact", 0);
	assert_int_equal(run("--sort=self", test_path("intact"), out, sizeof(out)), 0);
	assert_true(strstr(out, "1.750 us") > strstr(out, "6.050 us"));
	assert_int_equal(run("--sort=size", test_path("intact"), out, sizeof(out)), 2);
	assert_int_equal(run("--thread=100.", test_path("intact"), out, sizeof(out)), 2);
	assert_int_equal(run("--thread=x", test_path("intact"), out, sizeof(out)), 2);
	assert_int_equal(run("--thread=5", test_path("intact"), out, sizeof(out)), 2);
	assert_int_equal(run("--thread=100.100", test_path("intact"), out, sizeof(out)), 0);
	assert_int_equal(run("--csv", test_path("not-there"), out, sizeof(out)), 2);
	assert_int_equal(run("--csv", test_dir(), out, sizeof(out)), 2);
	assert_string_equal(out, "");
	make_trace("lossy", 3);
	assert_int_equal(run("--sort=self", test_path("lossy"), out, sizeof(out)), 0);
	assert_memory_equal(out, "warning: 3 events were lost by 1 thread\n", 40);
}

/* The last chunk of two is damaged; the first is reported. */
static void test_damage(void **state)
{
	char out[8192], path[512];
	struct stat st;

	(void)state;
	maker_begin(&m, "damage", -1);
	maker_function(&m, 0, "f", NULL, NULL);
	maker_thread(&m, 100, 100);
	for (uint64_t i = 0; i < 2; i++) {
		maker_enter_at(&m, 0, 1000 * i);
		maker_leave_at(&m, 0, 1000 * i + 300);
		maker_flush(&m);
	}
	snprintf(path, sizeof(path), "%s/100.100.sonde", test_path("damage"));
	assert_int_equal(stat(path, &st), 0);
	maker_end_thread(&m, 0);
	maker_end(&m, 10000);
	corrupt(test_path("damage"), st.st_size - 2);
	assert_int_equal(run("--sort=self", test_path("damage"), out, sizeof(out)), 1);
	assert_memory_equal(out, "warning: 1 chunk of the trace is damaged and left out: ", 55);
	assert_non_null(strstr(out, "\n    1  300 ns"));
}

/* The first chunk, with the entry of f, is damaged: what is left of f is its return. */
static void test_damaged_start(void **state)
{
	char out[8192];

	(void)state;
	maker_begin(&m, "start", -1);
	maker_function(&m, 0, "f", NULL, NULL);
	maker_function(&m, 1, "g", NULL, NULL);
	maker_thread(&m, 100, 100);
	maker_enter(&m, 0, 0);
	maker_flush(&m);
	maker_enter_at(&m, 1, 1000);
	maker_leave_at(&m, 1, 1400);
	maker_leave_at(&m, 0, 1500);
	maker_end_thread(&m, 0);
	maker_end(&m, 10000);
	corrupt(test_path("start"), 64 + 80 + 3);
	assert_int_equal(run("--sort=self", test_path("start"), out, sizeof(out)), 1);
	assert_non_null(strstr(out, "1  400 ns"));
	assert_non_null(strstr(out, "  f  (1 orphaned)\n"));
}

/* The reader of our output is gone, and SIGPIPE is ignored: no error is left on stdout. */
static void test_closed_pipe(void **state)
{
	char verb[] = "report", csv[] = "--csv", *dir;
	int saved = dup(STDOUT_FILENO), fds[2];

	(void)state;
	make_trace("pipe", 0);
	dir = (char *)test_path("pipe");
	signal(SIGPIPE, SIG_IGN);
	fflush(stdout);
	assert_int_equal(pipe(fds), 0);
	dup2(fds[1], STDOUT_FILENO);
	close(fds[0]);
	close(fds[1]);
	int status = verb_report(3, (char *[]){ verb, csv, dir, NULL });
	bool good = fflush(stdout) == 0 && !ferror(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(status, 0);
	assert_true(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_damaged_start),
		cmocka_unit_test(test_closed_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
