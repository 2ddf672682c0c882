// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Feeds inputs to a fuzzer's entry, for `make check` and to look into one input: the files and
 * archives named, else the corpus tests/fuzz/corpus/NAME.tar for a program fuzz_NAME.  Each input
 * is named before it is fed, so that the last line is the one that fails.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAR_BLOCK 512
#define TAR_SIZE 124 /* offset of a member's size, in octal digits */
#define TAR_TYPE 156 /* '0' for a file */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t inputs;

static void feed(const char *name, const uint8_t *bytes, size_t size)
{
	uint8_t *data = malloc(size ? size : 1);	/* exact, so that its end is guarded */

	if (!data)
		err(99, "%s", name);
	memcpy(data, bytes, size);
	printf("%.100s\n", name);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	inputs++;
}

/* Every file of an archive; POSIX.1-1988 ustar, which GNU tar writes for names this short. */
static void feed_archive(const char *path, const uint8_t *data, size_t size)
{
	size_t at = 0;

	while (size - at >= TAR_BLOCK && data[at]) {
		const char *head = (const char *)data + at;
		size_t bytes = strtoul(head + TAR_SIZE, NULL, 8);

		at += TAR_BLOCK;
		if (bytes > size - at)
			errx(99, "%s: ends within %.100s", path, head);
		if (head[TAR_TYPE] == '0')
			feed(head, data + at, bytes);
		bytes = (bytes + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
		if (bytes > size - at)
			break;
		at += bytes;
	}
	if (size - at < TAR_BLOCK)
		errx(99, "%s: ends without an end", path);
}

static void feed_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data;
	long size;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
		err(99, "%s", path);
	data = malloc((size_t)size + 1);
	rewind(file);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
		err(99, "%s", path);
	fclose(file);
	if (strlen(path) > 4 && strcmp(path + strlen(path) - 4, ".tar") == 0)
		feed_archive(path, data, (size_t)size);
	else
		feed(path, data, (size_t)size);
	free(data);
}

static void feed_corpus(const char *program)
{
	const char *top = getenv("top_srcdir");
	const char *name = strstr(program, "fuzz_");
	char path[4096];

	if (!top || !name)
		errx(99, "usage: %s FILE-OR-ARCHIVE...", program);
	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s.tar", top, name + strlen("fuzz_"));
	feed_file(path);
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 1)
		feed_corpus(slash ? slash + 1 : argv[0]);
	for (int i = 1; i < argc; i++)
		feed_file(argv[i]);
	printf("%zu inputs\n", inputs);
	return inputs ? 0 : 1;
}
