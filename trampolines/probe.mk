# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_la_SOURCES += trampolines/probe.h
