# SPDX-License-Identifier: GPL-3.0-or-later
# Sorted, one a line. A script sources tests/integration/lib.sh and needs nothing else.
EXTRA_DIST += tests/integration/lib.sh
INTEGRATION_TESTS += \
	tests/integration/harness.sh
