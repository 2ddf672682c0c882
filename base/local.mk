# SPDX-License-Identifier: GPL-3.0-or-later
noinst_HEADERS += base/search.h
