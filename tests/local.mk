# SPDX-License-Identifier: GPL-3.0-or-later
# PURE_TESTS         unit tests (cmocka) of code that touches no other process; also run sanitized
# UNIT_TESTS         other unit tests (cmocka)
# INTEGRATION_TESTS  scripts, tests/integration/NAME.sh
# TRACEES      programs to trace, see tests/programs/local.mk
PURE_TESTS =
UNIT_TESTS =
INTEGRATION_TESTS =
TRACEES =
TRACEE_FILES =

include %D%/unit/base/local.mk
include %D%/unit/analysis/local.mk
include %D%/unit/tracefmt/local.mk
include %D%/unit/wrap/local.mk
include %D%/unit/flow/local.mk
include %D%/unit/memtrace/memcompile.mk
include %D%/unit/memtrace/memexpand.mk
include %D%/unit/memfacts/local.mk
include %D%/unit/mirror/local.mk
include %D%/unit/mememit/local.mk
include %D%/unit/memplan/local.mk
include %D%/unit/probe/local.mk
include %D%/unit/injector/codefacts.mk
include %D%/unit/launcher/select.mk
include %D%/oracle/local.mk
include %D%/unit/runtime/local.mk
include %D%/unit/injector/local.mk
include %D%/unit/modules/local.mk
include %D%/unit/launcher/local.mk
include %D%/unit/report/local.mk
include %D%/fuzz/local.mk
include %D%/programs/local.mk
include %D%/integration/local.mk
include %D%/stress/local.mk
include %D%/bench/local.mk

TESTS =
if HAVE_CMOCKA
check_PROGRAMS += $(PURE_TESTS)
TESTS += $(PURE_TESTS)
endif
if !SANITIZERS
if HAVE_CMOCKA
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
check_DATA = $(TRACEES)
TESTS += $(INTEGRATION_TESTS)
endif

TEST_EXTENSIONS = .sh
LOG_COMPILER = $(srcdir)/tests/run
SH_LOG_COMPILER = $(srcdir)/tests/run
EXTRA_DIST += tests/run tests/unit/part.h $(INTEGRATION_TESTS) $(TRACEE_FILES)
CLEANFILES += $(TRACEES)

# What is installed, instead of what was built.
installcheck-local:
	INSTALLED=$(DESTDIR)$(bindir) $(srcdir)/tests/run $(srcdir)/tests/integration/installed.sh

clean-local:
	rm -rf tests/tmp
