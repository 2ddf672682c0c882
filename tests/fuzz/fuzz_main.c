// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Feeds files to a fuzzer's entry, for `make check` and to look into one input: the files and
 * folders named, else the corpus tests/fuzz/corpus/NAME for a program fuzz_NAME.
 */
#include <dirent.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t inputs;

static void feed_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size ? size : 1);	/* exact, so that its end is guarded */
	FILE *file = fopen(path, "rb");

	if (!data || !file || fread(data, 1, size, file) != size)
		err(99, "%s", path);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	inputs++;
}

static void feed(const char *path)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (stat(path, &st) != 0)
		err(99, "%s", path);
	if (!S_ISDIR(st.st_mode)) {
		feed_file(path, (size_t)st.st_size);
		return;
	}
	dir = opendir(path);
	if (!dir)
		err(99, "%s", path);
	while ((entry = readdir(dir))) {
		char child[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		feed(child);
	}
	closedir(dir);
}

static void feed_corpus(const char *program)
{
	const char *top = getenv("top_srcdir");
	const char *name = strstr(program, "fuzz_");
	char path[4096];

	if (!top || !name)
		errx(99, "usage: %s FILE-OR-FOLDER...", program);
	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s", top, name + strlen("fuzz_"));
	feed(path);
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	if (argc == 1)
		feed_corpus(slash ? slash + 1 : argv[0]);
	for (int i = 1; i < argc; i++)
		feed(argv[i]);
	printf("%zu inputs\n", inputs);
	return inputs ? 0 : 1;
}
