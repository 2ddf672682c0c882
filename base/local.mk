# SPDX-License-Identifier: GPL-3.0-or-later
noinst_HEADERS += base/array.h base/clock.h base/files.h base/hash.h base/pages.h base/path.h base/search.h
