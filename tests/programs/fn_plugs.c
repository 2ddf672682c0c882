/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_plugs LIBRARY: opens it, calls it, closes it, twice. */
#include <dlfcn.h>
#include <stdio.h>

#include "work.h"

OPAQUE int callback(int i)
{
	return work(i) + 1;
}

OPAQUE int use(const char *path, int i)
{
	void *lib = dlopen(path, RTLD_NOW);
	int (*plug)(int, int (*)(int)), r;

	if (!lib) {
		printf("%s\n", dlerror());
		return -1;
	}
	plug = (int (*)(int, int (*)(int)))dlsym(lib, "plug");
	r = plug(i, callback);
	dlclose(lib);
	return r;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	printf("%d %d\n", use(argv[1], 3), use(argv[1], 4));
	return 0;
}
