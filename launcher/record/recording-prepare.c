// SPDX-License-Identifier: GPL-3.0-or-later
/* What is made ready before a program is touched: modules, what they need of it, shared memory, the injector's session. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "launcher/common/files.h"
#include "launcher/common/installed.h"
#include "launcher/common/message.h"
#include "launcher/record/recording.h"

#define MANY_RINGS 4096u
#define MAPPED_RINGS 16u
#define CODE_BYTES (UINT64_C(16) << 20)
#define MIRROR_CODE_BYTES (UINT64_C(1) << 30) /* used as far as needed */
#define POOLS 64u
/* with an address space limit */
#define FEW_RINGS 64u
#define FEW_MAPPED_RINGS 2u
#define SMALL_RING (UINT64_C(256) << 10)
#define SMALL_CODE (UINT64_C(1) << 20)
#define FEW_POOLS 16u
#define ROOMY (UINT64_C(4) << 30)

static bool is_musl(const struct program *p)
{
	return p->interp && strstr(p->interp, "ld-musl");
}

/* Another C library than that which modules are compiled for, or none. */
static bool has_other_libc(const struct program *p)
{
	return p->is_static || is_musl(p);
}

/* A module that needs a C library gets its own, the guest's (injector/guest/guest.h), where the program's will not do. */
static int check_guest(const struct recording *r, const struct modfile *m)
{
	const char *what = r->program.is_static ? "a statically linked program does not offer" :
						  "is another one than the program's (musl)";

	if (r->opt.attached) {
		msg_error("module %s needs %s of the C library, which %s, and a process that runs already can be given none: write it "
			  "against sonde/module.h alone", m->name, m->undefined, what);
		return EXIT_USAGE;
	}
	if (inj_has_fsgsbase() || r->opt.slow_guest)
		return 0;
	msg_error("module %s needs %s of the C library, which %s; to give it one takes four system calls for each call here, since the "
		  "processor or the kernel has no FSGSBASE: --slow-guest does it all the same", m->name, m->undefined, what);
	return EXIT_USAGE;
}

static int check_modules(struct recording *r)
{
	r->guests = calloc(r->nwrapping + 1, sizeof(*r->guests));
	if (!r->guests)
		return EXIT_TRACER;
	for (size_t i = 0; i < r->nwrapping; i++) {
		const struct modfile *m = &r->modules.v[i];
		int status = 0;

		r->guests[i] = m->needs_libc && has_other_libc(&r->program);
		r->nguests += r->guests[i];
		if (r->guests[i])
			status = check_guest(r, m);
		if (status)
			return status;
		if (r->opt.attached && (m->nstart || m->nexit)) {
			msg_error("module %s has functions that are to run when the program starts or exits, and so cannot be put "
				  "into a process that runs already", m->name);
			return EXIT_USAGE;
		}
		if (!r->program.is_static && !r->guests[i] && !r->opt.attached && strpbrk(m->path, ": \t\n")) {
			msg_error("%s: the dynamic linker cannot preload a path with a blank or a "
				  "colon in it; copy the module elsewhere",
				  m->path);
			return EXIT_USAGE;
		}
	}
	return 0;
}

/* Puts those that wrap something first, else in their order. */
static void sort_modules(struct recording *r)
{
	for (size_t i = 0; i < r->modules.n; i++) {
		struct modfile m = r->modules.v[i];

		if (!modfile_wraps(&m))
			continue;
		for (size_t k = i; k > r->nwrapping; k--)
			r->modules.v[k] = r->modules.v[k - 1];
		r->modules.v[r->nwrapping++] = m;
	}
}

static bool address_space_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < ROOMY;
}

/* May edges between blocks be counted in place of recording memory accesses?  From the start to the end, and nothing else. */
static bool may_count(const struct record_options *o)
{
	bool acts = false;

	for (int act = 0; act < RT_ACTS; act++)
		acts |= o->acts[act].n != 0;
	return o->analyze == ANALYZE_AUTO && !o->select.functions.n && !acts && !o->sample.burst && !o->mem_times &&
	       !o->mem_blocks && !o->start_off && !o->toggle && !o->flight && !o->attached && !address_space_limited();
}

/* Memory accesses go to modules, or into the trace, or to both. */
static int prepare_memory(struct recording *r)
{
	const struct sampled_sums none = { 0 };
	struct sonde_trace_sampled sampled = sampled_result(&r->opt.sample, &none);
	const struct analysis_caches simulated = {
		.systems = &r->opt.systems, .one_in = r->opt.one_in,
		.alone = r->opt.budget || (r->opt.sample.burst && r->opt.sample.by == RING_SAMPLE_COST),
	};
	bool keep = false, profile = false, caches = false, sharing = false, any = false, analyzes = r->opt.analyze == ANALYZE_PROGRAM;
	int status;

	for (size_t i = 0; i < r->modules.n; i++) {
		keep |= r->modules.v[i].keeps_memory;
		profile |= r->modules.v[i].profiles_memory;
		caches |= r->modules.v[i].simulates_caches;
		sharing |= r->modules.v[i].finds_sharing;
		any |= modfile_takes_memory(&r->modules.v[i]);
	}
	if (any && r->opt.trace_blocks) {
		msg_error("--blocks=trace: not with a module that takes memory accesses, which are not recorded then");
		return EXIT_USAGE;
	}
	if ((r->opt.systems.n || r->opt.one_in) && !caches) {
		msg_error("--%s is for a module that simulates caches: -m cachesim", r->opt.systems.n ? "system" : "sets");
		return EXIT_USAGE;
	}
	/* with bursts, what recording costs is what a thread may do */
	if (r->opt.analyze == ANALYZE_AUTO && !r->opt.sample.burst && !address_space_limited() && analysis_may_move(&r->modules))
		analyzes = true;
	if (analyzes) {
		r->analyzers = calloc(r->modules.n + 1, sizeof(*r->analyzers));
		status = r->analyzers ? analysis_inproc(&r->modules, r->analyzers, &r->nanalyzers) : EXIT_TRACER;
		if (status)
			return status;
	}
	status = any ? record_imply_memory(&r->opt) : record_without_memory(&r->opt);
	r->opt.mem_keep = keep || !any;
	r->opt.mem_describe = r->opt.mem_keep || profile || caches || sharing;
	r->opt.mem_times |= sharing;
	if (!status)
		status = analysis_new(&r->modules, r->opt.sample.burst ? &sampled : NULL, &simulated, &r->analysis);
	r->opt.mem_count = !status && analysis_counts_only(r->analysis) && !r->opt.mem_describe && may_count(&r->opt);
	return status;
}

/* Those of the first program are as they were when it was started. */
static int find_modules(struct recording *r)
{
	const struct recording *first = r->first;
	int status = 0;

	r->shares_modules = first && first->modules.n && !first->modules.for_program && r->opt.modules.n;
	if (r->shares_modules) {
		r->modules = first->modules;
		r->nwrapping = first->nwrapping;
		return 0;
	}
	for (size_t i = 0; i < r->opt.modules.n && status == 0; i++)
		status = modfile_add(&r->modules, r->opt.modules.v[i], &r->program);
	sort_modules(r);
	return status;
}

static int add_modules(struct recording *r)
{
	int status = find_modules(r);

	if (status == 0)
		status = check_modules(r);
	return status ? status : prepare_memory(r);
}

/* The library of AddressSanitizer ends a program in which another one is loaded before it. */
static const char *wants_to_be_first(const struct program *p)
{
	for (size_t i = 0; i < p->nneeded; i++)
		if (strncmp(p->needed[i], "libasan.so", 10) == 0 || strncmp(p->needed[i], "libclang_rt.asan", 16) == 0)
			return p->needed[i];
	return "";
}

/* What the dynamic linker is to load before all else; NULL: no memory. */
static char *preload_list(const struct recording *r)
{
	const char *first = wants_to_be_first(&r->program);
	size_t len = strlen(first) + 1;
	char *list, *p;

	for (size_t i = 0; i < r->nwrapping; i++)
		len += strlen(r->modules.v[i].path) + 1;
	list = malloc(len);
	p = list ? stpcpy(list, first) : NULL;
	for (size_t i = 0; list && i < r->nwrapping; i++)
		if (!r->guests[i])
			p = stpcpy(stpcpy(p, p > list ? ":" : ""), r->modules.v[i].path);
	return list;
}

/* NULL: no memory. */
static char *guest_agent(void)
{
	char *folder = installed_path(PKGLIBDIR "/guest"), *path = NULL;

	if (!folder || asprintf(&path, "%s/sonde-guest", folder) < 0)
		path = NULL;
	free(folder);
	return path;
}

static int make_session(struct recording *r, int ring_fd, int alive_fd)
{
	struct inj_session_options opt = {
		.elf_path = r->elf_path,
		.is_static = r->program.is_static,
		.interp = r->program.interp,
		.ring_fd = ring_fd,
		.alive_fd = alive_fd,
		.nrings = r->limited ? FEW_MAPPED_RINGS : MAPPED_RINGS,
		.npools = r->limited ? FEW_POOLS : POOLS,
		.code_bytes = CODE_BYTES,
		.for_perf = r->opt.perf_map,
		.nmodules = r->nwrapping,
		.own_loader = r->opt.attached,
		.follow = !r->opt.no_follow,
		.frames = (uint32_t)r->opt.alloc_stack,
		.analyzers = r->analyzers,
		.nanalyzers = r->nanalyzers,
		.know_all = r->nanalyzers && !analysis_merges(r->analysis),
		.compiled_fd = r->nanalyzers && !r->limited ? analysis_compile(r->analysis) : -1,
		.warn = msg_error,
	};
	enum inj_status status;
	bool preloads;
	int ret = recorded_begin(&r->recorded, &r->opt, &opt.mirror);

	if (ret != 0)
		return ret;
	if (opt.mirror.enabled)
		opt.code_bytes = MIRROR_CODE_BYTES;
	if (r->limited)
		opt.code_bytes = SMALL_CODE;
	opt.ring_map = collector_bytes(r->collector, (uint32_t)opt.nrings);
	r->paths = calloc(r->nwrapping + 1, sizeof(*r->paths));
	preloads = !r->program.is_static && !r->opt.attached && r->nwrapping > r->nguests;
	if (preloads)
		opt.preload = r->preload = preload_list(r);
	if (!r->paths || (preloads && !r->preload)) {
		msg_error("out of memory");
		return EXIT_TRACER;
	}
	for (size_t i = 0; i < r->nwrapping; i++)
		r->paths[i] = r->modules.v[i].path;
	opt.modules = r->paths;
	opt.guests = r->guests;
	opt.slow_guest = r->opt.slow_guest;
	if (r->nguests && !(opt.agent = r->agent = guest_agent()))
		return EXIT_TRACER;
	if (!r->first)
		r->cache = modfile_cache_folder();
	opt.threads = (unsigned int)r->opt.workers;
	opt.cache_dir = r->first ? r->first->cache : r->cache;
	status = inj_session_new(&r->session, &opt);
	if (status != INJ_OK) {
		msg_error("cannot prepare the modules: %s", inj_status_text(status));
		return EXIT_TRACER;
	}
	return 0;
}

int recording_prepare(struct recording *r)
{
	struct collector_geometry g = { .drop = r->opt.drop, .off = r->opt.start_off };
	int status = add_modules(r);
	int ring_fd, alive_fd;

	if (status != 0)
		return status;
	r->elf_path = files_absolute(r->program.elf_path);
	r->limited = address_space_limited();
	g.functions = recorded_counts(&r->opt);
	g.blocks = r->opt.blocks.n != 0;
	g.weighed = r->opt.mem_count;
	g.memory_bytes = r->opt.mem_bytes;
	g.sample = r->opt.sample;
	g.budget = (double)r->opt.budget * 1e-6;
	g.inproc = r->nanalyzers != 0;
	g.here = r->opt.analyze == ANALYZE_PROGRAM;
	g.merges = analysis_merges(r->analysis);
	g.attached = r->opt.attached;
	g.follow = !r->opt.no_follow;
	g.ring_bytes = r->opt.ring_bytes;
	g.max_rings = r->limited ? FEW_RINGS : MANY_RINGS;
	if (r->limited && g.ring_bytes > SMALL_RING)
		g.ring_bytes = SMALL_RING;
	r->collector = collector_new(&g, &ring_fd, &alive_fd);
	if (!r->collector || !r->elf_path)
		return EXIT_TRACER;
	collector_analyze(r->collector, r->analysis);
	return make_session(r, ring_fd, alive_fd);
}
