// SPDX-License-Identifier: GPL-3.0-or-later
/* The plugin's passes, and what GCC calls. */
#include "tags/plugin/gcc.h"
#include "tags/plugin/notes.h"

int plugin_is_GPL_compatible __attribute__((visibility("default")));

extern "C" __attribute__((visibility("default"))) int plugin_init(plugin_name_args *args, plugin_gcc_version *version);

typedef void (*work)(function *);

static const pass_data gimple_data = { GIMPLE_PASS, "*sonde_tags", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0 };
static const pass_data rtl_data = { RTL_PASS, "*sonde_tags", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0 };

/* A pass that only looks. */
template <typename base> class look : public base {
public:
	look(const pass_data &data, work w) : base(data, g), todo(w)
	{
	}
	opt_pass *clone() final override
	{
		return this;
	}
	unsigned int execute(function *fn) final override
	{
		todo(fn);
		return 0;
	}

private:
	work todo;
};

static void add_pass(const char *plugin, opt_pass *pass, const char *reference, int instance, pass_positioning_ops where)
{
	register_pass_info info = { pass, reference, instance, where };

	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &info);
}

static void add_gimple(const char *plugin, work w, const char *reference, int instance, pass_positioning_ops where)
{
	add_pass(plugin, new look<gimple_opt_pass>(gimple_data, w), reference, instance, where);
}

static void add_rtl(const char *plugin, work w, const char *reference, pass_positioning_ops where)
{
	add_pass(plugin, new look<rtl_opt_pass>(rtl_data, w), reference, 1, where);
}

static void mark(void *, void *)
{
	follow_mark();
}

/* It is not known before. */
static void check_target(void *, void *)
{
	if (Pmode != DImode || ptr_mode != DImode)
		error("sonde-tags.so is for x86-64 code only, not for %<-m32%> or %<-mx32%>");
}

int plugin_init(plugin_name_args *args, plugin_gcc_version *version)
{
	const char *name = args->base_name;

	if (!plugin_default_version_check(version, &gcc_version)) {
		error("sonde-tags.so was built for GCC %s, this is %s", gcc_version.basever, version->basever);
		return 0;
	}
	if (flag_lto || in_lto_p) {
		error("sonde-tags.so cannot be used with %<-flto%>: the code is made when the program is linked; use %<-fno-lto%>");
		return 0;
	}
	add_gimple(name, notes_make, "ssa", 1, PASS_POS_INSERT_AFTER);
	add_gimple(name, notes_loops, "cunrolli", 1, PASS_POS_INSERT_BEFORE);
	add_gimple(name, follow_before_ivopts, "ivopts", 1, PASS_POS_INSERT_BEFORE);
	add_gimple(name, follow_after_ivopts, "ivopts", 1, PASS_POS_INSERT_AFTER);
	add_gimple(name, follow_before_expand, "optimized", 1, PASS_POS_INSERT_AFTER);
	add_rtl(name, follow_after_expand, "expand", PASS_POS_INSERT_AFTER);
	add_rtl(name, emit_function, "final", PASS_POS_INSERT_AFTER);
	register_callback(name, PLUGIN_START_UNIT, check_target, NULL);
	register_callback(name, PLUGIN_GGC_MARKING, mark, NULL);
	emit_init();
	return 0;
}
