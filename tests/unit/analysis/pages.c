// SPDX-License-Identifier: GPL-3.0-or-later
/* Pages that threads touch first, and NUMA nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/sharing/nodes.h"
#include "analysis/sharing/pages.h"

#define PAGE UINT64_C(4096)

static void access_at(struct sh_pages_thread *t, uint64_t addr, uint32_t size, uint8_t kind, uint64_t insn)
{
	const struct mt_access a = { .addr = addr, .size = size, .kind = kind, .insn = insn };

	assert_true(sh_pages_thread_take(t, &a, 1));
}

static void at(struct sh_pages_thread *t, uint64_t now)
{
	assert_true(sh_pages_thread_time(t, now, true));
}

static void test_first(void **state)
{
	struct sh_pages *p = sh_pages_new(12, false);
	struct sh_pages_thread *a = sh_pages_thread_new(p, 1, 10), *b = sh_pages_thread_new(p, 1, 11), *c = sh_pages_thread_new(p, 2, 20);
	const struct sh_page *page;

	(void)state;
	/* page 1: b stores first, though a has loaded before; page 2: only loads; page 3: both store at times that overlap */
	at(a, 100);
	access_at(a, PAGE + 8, 8, MD_LOAD, 0xa1);
	access_at(a, 2 * PAGE, 8, MD_LOAD, 0xa2);
	at(a, 200);
	access_at(a, 3 * PAGE, 8, MD_STORE, 0xa3);
	at(a, 300);
	access_at(a, PAGE + 8, 8, MD_MODIFY, 0xa4);
	access_at(a, PAGE + 8, 8, MD_MODIFY, 0xa4);
	at(a, 400);
	at(b, 210);
	access_at(b, PAGE + 16, 8, MD_STORE, 0xb1);
	access_at(b, 3 * PAGE + 8, 8, MD_STORE, 0xb2);
	access_at(b, 2 * PAGE, 8, MD_LOAD, 0xb3);
	at(b, 250);
	/* another process; over two pages */
	at(c, 50);
	access_at(c, 2 * PAGE - 4, 8, MD_STORE, 0xc1);
	at(c, 60);
	assert_true(sh_pages_finish(p));

	page = sh_page(p, 0);
	assert_int_equal(page->address, PAGE);
	assert_int_equal(page->uses[page->first].tid, 11);
	assert_int_equal(page->insn, 0xb1);
	assert_int_equal(page->at, PAGE + 16);
	assert_int_equal(page->from, 210);
	assert_int_equal(page->to, 250);
	assert_false(page->unsure);
	assert_int_equal(page->nuses, 2);
	assert_int_equal(page->uses[0].loads, 1);
	assert_int_equal(page->uses[0].stores, 2);
	assert_int_equal(page->uses[0].insn, 0xa4);
	page = sh_page(p, 1);
	assert_int_equal(page->uses[page->first].tid, 10);
	assert_false(page->unsure);
	page = sh_page(p, 2);
	assert_int_equal(page->uses[page->first].tid, 10);
	assert_true(page->unsure);
	page = sh_page(p, 3);
	assert_int_equal(page->pid, 2);
	assert_int_equal(page->address, PAGE);
	assert_int_equal(sh_page(p, 4)->address, 2 * PAGE);
	assert_int_equal(sh_page(p, 4)->at, 2 * PAGE);
	assert_null(sh_page(p, 5));
	sh_pages_free(p);
}

static void test_many(void **state)
{
	struct sh_pages *p = sh_pages_new(12, true);
	struct sh_pages_thread *t = sh_pages_thread_new(p, 1, 10);

	(void)state;
	for (uint64_t k = 0; k < 3; k++)
		for (uint64_t i = 0; i < 1000; i++) {
			access_at(t, i * PAGE + k * 8, 8, MD_STORE, k);
			access_at(t, i * PAGE + k * 8, 8, MD_STORE | MD_STACK, k);
			access_at(t, i * PAGE + k * 8, 8, MD_PREFETCH, k);
		}
	assert_true(sh_pages_finish(p));
	for (uint64_t i = 0; i < 1000; i++) {
		assert_int_equal(sh_page(p, i)->address, i * PAGE);
		assert_int_equal(sh_page(p, i)->uses[0].stores, 3);
		assert_int_equal(sh_page(p, i)->to, UINT64_MAX);
	}
	assert_null(sh_page(p, 1000));
	sh_pages_free(p);
}

static bool read_text(struct sh_nodes *n, const char *text, char error[static 200])
{
	return sh_nodes_read(n, text, strlen(text), error, 200);
}

static void test_nodes(void **state)
{
	struct sh_nodes n;
	char error[200];

	(void)state;
	assert_true(read_text(&n, "nodes:\n  - { cpus: 0-1 }\n  - { cpus: [4, 6-7] }\n", error));
	assert_int_equal(n.n, 2);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(sh_node(&n, i), i % 5 >= 2);
	sh_nodes_free(&n);
	assert_true(read_text(&n, "nodes: [ { threads: '1,3', cpus: 9 }, { threads: [0, 2] }, { cpus: 1 } ]", error));
	assert_int_equal(sh_node(&n, 1), 0);
	assert_int_equal(sh_node(&n, 3), 0);
	assert_int_equal(sh_node(&n, 0), 1);
	assert_int_equal(sh_node(&n, 4), 2); /* the first processor is 1 */
	assert_int_equal(sh_node(&n, 5), 0);
	assert_int_equal(sh_node(&n, UINT32_MAX), 0);
	sh_nodes_free(&n);
	assert_true(read_text(&n, "nodes: [ { threads: 5 }, { threads: 6 } ]", error));
	assert_int_equal(sh_node(&n, 3), 1);
	sh_nodes_free(&n);
	assert_false(read_text(&n, "", error));
	assert_false(read_text(&n, "nodes: []", error));
	assert_false(read_text(&n, "nodes: [ { } ]", error));
	assert_false(read_text(&n, "nodes: [ { cpus: 3-1 } ]", error));
	assert_false(read_text(&n, "nodes: [ { cpus: 0-3 }, { cpus: 3 } ]", error));
	assert_non_null(strstr(error, "twice"));
	assert_false(read_text(&n, "nodes: [ { cpus: 65536 } ]", error));
	assert_false(read_text(&n, "nodes: [ { cpus: 1, threads: [[1]] } ]", error));
	assert_false(read_text(&n, "nodes: [ { cpus: '1,' } ]", error));
	assert_false(read_text(&n, "nodes: [ { cpus: 1 } ]\n---\nnodes: [ { cpus: 1 } ]", error));
}

static void write_file(const char *dir, unsigned int node, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/node%u", dir, node);
	assert_int_equal(mkdir(path, 0700), 0);
	strcat(path, "/cpulist");
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_here(void **state)
{
	char dir[] = "nodesXXXXXX", command[100];
	struct sh_nodes n;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_true(sh_nodes_here(&n, dir));
	assert_int_equal(n.n, 1);
	assert_int_equal(sh_node(&n, 17), 0);
	sh_nodes_free(&n);
	write_file(dir, 0, "0-1\n");
	write_file(dir, 1, "2-3\n");
	write_file(dir, 3, "\n"); /* memory alone */
	assert_true(sh_nodes_here(&n, dir));
	assert_int_equal(n.n, 4);
	assert_int_equal(sh_node(&n, 1), 0);
	assert_int_equal(sh_node(&n, 2), 1);
	assert_int_equal(sh_node(&n, 4), 0);
	sh_nodes_free(&n);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
