/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GCC's headers in the order that they need. */
#ifndef SONDE_TAGS_PLUGIN_GCC_H
#define SONDE_TAGS_PLUGIN_GCC_H

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gcc-plugin.h"
#include "plugin-version.h"

#include "backend.h"
#include "target.h"
#include "rtl.h"
#include "tree.h"
#include "gimple.h"
#include "memmodel.h"
#include "tree-pass.h"
#include "context.h"
#include "tree-cfg.h"
#include "ssa.h"
#include "cfgloop.h"
#include "diagnostic-core.h"
#include "gimple-iterator.h"
#include "gimple-walk.h"
#include "langhooks.h"
#include "output.h"
#include "print-tree.h"
#include "tree-pretty-print.h"
#include "emit-rtl.h"
#include "insn-config.h"
#include "recog.h"
#include "rtl-iter.h"
#include "varasm.h"

#endif
