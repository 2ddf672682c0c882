// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which note a memory reference belongs to.  By its location and what it starts from, as long as that can be seen; IVOPTS rewrites
 * references within statements that stay, so statements say it there; from expansion on a MEM's attributes do, which go with
 * it through all passes of RTL, while the location of an instruction is that of others when instructions have been combined.
 */
#include "tags/plugin/gcc.h"
#include "tags/plugin/notes.h"

typedef std::unordered_map<const void *, found> found_map;

static found_map by_stmt;	/* around IVOPTS */
static found_map by_tree;	/* references that IVOPTS has written; later those of the last GIMPLE */
static found_map by_expr;	/* MEM_EXPR */
static found_map by_attrs;	/* MEM_ATTRS */
static std::vector<mem_attrs *> attrs_kept;	/* the collector leaves them, so that others do not get their addresses */

/* Of source loops' branches, whether the loop of a reference still has one: by location, and scalar or vector. */
static std::map<std::pair<location_t, bool>, bool> has_branch;

template <typename F> static void each_reference(function *fn, F f)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fn)
		for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i)) {
			gimple *stmt = gsi_stmt(i);

			if (is_gimple_debug(stmt))
				continue;
			if (gimple_assign_single_p(stmt)) {
				tree lhs = gimple_assign_lhs(stmt), rhs = gimple_assign_rhs1(stmt);

				if (gimple_store_p(stmt))
					f(stmt, lhs, true);
				if (gimple_assign_load_p(stmt))
					f(stmt, rhs, false);
			} else if (is_gimple_call(stmt) && gimple_call_lhs(stmt) && gimple_store_p(stmt)) {
				f(stmt, gimple_call_lhs(stmt), true);
			}
		}
}

/* A statement with both a load and a store is a copy; its key for the load is the next byte. */
static const void *stmt_key(gimple *stmt, bool write)
{
	return (const char *)stmt + !write;
}

void follow_before_ivopts(function *fn)
{
	by_stmt.clear();
	each_reference(fn, [](gimple *stmt, tree ref, bool write) {
		location_t loc = gimple_location(stmt);

		if (const note *n = notes_find(loc, write, ref))
			by_stmt[stmt_key(stmt, write)] = found{ n, loc };
	});
}

void follow_after_ivopts(function *fn)
{
	by_tree.clear();
	each_reference(fn, [](gimple *stmt, tree ref, bool write) {
		auto at = by_stmt.find(stmt_key(stmt, write));

		/* what has another location is another statement at the address of a dead one */
		if (at != by_stmt.end() && at->second.loc == gimple_location(stmt))
			by_tree[ref] = at->second;
	});
	by_stmt.clear();
}

/* ---- branches ---- */

typedef std::set<location_t> places;

static bool ends_with_branch(basic_block bb, location_t *where)
{
	gimple *last = last_stmt(bb);

	if (!last || (gimple_code(last) != GIMPLE_COND && gimple_code(last) != GIMPLE_SWITCH))
		return false;
	*where = LOCATION_LOCUS(gimple_location(last));
	return true;
}

/*
 * Branches that the loop's code still depends on: in the loop, or before it in what is around it, where they have been moved (loop
 * unswitching).  Not those of copies of the loop after it, which do what is left of the iterations.
 */
static places branches_of(class loop *loop)
{
	std::vector<basic_block> todo(1, loop->header);
	std::set<basic_block> seen;
	places left;
	location_t at;

	while (!todo.empty()) {
		basic_block bb = todo.back();
		edge e;
		edge_iterator ei;

		todo.pop_back();
		if (!seen.insert(bb).second)
			continue;
		if ((flow_bb_inside_loop_p(loop, bb) || flow_bb_inside_loop_p(bb->loop_father, loop->header)) &&
		    ends_with_branch(bb, &at))
			left.insert(at);
		FOR_EACH_EDGE(e, ei, bb->preds)
			todo.push_back(e->src);
	}
	return left;
}

static void note_branches(function *fn)
{
	std::map<class loop *, places> known;

	has_branch.clear();
	each_reference(fn, [&](gimple *stmt, tree ref, bool) {
		location_t loc = gimple_location(stmt);
		const source_loop *source = notes_loop(loc);
		class loop *loop = gimple_bb(stmt)->loop_father;

		if (!source || source->branches.empty())
			return;
		bool &has = has_branch[std::make_pair(loc, VECTOR_TYPE_P(TREE_TYPE(ref)))];
		if (has || !loop->header || loop_depth(loop) == 0) {
			has = true; /* outside of loops nothing can be said */
			return;
		}
		auto added = known.emplace(loop, places());
		if (added.second)
			added.first->second = branches_of(loop);
		for (location_t b : source->branches)
			has = has || added.first->second.count(b);
	});
}

bool follow_ifconverted(const found &f, bool vector)
{
	auto at = has_branch.find(std::make_pair(f.loc, vector));

	return at != has_branch.end() && !at->second;
}

/* ---- expansion ---- */

void follow_before_expand(function *fn)
{
	found_map last;

	if (optimize && current_loops)
		note_branches(fn);
	each_reference(fn, [&](gimple *stmt, tree ref, bool write) {
		auto at = by_tree.find(ref);
		found f = at != by_tree.end() ? at->second : found{ notes_find(gimple_location(stmt), write, ref), gimple_location(stmt) };

		if (!f.source && !DECL_P(ref))
			f.source = notes_of_reference(ref, write);
		for (; !DECL_P(ref) && f.source; ref = TREE_OPERAND(ref, 0)) {
			last[ref] = f;
			if (!handled_component_p(ref))
				break;
		}
	});
	by_tree.swap(last);
}

static void keep(const_rtx mem, const found &f)
{
	if (!MEM_ATTRS(mem) || !by_attrs.emplace(MEM_ATTRS(mem), f).second)
		return;
	attrs_kept.push_back(MEM_ATTRS(mem));
	if (MEM_EXPR(mem) && !DECL_P(MEM_EXPR(mem)))
		by_expr.emplace(MEM_EXPR(mem), f);
}

static void find_expanded(const rtx_insn *insn, const_rtx mem, bool write)
{
	tree expr = MEM_EXPR(mem);
	auto at = expr ? by_tree.find(expr) : by_tree.end();

	if (at != by_tree.end())
		return keep(mem, at->second);
	location_t loc = INSN_LOCATION(insn);
	const note *n = notes_find(loc, write, expr);
	if (n)
		keep(mem, found{ n, loc });
}

void follow_after_expand(function *)
{
	by_attrs.clear();
	by_expr.clear();
	attrs_kept.clear();
	for (rtx_insn *insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
		if (!NONDEBUG_INSN_P(insn))
			continue;
		rtx set = single_set(insn);
		subrtx_iterator::array_type array;

		FOR_EACH_SUBRTX(i, array, PATTERN(insn), NONCONST)
			if (MEM_P(*i))
				find_expanded(insn, *i, set && SET_DEST(set) == *i);
	}
	by_tree.clear();
}

void follow_forget(void)
{
	by_stmt.clear();
	by_tree.clear();
	by_expr.clear();
	by_attrs.clear();
	attrs_kept.clear();
	has_branch.clear();
}

void follow_mark(void)
{
	for (mem_attrs *attrs : attrs_kept)
		gt_ggc_mx_mem_attrs(attrs);
}

found follow_find(const rtx_insn *insn, const_rtx mem, bool write)
{
	auto at = by_attrs.end();

	if (MEM_ATTRS(mem))
		at = by_attrs.find(MEM_ATTRS(mem));
	if (at != by_attrs.end())
		return at->second;
	if (MEM_ATTRS(mem) && MEM_EXPR(mem)) {
		at = by_expr.find(MEM_EXPR(mem));
		if (at != by_expr.end())
			return at->second;
	}
	location_t loc = INSN_HAS_LOCATION(insn) ? INSN_LOCATION(insn) : UNKNOWN_LOCATION;
	return found{ notes_find(loc, write, MEM_EXPR(mem)), loc };
}
