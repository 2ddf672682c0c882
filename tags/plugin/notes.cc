// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Notes: the accesses of each function as soon as it is in SSA form, when nothing has been optimized, kept by where they are in the
 * source.  Locations stay with statements through all passes, and go with copies of them, into other functions as well.
 */
#include "tags/plugin/gcc.h"
#include "tags/plugin/notes.h"

static std::unordered_map<location_t, std::vector<note *>> notes;	/* by the place alone */
static std::unordered_map<location_t, const source_loop *> loops;	/* by the place, and by place and block */

static location_t place(location_t loc)
{
	return LOCATION_LOCUS(loc);
}

/* Is it a condition in a loop that does not leave it? */
static bool is_branch(gimple *stmt)
{
	basic_block bb = gimple_bb(stmt);
	edge e;
	edge_iterator ei;

	if (gimple_code(stmt) != GIMPLE_COND && gimple_code(stmt) != GIMPLE_SWITCH)
		return false;
	if (!bb->loop_father || loop_depth(bb->loop_father) == 0)
		return false;
	FOR_EACH_EDGE(e, ei, bb->succs)
		if (!flow_bb_inside_loop_p(bb->loop_father, e->dest))
			return false;
	return true;
}

/* The line of the condition that ends the loop, or of its first statement. */
static int loop_line(class loop *loop)
{
	basic_block ends[2] = { loop->header, loop->latch };

	for (basic_block bb : ends) {
		gimple *last = bb ? last_stmt(bb) : NULL;

		if (bb && bb == loop->latch && !last && single_pred_p(bb))
			last = last_stmt(single_pred(bb));
		if (last && gimple_code(last) == GIMPLE_COND && !is_branch(last) &&
		    place(gimple_location(last)) != UNKNOWN_LOCATION)
			return LOCATION_LINE(gimple_location(last));
	}
	for (gimple_stmt_iterator i = gsi_start_bb(loop->header); !gsi_end_p(i); gsi_next(&i))
		if (place(gimple_location(gsi_stmt(i))) != UNKNOWN_LOCATION)
			return LOCATION_LINE(gimple_location(gsi_stmt(i)));
	return 0;
}

static source_loop *loop_of(basic_block bb, std::map<class loop *, source_loop *> &known)
{
	class loop *loop = bb->loop_father;

	if (!current_loops || !loop || !loop->header || loop_depth(loop) == 0)
		return NULL;
	source_loop *&l = known[loop];
	if (!l) {
		l = new source_loop;
		l->line = loop_line(loop);
		l->depth = loop_depth(loop);
	}
	return l;
}

/* Of a variable itself, not by a pointer, it is known whose it is. */
static bool is_of_variable(tree ref)
{
	while (handled_component_p(ref))
		ref = TREE_OPERAND(ref, 0);
	return DECL_P(ref) || (TREE_CODE(ref) == MEM_REF && TREE_CODE(TREE_OPERAND(ref, 0)) == ADDR_EXPR);
}

/* @ref may be NULL. */
static note make_note(tree ref, bool write, const std::string &expr)
{
	std::string variable = ref ? text_variable(ref) : "";
	tree type = ref ? TREE_TYPE(ref) : NULL_TREE;
	note n = {};

	n.expr = n.made_expr = text_keep(expr);
	n.variable = text_keep(variable == "" ? expr : variable);
	n.type = type ? text_type(type) : "";
	if (type && TYPE_SIZE_UNIT(type) && tree_fits_uhwi_p(TYPE_SIZE_UNIT(type)))
		n.size = tree_to_uhwi(TYPE_SIZE_UNIT(type));
	n.write = write;
	n.direct = ref && is_of_variable(ref);
	return n;
}

static void add(tree ref, location_t loc, bool write, const std::string &expr, const source_loop *loop)
{
	if (place(loc) == UNKNOWN_LOCATION)
		return;
	std::vector<note *> &here = notes[place(loc)];
	note n = make_note(ref, write, expr);

	n.loop = loop;
	for (const note *old : here)
		if (old->expr == n.expr && old->type == n.type && old->write == n.write)
			return;
	here.push_back(new note(n));
}

static bool note_reference(gimple *stmt, tree, tree ref, void *data, bool write)
{
	if ((DECL_P(ref) || handled_component_p(ref) || TREE_CODE(ref) == MEM_REF))
		add(ref, gimple_location(stmt), write, text_expr(ref), (const source_loop *)data);
	return false;
}

static bool note_load(gimple *stmt, tree base, tree ref, void *data)
{
	return note_reference(stmt, base, ref, data, false);
}

static bool note_store(gimple *stmt, tree base, tree ref, void *data)
{
	return note_reference(stmt, base, ref, data, true);
}

static void add_pointee(gimple *stmt, tree pointer, bool write, const source_loop *loop)
{
	std::string s = text_expr(pointer);

	add(NULL_TREE, gimple_location(stmt), write, s[0] == '&' ? s.substr(1) : "*" + s, loop);
}

static bool is_atomic(gimple *stmt)
{
	tree fn = gimple_call_fndecl(stmt);
	const char *name = fn ? text_decl(fn) : NULL;

	return name && fndecl_built_in_p(fn) && gimple_call_num_args(stmt) > 0 && POINTER_TYPE_P(TREE_TYPE(gimple_call_arg(stmt, 0))) &&
	       (strncmp(name, "__atomic_", 9) == 0 || strncmp(name, "__sync_", 7) == 0);
}

/* What may become instructions, without a call: *dest and *src. */
static void note_builtin(gimple *stmt, const source_loop *loop)
{
	if (is_atomic(stmt)) {
		add_pointee(stmt, gimple_call_arg(stmt, 0), false, loop);
		add_pointee(stmt, gimple_call_arg(stmt, 0), true, loop);
		return;
	}
	bool copies = gimple_call_builtin_p(stmt, BUILT_IN_MEMCPY) || gimple_call_builtin_p(stmt, BUILT_IN_MEMMOVE) ||
		      gimple_call_builtin_p(stmt, BUILT_IN_MEMPCPY) || gimple_call_builtin_p(stmt, BUILT_IN_STRCPY);

	if (!copies && !gimple_call_builtin_p(stmt, BUILT_IN_MEMSET))
		return;
	for (unsigned int i = 0; i <= copies; i++)
		add_pointee(stmt, gimple_call_arg(stmt, i), i == 0, loop);
}

void notes_make(function *fn)
{
	std::map<class loop *, source_loop *> known;
	std::set<location_t> places;
	basic_block bb;

	FOR_EACH_BB_FN(bb, fn) {
		source_loop *loop = loop_of(bb, known);

		for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i)) {
			gimple *stmt = gsi_stmt(i);

			if (is_gimple_debug(stmt))
				continue;
			if (loop)
				loops[place(gimple_location(stmt))] = loop;
			if (loop && is_branch(stmt))
				loop->branches.push_back(place(gimple_location(stmt)));
			walk_stmt_load_store_ops(stmt, loop, note_load, note_store);
			if (is_gimple_call(stmt))
				note_builtin(stmt, loop);
			if (text_is_fortran() && notes.count(place(gimple_location(stmt))))
				places.insert(place(gimple_location(stmt)));
		}
	}
	for (location_t loc : places)
		fortran_subscripts(loc, notes[loc]);
}

void notes_loops(function *fn)
{
	std::map<class loop *, source_loop *> known;
	basic_block bb;

	FOR_EACH_BB_FN(bb, fn)
		for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i)) {
			location_t loc = gimple_location(gsi_stmt(i));

			/* its own function's loop is more than what is left of it here, but that may be in one */
			if (is_gimple_debug(gsi_stmt(i)) || place(loc) == UNKNOWN_LOCATION || loops.count(place(loc)))
				continue;
			if (source_loop *loop = loop_of(bb, known))
				loops.emplace(loc, loop);
		}
}

const source_loop *notes_loop(location_t loc)
{
	auto at = loops.find(loc);

	if (at == loops.end())
		at = loops.find(place(loc));
	return at == loops.end() || place(loc) == UNKNOWN_LOCATION ? NULL : at->second;
}

const note *notes_of_reference(tree ref, bool write)
{
	if (text_variable(ref) == "")
		return NULL;
	note n = make_note(ref, write, text_expr(ref));
	/* a vector of what the source has one by one */
	if (VECTOR_TYPE_P(TREE_TYPE(ref))) {
		n.type = text_type(TREE_TYPE(TREE_TYPE(ref)));
		n.size = tree_to_uhwi(TYPE_SIZE_UNIT(TREE_TYPE(TREE_TYPE(ref))));
	}
	return new note(n);
}

/* What is known of several of which it may be any: all but which element or field. */
static const note *without_place(const note *n)
{
	static std::unordered_map<const note *, const note *> made;
	const note *&known = made[n];

	if (!known) {
		note *more = new note(*n);

		more->expr = n->direct ? n->variable : text_keep(text_subscript(n->variable, "..."));
		known = more;
	}
	return known;
}

const note *notes_find(location_t loc, bool write, tree ref)
{
	auto at = place(loc) == UNKNOWN_LOCATION ? notes.end() : notes.find(place(loc));
	const note *best = NULL;
	int most = -1, n = 0;
	bool same = true, tie = false;

	if (at == notes.end())
		return NULL;
	const char *expr = ref && at->second.size() > 1 ? text_keep(text_expr(ref)) : "";
	const char *variable = ref ? text_keep(text_variable(ref)) : "";
	bool direct = ref && is_of_variable(ref);
	const char *type = ref ? text_type(TREE_TYPE(ref)) : "";
	for (const note *k : at->second) {
		if (k->write != write)
			continue;
		int score = (*variable && k->variable == variable && (k->direct || !direct) ? 4 : 0) + (k->type == type ? 2 : 0) + (k->made_expr == expr ? 8 : 0);

		n++;
		same = same && (!best || k->variable == best->variable);
		tie = score == most ? tie || (k->expr != best->expr && k->variable == best->variable) : score < most && tie;
		if (score > most) {
			best = k;
			most = score;
		}
	}
	/* of several that start from other variables any may be wrong */
	if (most < 4 && ((n > 1 && !same) || (*variable && direct)))
		return NULL;
	return tie ? without_place(best) : best;
}
