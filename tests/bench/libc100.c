// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A hundred functions that the C library has, no two of them the same code.  Six integers in, one
 * out: as much as any of them passes.
 */
#include <sonde/module.h>

SONDE_MODULE("bench-libc100", "records entry and exit of 100 functions of the C library");

#define SIX(t) t a, t b, t c, t d, t e, t f
#define W(function)                                                  \
	SONDE_WRAP(long, function, (SIX(long)))                      \
	{                                                            \
		long result;                                         \
                                                                     \
		sonde_enter();                                       \
		result = SONDE_REAL(function)(a, b, c, d, e, f);     \
		sonde_leave();                                       \
		return result;                                       \
	}

W(fclose) W(fdopen) W(fflush) W(fgetc) W(fgetpos) W(fgets) W(fgetwc) W(fgetws) W(fmemopen) W(fopen)
W(fopencookie) W(fputs) W(fputwc) W(fputws) W(fread) W(freopen) W(fseek) W(fseeko) W(fsetpos) W(ftell)
W(fwide) W(fwrite) W(getchar) W(getdelim) W(getline) W(getwchar) W(setbuffer) W(setvbuf) W(ungetc) W(puts)
W(getaddrinfo) W(freeaddrinfo) W(getifaddrs) W(getnameinfo) W(gethostbyname) W(getservbyname)
W(getprotobyname) W(getpwnam) W(getpwuid) W(getgrnam) W(getgrgid) W(getgrouplist) W(getspnam)
W(getlogin) W(getpass) W(getopt) W(getsubopt) W(getenv) W(setenv) W(unsetenv) W(putenv)
W(clearenv) W(hcreate_r) W(hsearch_r) W(lfind) W(lsearch) W(qsort_r) W(bsearch) W(tsearch) W(tfind)
W(tdelete) W(localtime_r) W(gmtime_r) W(mktime) W(timegm) W(strftime) W(strptime) W(asctime_r)
W(strcoll) W(strxfrm) W(strerror) W(strsignal) W(strdup) W(strndup) W(strsep) W(strtok_r) W(strverscmp)
W(strfry) W(memfrob) W(memmem) W(wcscoll) W(wcsdup) W(wcstok) W(wcswidth) W(regcomp) W(regexec)
W(regfree) W(fnmatch) W(glob) W(globfree) W(wordexp) W(wordfree) W(ftw) W(nftw)
W(opendir) W(readdir) W(closedir) W(scandir) W(system) W(realpath)
