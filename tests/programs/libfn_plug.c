/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library that fn_plugs opens: a constructor, exported, hidden and static functions, a callback. */
static int loaded;

__attribute__((noinline)) static int inside(int i)
{
	__asm__ volatile("" : "+r"(i));
	return i * 5 + loaded;
}

__attribute__((noinline, visibility("hidden"))) int hidden(int i)
{
	return inside(i) + 1;
}

__attribute__((constructor)) static void plug_starts(void)
{
	loaded = inside(1);
}

__attribute__((destructor)) static void plug_ends(void)
{
	inside(2);
}

int plug(int i, int (*callback)(int))
{
	return hidden(i) + callback(i + 1);
}
