// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/common/debugfiles.h"
#include "base/path.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEBUG_FOLDER "/usr/lib/debug"

/* Beside the file: what libdwfl looks for by build-id alone, or by an absolute path. */
static int find_beside(const char *file, const char *wanted, char **found)
{
	int folder = (int)(path_basename(file) - file), fd = -1;
	char *path;

	if (asprintf(&path, "%.*s%s%s", folder, file, wanted ? path_basename(wanted) : path_basename(file), wanted ? "" : ".debug") < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		*found = path;
	else
		free(path);
	return fd;
}

/* Is there @folder's @name? */
static bool is_in(const char *folder, const char *below, const char *name)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s%s%s", folder, below, name) < sizeof(path) && access(path, F_OK) == 0;
}

/* Where libdwfl looks by name: beside the file, in .debug there, in the folder of debug files, with fewer and fewer folders below. */
static bool may_find(const char *file, const char *link)
{
	char folder[PATH_MAX], name[NAME_MAX + 1];
	const char *slash = strrchr(file, '/'), *below = folder;

	if (!slash || slash - file >= (ptrdiff_t)sizeof(folder) - 1 || (link && strchr(link, '/')))
		return true; /* that is for libdwfl to say */
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash + 1 - file), file);
	snprintf(name, sizeof(name), "%s%s", link ? link : slash + 1, link ? "" : ".debug");
	if (is_in(folder, "", name) || is_in(folder, ".debug/", name))
		return true;
	while (below && !is_in(DEBUG_FOLDER, below, name))
		below = strchr(below + 1, '/');
	return below;
}

/* By build-id, by name, and only with servers to ask from a server: to look for one alone, libdwfl loads some thirty libraries. */
static bool is_worth_looking(Dwfl_Module *module, const char *file, const char *link, char **found, int *fd)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	char *real;
	bool may;

	*fd = -1;
	if ((servers && *servers) || !file)
		return true;
	*fd = dwfl_build_id_find_debuginfo(module, NULL, NULL, 0, NULL, NULL, 0, found);
	if (*fd >= 0)
		return false;
	real = realpath(file, NULL);
	may = may_find(file, link) || (real && strcmp(real, file) != 0 && may_find(real, link));
	free(real);
	return may;
}

/* A Dwfl_Callbacks.find_debuginfo. */
static int find_debuginfo(Dwfl_Module *module, void **arg, const char *name, Dwarf_Addr base, const char *file,
			  const char *link, GElf_Word crc, char **found)
{
	int fd;

	if (is_worth_looking(module, file, link, found, &fd))
		fd = dwfl_standard_find_debuginfo(module, arg, name, base, file, link, crc, found);
	return fd < 0 && file ? find_beside(file, link, found) : fd;
}

const Dwfl_Callbacks debugfiles_callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* ---- which files these are ---- */

static char *if_there(char *path)
{
	if (path && access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* /usr/lib/debug/.build-id/ab/cdef.debug */
static char *by_build_id(const unsigned char *id, size_t bytes)
{
	char hex[2 * 64 + 1] = "", *path;

	if (bytes < 2 || bytes > 64)
		return NULL;
	for (size_t i = 0; i < bytes; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	return asprintf(&path, DEBUG_FOLDER "/.build-id/%.2s/%s.debug", hex, hex + 2) < 0 ? NULL : if_there(path);
}

/* @holder: the file that names it, with a path of its own, or one from its folder on. */
static char *find_common(Dwarf *dwarf, const char *holder)
{
	const char *name;
	const void *id;
	ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
	char *path = bytes > 0 ? by_build_id(id, (size_t)bytes) : NULL;

	if (bytes <= 0 || path)
		return path;
	path = NULL;
	if (*name == '/')
		path = if_there(strdup(name));
	else if (asprintf(&path, "%.*s%s", (int)(path_basename(holder) - holder), holder, name) >= 0)
		path = if_there(path);
	if (!path && asprintf(&path, "%.*s%s", (int)(path_basename(holder) - holder), holder, path_basename(name)) >= 0)
		path = if_there(path);
	return path;
}

/* The debug file's name. */
static char *name_of(Dwfl_Module *module, const char *path)
{
	GElf_Addr bias;
	GElf_Word crc;
	Elf *elf = dwfl_module_getelf(module, &bias);
	const char *link = elf ? dwelf_elf_gnu_debuglink(elf, &crc) : NULL;
	char *name;

	if (link && *path_basename(link))
		return strdup(path_basename(link));
	return asprintf(&name, "%s.debug", path_basename(path)) < 0 ? NULL : name;
}

static void find(Dwfl_Module *module, const char *path, struct debugfiles *files)
{
	const char *main_file = NULL, *debug_file = NULL;
	GElf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(module, &bias);

	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
	if (debug_file && strcmp(debug_file, path) != 0) {
		files->debug = strdup(debug_file);
		files->debug_name = name_of(module, path);
	}
	if (dwarf)
		files->common = find_common(dwarf, files->debug ? files->debug : path);
}

bool debugfiles_find(const char *path, struct debugfiles *files)
{
	Dwfl *dwfl = dwfl_begin(&debugfiles_callbacks);
	Dwfl_Module *module = NULL;

	*files = (struct debugfiles){ 0 };
	if (!dwfl)
		return false;
	dwfl_report_begin(dwfl);
	module = dwfl_report_offline(dwfl, "", path, -1);
	if (dwfl_report_end(dwfl, NULL, NULL) == 0 && module)
		find(module, path, files);
	dwfl_end(dwfl);
	if (!module || !files->debug == !files->debug_name)
		return module != NULL;
	debugfiles_free(files);
	return false;
}

void debugfiles_free(struct debugfiles *files)
{
	free(files->debug);
	free(files->debug_name);
	free(files->common);
	*files = (struct debugfiles){ 0 };
}
