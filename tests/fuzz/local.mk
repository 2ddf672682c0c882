# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzers and the replay of their corpus (a PURE_TEST each).
noinst_HEADERS += tests/fuzz/require.h
