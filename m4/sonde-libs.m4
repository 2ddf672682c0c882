# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_LIBS: the required libraries that pkg-config knows; each sets NAME_CFLAGS and NAME_LIBS.
AC_DEFUN([SONDE_LIBS],
[PKG_CHECK_MODULES([LIBBSD], [libbsd], [], [SONDE_NEED([libbsd], [libbsd-dev])])
PKG_CHECK_MODULES([ZSTD], [libzstd], [], [SONDE_NEED([libzstd], [libzstd-dev])])
PKG_CHECK_MODULES([JANSSON], [jansson], [], [SONDE_NEED([jansson], [libjansson-dev])])
PKG_CHECK_MODULES([XXHASH], [libxxhash], [], [SONDE_NEED([xxhash], [libxxhash-dev])])
PKG_CHECK_MODULES([YAML], [yaml-0.1], [], [SONDE_NEED([libyaml], [libyaml-dev])])
PKG_CHECK_MODULES([LIBDW], [libdw], [], [SONDE_NEED([libdw], [libdw-dev])])
PKG_CHECK_MODULES([LIBELF], [libelf], [], [SONDE_NEED([libelf], [libelf-dev])])])
