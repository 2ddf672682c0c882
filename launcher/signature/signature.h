/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde signature`: make and match.  argv[0] is the action; the exit status is returned. */
#ifndef SONDE_LAUNCHER_SIGNATURE_SIGNATURE_H
#define SONDE_LAUNCHER_SIGNATURE_SIGNATURE_H

int signature_make(int argc, char **argv);
int signature_match(int argc, char **argv);

#endif
