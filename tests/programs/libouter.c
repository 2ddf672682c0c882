/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library that loads another one, which only its own $ORIGIN leads to. */
#include <dlfcn.h>
#include <stddef.h>

int outer_work(int i)
{
	void *plug = dlopen("libplug.so", RTLD_NOW | RTLD_LOCAL);
	int (*f)(int) = plug ? (int (*)(int))dlsym(plug, "plug_work") : NULL;
	int r = f ? f(i) : -1;

	if (plug)
		dlclose(plug);
	return r;
}
