# SPDX-License-Identifier: GPL-3.0-or-later
# The same as memory-oracle.sh with functions that are all instrumented at the start.
export EAGER=1
. "$top_srcdir/tests/integration/memory-oracle.sh"
