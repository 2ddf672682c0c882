// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "injector/facts/store.h"

static bool put_all(int fd, const uint8_t *bytes, size_t len)
{
	ssize_t n;

	for (size_t at = 0; at < len; at += (size_t)n) {
		n = write(fd, bytes + at, len - at);
		if (n <= 0)
			return false;
	}
	return true;
}

bool inj_store(const char *name, const void *head, size_t nhead, const void *rest, size_t nrest)
{
	char temp[4200];
	int fd, n = snprintf(temp, sizeof(temp), "%s.%d.%p", name, (int)getpid(), head);
	bool good;

	fd = n < (int)sizeof(temp) ? open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return false;
	good = put_all(fd, head, nhead) && put_all(fd, rest, nrest);
	good = close(fd) == 0 && good && rename(temp, name) == 0;
	if (!good)
		unlink(temp);
	return good;
}
