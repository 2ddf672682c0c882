/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/signatures.h"

#include "injector/signatures/signatures.h"
#include "launcher/common/files.h"
#include "launcher/common/installed.h"
#include "launcher/common/message.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OWN "/signatures"
#define SHARED PKGDATADIR "/signatures"

static void complain(const char *path, const char *problem)
{
	msg_warn("%s %s", path, problem);
}

/* In the user's cache folder; malloc'ed; NULL: there is none. */
static char *own_folder(const char *name)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *folder = NULL;
	int n = -1;

	if (xdg && xdg[0] == '/')
		n = asprintf(&folder, "%s/sonde%s", xdg, name);
	else if (home && home[0] == '/')
		n = asprintf(&folder, "%s/.cache/sonde%s", home, name);
	return n > 0 ? folder : NULL;
}

char *signatures_folder(void)
{
	char *folder = own_folder(OWN);

	if (folder && files_make_folders(folder, 0700))
		return folder;
	free(folder);
	return NULL;
}

static int use(const char *const *folders)
{
	char *cache = own_folder("");
	bool good = inj_signatures_use(&(struct inj_signatures_where){ folders, cache, complain });

	free(cache);
	if (good)
		return 0;
	msg_error("out of memory");
	return EXIT_USAGE;
}

static bool ends_as_file(const char *name)
{
	size_t len = strlen(name), end = strlen(SIG_SUFFIX);

	return len > end && strcmp(name + len - end, SIG_SUFFIX) == 0;
}

static bool has_files(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	bool any = false;

	while (dir && !any && (e = readdir(dir)))
		any = e->d_name[0] != '.' && ends_as_file(e->d_name);
	if (dir)
		closedir(dir);
	return any;
}

/* One that was named has to be good. */
static int check_file(const char *path)
{
	struct inj_sig_file f;
	const char *problem;
	bool good = inj_sig_open(&f, path, &problem);

	inj_sig_close(&f);
	if (!good)
		msg_error("--signatures: %s: %s", path, problem);
	return good ? 0 : EXIT_USAGE;
}

static int use_named(const char *where)
{
	struct stat st;
	int status = 0;

	if (stat(where, &st) < 0) {
		msg_error("--signatures: %s: %m", where);
		return EXIT_USAGE;
	}
	if (!S_ISDIR(st.st_mode)) {
		status = check_file(where);
	} else if (!has_files(where)) {
		msg_error("--signatures: %s: holds no *" SIG_SUFFIX "; `sonde signature make' makes them", where);
		status = EXIT_USAGE;
	}
	return status ? status : use((const char *[]){ where, NULL });
}

int signatures_use(const char *where)
{
	char *own, *shared;
	int status;

	if (where && strcmp(where, "none") == 0)
		return use((const char *[]){ NULL });
	if (where)
		return use_named(where);
	own = own_folder(OWN);
	shared = installed_path(SHARED);
	if (!shared) {
		free(own);
		msg_error("out of memory");
		return EXIT_USAGE;
	}
	status = use((const char *[]){ own ? own : shared, own ? shared : NULL, NULL });
	free(own);
	free(shared);
	return status;
}
