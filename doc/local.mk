# SPDX-License-Identifier: GPL-3.0-or-later
# Pages, sorted: dist_doc_DATA for texts, dist_man_MANS for manual pages.
dist_doc_DATA += \
	doc/blocks.md \
	doc/design.md \
	doc/recipes.md \
	doc/signature-format.md \
	doc/sonde-config.schema.json \
	doc/tags-format.md \
	doc/trace-format.md

examplesdir = $(docdir)/examples
dist_examples_DATA = \
	doc/examples/accesses.c \
	doc/examples/grid.c \
	doc/examples/primes.c

dist_man_MANS += \
	doc/sonde-advise.1 \
	doc/sonde-archive.1 \
	doc/sonde-attach.1 \
	doc/sonde-blocks.1 \
	doc/sonde-cache.1 \
	doc/sonde-config.1 \
	doc/sonde-ctl.1 \
	doc/sonde-detach.1 \
	doc/sonde-diff.1 \
	doc/sonde-disasm.1 \
	doc/sonde-doctor.1 \
	doc/sonde-dump.1 \
	doc/sonde-export.1 \
	doc/sonde-graph.1 \
	doc/sonde-info.1 \
	doc/sonde-list.1 \
	doc/sonde-memory.1 \
	doc/sonde-module.1 \
	doc/sonde-module.5 \
	doc/sonde-record.1 \
	doc/sonde-replay.1 \
	doc/sonde-report.1 \
	doc/sonde-signature.1 \
	doc/sonde-sharing.1 \
	doc/sonde-tags.1 \
	doc/sonde-top.1 \
	doc/sonde.1
