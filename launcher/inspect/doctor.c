/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde doctor`: tries what Sonde needs of this machine, and says what to do where it is not there. */
#include "launcher/common/files.h"
#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "launcher/module/modmpi.h"
#include "launcher/common/options.h"
#include "launcher/verbs.h"

#include <cpuid.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIB (UINT64_C(1) << 30)
#define HWCAP2_FSGSBASE_BIT 2

enum verdict { OK, WARN, FAIL };

struct finding {
	enum verdict verdict;
	char text[1024];
};

static struct finding __attribute__((format(printf, 2, 3))) found(enum verdict verdict,
								  const char *fmt, ...)
{
	struct finding f = { .verdict = verdict };
	va_list args;

	va_start(args, fmt);
	vsnprintf(f.text, sizeof(f.text), fmt, args);
	va_end(args);
	return f;
}

/* ---- small files of /proc and /sys ---- */

static bool read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(buf, (int)size, f);

	if (f)
		fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

/* A number of /proc/self/status; -1: not there. */
static long status_number(const char *key)
{
	char line[256];
	long value = -1;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
			value = strtol(line + strlen(key) + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	return value;
}

/* ---- tracing ---- */

static void wait_for_child(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* 0, or the error number of tracing a child as `sonde record` does. */
static int try_ptrace(void)
{
	int err = 0;
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	if (pid < 0)
		return errno;
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_EXITKILL) != 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0)
		err = errno;
	if (!err && waitpid(pid, NULL, __WALL) != pid)
		err = errno;
	kill(pid, SIGKILL);
	wait_for_child(pid);
	return err;
}

static struct finding check_ptrace(void)
{
	int err = try_ptrace();
	long tracer = status_number("TracerPid");

	if (!err)
		return found(OK, "a child process can be traced");
	if (tracer > 0)
		return found(FAIL, "%s: this sonde is itself traced by process %ld, which keeps its children",
			     strerror(err), tracer);
	if (status_number("Seccomp") > 0)
		return found(FAIL, "%s: a seccomp filter forbids it, as in many containers; start yours with "
				   "--cap-add=SYS_PTRACE or --security-opt seccomp=unconfined", strerror(err));
	return found(FAIL, "%s: the system forbids tracing; see the next line, or ask who runs it",
		     strerror(err));
}

static struct finding check_yama(void)
{
	char scope[16];

	if (!read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)))
		return found(OK, "Yama does not restrict tracing");
	switch (scope[0]) {
	case '0':
	case '1':
		return found(OK, "Yama's ptrace_scope is %s: own children may be traced", scope);
	case '2':
		return found(geteuid() == 0 ? OK : WARN,
			     "Yama's ptrace_scope is 2: only with CAP_SYS_PTRACE; run sonde as root, or "
			     "sysctl kernel.yama.ptrace_scope=1");
	default:
		return found(FAIL, "Yama's ptrace_scope is %s: no tracing until the next boot; set "
				   "kernel.yama.ptrace_scope=1 in /etc/sysctl.d and reboot", scope);
	}
}

/* ---- memory that is written here and executed there ---- */

static const char *try_memfd(void)
{
	static const unsigned char ret = 0xc3; /* ret */
	long page = sysconf(_SC_PAGESIZE);
	const char *problem = NULL;
	int fd = memfd_create("sonde-doctor", MFD_CLOEXEC);

	if (fd < 0)
		return "memfd_create";
	if (ftruncate(fd, page) != 0 || pwrite(fd, &ret, 1, 0) != 1)
		problem = "writing to a memfd";
	void *code = problem ? MAP_FAILED
			     : mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (!problem && code == MAP_FAILED)
		problem = "mapping a memfd for execution";
	if (!problem) {
		((void (*)(void))code)();
		munmap(code, (size_t)page);
	}
	int saved = errno;
	close(fd);
	errno = saved;
	return problem;
}

static struct finding check_memfd(void)
{
	const char *problem = try_memfd();

	if (!problem)
		return found(OK, "code in a memfd can be executed");
	return found(FAIL, "%s: %m; see sysctl vm.memfd_noexec, SELinux and seccomp filters", problem);
}

/* ---- the processor ---- */

static struct finding check_fsgsbase(void)
{
	if (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT)
		return found(OK, "rdfsbase and wrgsbase can be used");
	return found(WARN, "no FSGSBASE (Linux 5.9 and a processor of 2012 or later have it): new threads are "
			   "set up more slowly, and modules that need the C library work in static programs with --slow-guest only");
}

static bool has_invariant_tsc(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

static struct finding check_tsc(void)
{
	char source[64] = "unknown";

	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		  sizeof(source));
	if (!has_invariant_tsc())
		return found(WARN, "the time-stamp counter is not invariant: times are wrong where the "
				   "processor's frequency changes (kernel's clock: %s)", source);
	/* The kernel gives the counter up when the cores' differ; a guest has a clock of its host's. */
	if (strcmp(source, "hpet") == 0 || strcmp(source, "acpi_pm") == 0 ||
	    strcmp(source, "jiffies") == 0)
		return found(WARN, "the kernel does not trust the time-stamp counter (its clock is %s): times "
				   "of different cores may disagree", source);
	return found(OK, "the time-stamp counter is invariant (kernel's clock: %s)", source);
}

/* ---- what Sonde is made of ---- */

static int note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct finding *f = arg;
	size_t len = strlen(f->text);

	(void)size;
	if (info->dlpi_name[0] != '/')
		return 0;
	char *real = realpath(info->dlpi_name, NULL);
	const char *name = real ? strrchr(real, '/') + 1 : info->dlpi_name;
	if (strncmp(name, "ld-", 3) != 0)
		snprintf(f->text + len, sizeof(f->text) - len, "%s%s", len ? " " : "", name);
	free(real);
	return 0;
}

static struct finding check_libraries(void)
{
	struct finding f = found(OK, "%s", "");

	dl_iterate_phdr(note_library, &f);
	if (!f.text[0])
		return found(OK, "all linked in");
	return f;
}

static const char tiny_module[] = "#include <sonde/module.h>\n"
				  "SONDE_MODULE(\"doctor\", \"tests the compiler\");\n"
				  "SONDE_WRAP(int, sonde_doctor, (int n)) {\n"
				  "	sonde_enter(SONDE_I32(\"n\", n));\n"
				  "	int result = SONDE_REAL(sonde_doctor)(n);\n"
				  "	sonde_leave(SONDE_I32(\"result\", result));\n"
				  "	return result;\n"
				  "}\n";

static int build_tiny(const char *folder)
{
	char source[256], object[256];
	struct modfile m;

	snprintf(source, sizeof(source), "%s/doctor.c", folder);
	snprintf(object, sizeof(object), "%s/doctor.so", folder);
	FILE *f = fopen(source, "we");
	if (!f)
		return -1;
	fputs(tiny_module, f);
	if (fclose(f) != 0)
		return -1;
	int status = modfile_build(source, object);
	if (!status) {
		status = modfile_read(object, source, &m);
		modfile_free(&m);
	}
	return status;
}

static struct finding check_compiler(void)
{
	char folder[] = "/tmp/sonde-doctor-XXXXXX";

	if (!mkdtemp(folder))
		return found(WARN, "/tmp cannot be written: %m");
	int status = build_tiny(folder);
	if (!files_remove_tree(folder))
		msg_warn("%s: not removed: %m", folder);
	if (!status)
		return found(OK, "a module was compiled");
	return found(WARN, "modules that are .c files cannot be used (see above); install gcc or clang, "
			   "those that are built already work without");
}

static struct finding check_modules(void)
{
	struct modfile_list list = { 0 };
	struct finding f;

	if (modfile_all(&list) != 0 || !list.n)
		f = found(WARN, "none found by name: is Sonde installed? $SONDE_MODULE_PATH tells where else "
				"they are");
	else if (!modmpi_is_listed(&list) && !modmpi_can_compile())
		f = found(WARN, "%zu found, but mpi needs an MPI's headers to be compiled: install libopenmpi-dev "
				"or libmpich-dev", list.n);
	else
		f = found(OK, "%zu found, with MPI; see 'sonde module list'", list.n);
	modfile_list_free(&list);
	return f;
}

/* ---- where traces go, limits ---- */

static struct finding check_folder(void)
{
	struct statvfs vfs;

	if (access(".", W_OK | X_OK) != 0)
		return found(WARN, "the current folder cannot be written: %m; traces need -o DIR");
	if (statvfs(".", &vfs) != 0)
		return found(OK, "the current folder can be written");
	uint64_t room = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	if (room < GIB)
		return found(WARN, "only %llu MiB are free here; name another place with -o DIR",
			     (unsigned long long)(room >> 20));
	return found(OK, "the current folder can be written, %llu GiB are free",
		     (unsigned long long)(room / GIB));
}

static struct finding check_limits(void)
{
	struct rlimit as, fsize, nofile;

	if (getrlimit(RLIMIT_AS, &as) != 0 || getrlimit(RLIMIT_FSIZE, &fsize) != 0 ||
	    getrlimit(RLIMIT_NOFILE, &nofile) != 0)
		return found(WARN, "cannot be read: %m");
	if (fsize.rlim_cur != RLIM_INFINITY)
		return found(WARN, "files may grow to %llu MiB only (ulimit -f); traces and buffers are files",
			     (unsigned long long)(fsize.rlim_cur >> 20));
	if (as.rlim_cur != RLIM_INFINITY && as.rlim_cur < 4 * GIB)
		return found(WARN, "address space is limited to %llu MiB (ulimit -v): fewer threads can be "
				   "recorded", (unsigned long long)(as.rlim_cur >> 20));
	if (nofile.rlim_cur < 256)
		return found(WARN, "only %llu open files (ulimit -n); a trace has one for each thread",
			     (unsigned long long)nofile.rlim_cur);
	return found(OK, "address space, file size and open files suffice");
}

/* ---- the verb ---- */

static const struct check {
	const char *name;
	struct finding (*run)(void);
} checks[] = {
	{ "ptrace", check_ptrace },	  { "yama", check_yama },
	{ "memfd", check_memfd },	  { "fsgsbase", check_fsgsbase },
	{ "clock", check_tsc },		  { "limits", check_limits },
	{ "trace folder", check_folder }, { "modules", check_modules },
	{ "compiler", check_compiler },	  { "libraries", check_libraries },
};

static const struct opt doctor_opts[] = { OPT_HELP, OPT_END };

static const struct opt_command doctor_command = {
	.name = "doctor",
	.usage = "[OPTION]...",
	.summary = "Tries what Sonde needs of this machine. The exit status is 1 when something fails.",
	.opts = doctor_opts,
	.examples = "sonde doctor\tmost useful where programs shall be recorded\n",
};

int verb_doctor(int argc, char **argv)
{
	static const char *const words[] = { "ok", "warn", "FAIL" };
	bool failed = false;
	char nothing;
	int first = opt_parse(&doctor_command, argc, argv, &nothing);

	if (first < 0)
		return OPT_STATUS(first);
	if (first < argc)
		return opt_usage_error(&doctor_command, "%s: no argument is expected", argv[first]);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct finding f = checks[i].run();

		printf("%-5s %-13s %s\n", words[f.verdict], checks[i].name, f.text);
		fflush(stdout);
		failed |= f.verdict == FAIL;
	}
	return failed ? 1 : 0;
}
