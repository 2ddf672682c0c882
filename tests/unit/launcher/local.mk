# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of launcher/.
LAUNCHER_TEST_SUPPORT = tests/unit/launcher/support.c tests/unit/launcher/support.h
LAUNCHER_TEST_LIBS = $(COMMAND_LIBS) $(CMOCKA_LIBS)

# Its corpus is replayed here, see tests/fuzz/fuzz_config.c.
PURE_TESTS += tests/fuzz/fuzz_config
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_config_LDADD = $(COMMAND_LIBS)
EXTRA_DIST += tests/fuzz/corpus/config.tar

# Its corpus is replayed here, see tests/fuzz/fuzz_control.c.
PURE_TESTS += tests/fuzz/fuzz_control
tests_fuzz_fuzz_control_SOURCES = tests/fuzz/fuzz_control.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_control_LDADD = $(COMMAND_LIBS)
EXTRA_DIST += tests/fuzz/corpus/control.tar

PURE_TESTS += tests/fuzz/fuzz_join
tests_fuzz_fuzz_join_SOURCES = tests/fuzz/fuzz_join.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_join_LDADD = $(COMMAND_LIBS)
EXTRA_DIST += tests/fuzz/corpus/join.tar

PURE_TESTS += tests/unit/launcher/bursts
tests_unit_launcher_bursts_SOURCES = tests/unit/launcher/bursts.c launcher/collect/bursts.c
tests_unit_launcher_bursts_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_launcher_bursts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_bursts_LDADD = $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/launcher/config
tests_unit_launcher_config_SOURCES = tests/unit/launcher/config.c
tests_unit_launcher_config_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_config_LDADD = $(COMMAND_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/launcher/host
tests_unit_launcher_host_SOURCES = tests/unit/launcher/host.c launcher/cache/host.c launcher/common/caches.c
tests_unit_launcher_host_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_launcher_host_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_host_LDADD = $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/launcher/image
tests_unit_launcher_image_SOURCES = tests/unit/launcher/image.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_launcher_image_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_image_LDADD = $(LAUNCHER_TEST_LIBS)

PURE_TESTS += tests/unit/launcher/modfile
tests_unit_launcher_modfile_SOURCES = tests/unit/launcher/modfile.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_launcher_modfile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_modfile_LDADD = $(LAUNCHER_TEST_LIBS)

PURE_TESTS += tests/unit/launcher/omp
tests_unit_launcher_omp_SOURCES = tests/unit/launcher/omp.c launcher/report/omp/omp-rows.c \
	launcher/report/omp/omp-schedule.c launcher/report/report-rows.c launcher/trace/ambiguous.c
tests_unit_launcher_omp_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_omp_LDADD = $(LAUNCHER_TEST_LIBS)

PURE_TESTS += tests/unit/launcher/options
tests_unit_launcher_options_SOURCES = tests/unit/launcher/options.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_launcher_options_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_options_LDADD = $(LAUNCHER_TEST_LIBS)

PURE_TESTS += tests/unit/launcher/pool
tests_unit_launcher_pool_SOURCES = tests/unit/launcher/pool.c launcher/collect/pool.c
tests_unit_launcher_pool_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_launcher_pool_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_pool_LDADD = $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/launcher/program
tests_unit_launcher_program_SOURCES = tests/unit/launcher/program.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_launcher_program_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_program_LDADD = $(LAUNCHER_TEST_LIBS)

PURE_TESTS += tests/unit/launcher/proto
tests_unit_launcher_proto_SOURCES = tests/unit/launcher/proto.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_launcher_proto_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_proto_LDADD = $(LAUNCHER_TEST_LIBS)

UNIT_TESTS += tests/unit/launcher/sampler
tests_unit_launcher_sampler_SOURCES = tests/unit/launcher/sampler.c launcher/collect/sampler.c injector/process/procpath.c
tests_unit_launcher_sampler_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_sampler_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/launcher/tracedir
tests_unit_launcher_tracedir_SOURCES = tests/unit/launcher/tracedir.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_launcher_tracedir_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_tracedir_LDADD = $(LAUNCHER_TEST_LIBS)

# The command as a whole.
INTEGRATION_TESTS += \
	tests/integration/commandline.sh \
	tests/integration/manual.sh \
	tests/integration/ranks.sh

PURE_TESTS += tests/unit/launcher/faults
tests_unit_launcher_faults_SOURCES = tests/unit/launcher/faults.c launcher/collect/collector-fault.c
tests_unit_launcher_faults_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_launcher_faults_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_faults_LDADD = $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/launcher/budget
tests_unit_launcher_budget_SOURCES = tests/unit/launcher/budget.c launcher/collect/budget.c launcher/collect/budget.h
tests_unit_launcher_budget_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_budget_LDADD = $(CMOCKA_LIBS)

PURE_TESTS += tests/fuzz/fuzz_tags
tests_fuzz_fuzz_tags_SOURCES = tests/fuzz/fuzz_tags.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_tags_LDADD = $(TAGS_LIBS)
EXTRA_DIST += tests/fuzz/corpus/tags.tar
