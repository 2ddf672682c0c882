# SPDX-License-Identifier: GPL-3.0-or-later
# Pages, sorted: dist_doc_DATA for texts, dist_man_MANS for manual pages.
examplesdir = $(docdir)/examples
dist_examples_DATA = \
	doc/examples/primes.c
