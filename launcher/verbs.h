/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The verbs of the command, one file each.  argv[0] is the verb, argv[argc] NULL; the exit status
 * is returned.  Each answers --help by itself (see options.h).
 */
#ifndef SONDE_LAUNCHER_VERBS_H
#define SONDE_LAUNCHER_VERBS_H

int verb_record(int argc, char **argv);
int verb_attach(int argc, char **argv);
int verb_detach(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_replay(int argc, char **argv);
int verb_graph(int argc, char **argv);
int verb_memory(int argc, char **argv);
int verb_cache(int argc, char **argv);
int verb_sharing(int argc, char **argv);
int verb_advise(int argc, char **argv);
int verb_dump(int argc, char **argv);
int verb_export(int argc, char **argv);
int verb_diff(int argc, char **argv);
int verb_archive(int argc, char **argv);
int verb_info(int argc, char **argv);
int verb_list(int argc, char **argv);
int verb_disasm(int argc, char **argv);
int verb_blocks(int argc, char **argv);
int verb_config(int argc, char **argv);
int verb_tags(int argc, char **argv);
int verb_module(int argc, char **argv);
int verb_signature(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_ctl(int argc, char **argv);
int verb_top(int argc, char **argv);

#endif
