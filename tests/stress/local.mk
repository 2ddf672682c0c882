# SPDX-License-Identifier: GPL-3.0-or-later
# Scripts that take long, and are run by hand: see HACKING.md.
EXTRA_DIST += \
	tests/stress/attaches.sh \
	tests/stress/killed.py \
	tests/stress/kills.sh \
	tests/stress/starts.sh \
	tests/stress/tags.sh \
	tests/stress/threads.sh
