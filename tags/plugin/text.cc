// SPDX-License-Identifier: GPL-3.0-or-later
/* Expressions of GIMPLE as the source has them: temporaries are replaced by what was computed into them. */
#include "tags/plugin/gcc.h"
#include "tags/plugin/notes.h"

#define MAX_DEPTH 12
#define MAX_TEXT 160

const char *text_keep(const std::string &s)
{
	static std::unordered_set<std::string> kept;

	return kept.insert(s).first->c_str();
}

bool text_is_fortran(void)
{
	return strncmp(lang_hooks.name, "GNU Fortran", 11) == 0;
}

const char *text_decl(tree decl)
{
	if (!DECL_P(decl) || !DECL_NAME(decl))
		return NULL;
	const char *name = IDENTIFIER_POINTER(DECL_NAME(decl));

	/* "a.0", "D.123": the compiler's */
	return strchr(name, '.') ? NULL : name;
}

const char *text_type(tree type)
{
	static std::unordered_map<unsigned int, const char *> known;
	const char *&text = known[TYPE_UID(type)];

	if (!text) {
		char *s = print_generic_expr_to_str(type);

		text = text_keep(s);
		free(s);
	}
	return text;
}

static std::string put(tree t, int depth);

/* What passes make, in place of what front ends do. */
static bool is_of_passes(const char *name)
{
	static const char *const prefixes[] = { "D.", "ivtmp.", "vectp_", "vect_", "pretmp_", "prephitmp_", "stmp_", "patt_", "." };

	for (const char *prefix : prefixes)
		if (strncmp(name, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

static std::string put_decl(tree decl)
{
	const char *name = text_decl(decl);

	if (name)
		return name;
	if (DECL_NAME(decl)) { /* "a.0" stands for a */
		name = IDENTIFIER_POINTER(DECL_NAME(decl));
		if (!is_of_passes(name))
			return std::string(name, strchr(name, '.'));
	}
	return "<temporary>";
}

/* There are no statements any more once they have become RTL. */
static gimple *definition(tree name)
{
	if (TREE_CODE(name) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF(name) || (cfun->curr_properties & PROP_rtl))
		return NULL;
	return SSA_NAME_DEF_STMT(name);
}

/* Conversions change no value that matters here. */
static tree strip(tree t)
{
	for (int i = 0; i < MAX_DEPTH; i++) {
		gimple *def = definition(t);

		if (TREE_CODE(t) == SSA_NAME && SSA_NAME_VAR(t) && text_decl(SSA_NAME_VAR(t)))
			break;
		if (!def || !gimple_assign_cast_p(def))
			break;
		t = gimple_assign_rhs1(def);
	}
	return t;
}

/* @t is index * @size: the index; NULL: it is not. */
static bool scaled(tree t, HOST_WIDE_INT size, tree *index, HOST_WIDE_INT *constant)
{
	*index = NULL_TREE;
	*constant = 0;
	if (size <= 0)
		return false;
	if (TREE_CODE(t) == INTEGER_CST) {
		if (!cst_and_fits_in_hwi(t) || int_cst_value(t) % size)
			return false;
		*constant = int_cst_value(t) / size;
		return true;
	}
	if (size == 1) {
		*index = strip(t);
		return true;
	}
	gimple *def = definition(strip(t));
	if (!def || !is_gimple_assign(def) || gimple_assign_rhs_code(def) != MULT_EXPR ||
	    !cst_and_fits_in_hwi(gimple_assign_rhs2(def)) || int_cst_value(gimple_assign_rhs2(def)) != size)
		return false;
	*index = strip(gimple_assign_rhs1(def));
	return true;
}

std::string text_subscript(const std::string &array, const std::string &index)
{
	return text_is_fortran() ? array + "(" + index + ")" : array + "[" + index + "]";
}

static HOST_WIDE_INT size_of(tree type)
{
	tree size = TYPE_SIZE_UNIT(type);

	return size && cst_and_fits_in_hwi(size) ? int_cst_value(size) : 0;
}

/*
 * What is at @ptr + @offset and has @type: p[i], or "" if it is just *p, whose pointer is put into *pointer.
 */
static std::string put_element(tree ptr, HOST_WIDE_INT offset, tree type, int depth, tree *pointer)
{
	HOST_WIDE_INT size = size_of(type), constant;
	tree index;
	gimple *def = definition(ptr);
	bool named = TREE_CODE(ptr) == SSA_NAME && SSA_NAME_VAR(ptr) && text_decl(SSA_NAME_VAR(ptr));

	*pointer = ptr;
	if (!named && def && is_gimple_assign(def) && gimple_assign_rhs_code(def) == POINTER_PLUS_EXPR && !offset) {
		tree base = gimple_assign_rhs1(def);

		if (scaled(gimple_assign_rhs2(def), size, &index, &constant)) {
			std::string p = put(strip(base), depth + 1);

			*pointer = base;
			return text_subscript(p, index ? put(index, depth + 1) : std::to_string(constant));
		}
	}
	if (!offset)
		return "";
	std::string p = put(strip(ptr), depth + 1);
	if (size > 0 && offset % size == 0)
		return text_subscript(p, std::to_string(offset / size));
	return "*(" + p + " + " + std::to_string(offset) + ")";
}

static HOST_WIDE_INT mem_offset(tree ref)
{
	tree offset = TREE_OPERAND(ref, 1);

	return cst_and_fits_in_hwi(offset) ? int_cst_value(offset) : 0;
}

/* @arrow: for a field, `->' in place of `*' and `.' */
static std::string put_mem(tree ref, int depth, bool *arrow)
{
	tree base = TREE_OPERAND(ref, 0), pointer;
	HOST_WIDE_INT offset = mem_offset(ref);

	if (TREE_CODE(base) == ADDR_EXPR) {
		tree object = TREE_OPERAND(base, 0);
		std::string s = put(object, depth + 1);
		HOST_WIDE_INT size = size_of(TREE_TYPE(ref));

		if (!offset || !TREE_TYPE(object))
			return s;
		if (TREE_CODE(TREE_TYPE(object)) == ARRAY_TYPE && size > 0 && offset % size == 0)
			return text_subscript(s, std::to_string(offset / size));
		return "*(&" + s + " + " + std::to_string(offset) + ")";
	}
	std::string element = put_element(base, offset, TREE_TYPE(ref), depth, &pointer);
	if (element != "")
		return element;
	std::string p = put(strip(base), depth + 1);
	if (TREE_CODE(TREE_TYPE(base)) == REFERENCE_TYPE || text_is_fortran())
		return p;
	if (arrow)
		*arrow = true;
	return arrow ? p : "*" + p;
}

/* Members of anonymous unions and of base classes are used as if they were the object's. */
static std::string put_object(tree object, int depth, bool *arrow)
{
	while (TREE_CODE(object) == COMPONENT_REF && !text_decl(TREE_OPERAND(object, 1)))
		object = TREE_OPERAND(object, 0);
	return TREE_CODE(object) == MEM_REF ? put_mem(object, depth, arrow) : put(object, depth + 1);
}

/* The descriptor of an array, whose `data' is the array itself. */
static bool is_descriptor(tree field)
{
	tree name = TYPE_NAME(DECL_CONTEXT(field));

	if (name && TREE_CODE(name) == TYPE_DECL)
		name = DECL_NAME(name);
	return text_is_fortran() && name && TREE_CODE(name) == IDENTIFIER_NODE && strncmp(IDENTIFIER_POINTER(name), "array", 5) == 0 &&
	       strcmp(IDENTIFIER_POINTER(DECL_NAME(field)), "data") == 0;
}

static std::string put_component(tree ref, int depth)
{
	tree field = TREE_OPERAND(ref, 1);
	bool arrow = false;
	std::string s = put_object(TREE_OPERAND(ref, 0), depth, &arrow);
	const char *name = text_decl(field);

	if (!name)
		return arrow ? "*" + s : s;
	if (is_descriptor(field))
		return s;
	/* what a parallel region uses of its function */
	if (s.compare(0, 9, ".omp_data") == 0 || s == "<temporary>")
		return name;
	return s + (text_is_fortran() ? "%" : arrow ? "->" : ".") + name;
}

static std::string put_array(tree ref, int depth)
{
	tree array = TREE_OPERAND(ref, 0);
	bool pointer = false;
	std::string s = TREE_CODE(array) == MEM_REF ? put_mem(array, depth, &pointer) : put(array, depth + 1);

	if (pointer && !text_is_fortran())
		s = "(*" + s + ")";
	return text_subscript(s, put(strip(TREE_OPERAND(ref, 1)), depth + 1));
}

static std::string put_operation(enum tree_code code, gimple *def, int depth)
{
	const char *op = code == POINTER_PLUS_EXPR ? "+" : op_symbol_code(code);
	tree a = strip(gimple_assign_rhs1(def));

	if (gimple_num_ops(def) == 2)
		return std::string(op) + put(a, depth + 1);
	tree b = strip(gimple_assign_rhs2(def));
	std::string left = put(a, depth + 1), right = put(b, depth + 1);
	if (code == PLUS_EXPR && right[0] == '-' && TREE_CODE(b) == INTEGER_CST)
		return left + " - " + right.substr(1);
	gimple *inner = definition(a);
	if (code != PLUS_EXPR && code != MINUS_EXPR && inner && is_gimple_assign(inner) && left.find(' ') != left.npos)
		left = "(" + left + ")";
	inner = definition(b);
	if (inner && is_gimple_assign(inner) && right.find(' ') != right.npos)
		right = "(" + right + ")";
	return left + " " + op + " " + right;
}

/* Of a reference what it refers to, as its address. */
static std::string put_value(tree t, int depth)
{
	std::string s = put(strip(t), depth + 1);

	return s[0] == '&' ? s.substr(1) : s;
}

static std::string put_ssa(tree name, int depth)
{
	tree var = SSA_NAME_VAR(name);
	gimple *def = definition(name);

	if (var && (text_decl(var) || !def))
		return DECL_NAME(var) && strncmp(IDENTIFIER_POINTER(DECL_NAME(var)), ".omp_data", 9) == 0 ? ".omp_data" :
													      put_decl(var);
	if (def && is_gimple_call(def)) {
		tree fn = gimple_call_fndecl(def);
		const char *called = fn ? text_decl(fn) : NULL;

		if (called && strcmp(called, "operator[]") == 0 && gimple_call_num_args(def) == 2)
			return text_subscript(put_value(gimple_call_arg(def, 0), depth),
					      put_value(gimple_call_arg(def, 1), depth));
		return std::string(called ? called : "call") + "()";
	}
	if (def && is_gimple_assign(def)) {
		enum tree_code code = gimple_assign_rhs_code(def);

		if (gimple_assign_single_p(def) || gimple_assign_cast_p(def))
			return put(gimple_assign_rhs1(def), depth + 1);
		if (gimple_num_ops(def) <= 3 && (TREE_CODE_CLASS(code) == tcc_binary || TREE_CODE_CLASS(code) == tcc_unary) &&
		    code != MIN_EXPR && code != MAX_EXPR && code != ABS_EXPR)
			return put_operation(code, def, depth);
	}
	return var ? put_decl(var) : "...";
}

static std::string put(tree t, int depth)
{
	if (depth > MAX_DEPTH)
		return "...";
	switch (TREE_CODE(t)) {
	case SSA_NAME:
		return put_ssa(t, depth);
	case COMPONENT_REF:
		return put_component(t, depth);
	case ARRAY_REF:
	case ARRAY_RANGE_REF:
		return put_array(t, depth);
	case MEM_REF:
		return put_mem(t, depth, NULL);
	case TARGET_MEM_REF: {
		std::string s = text_variable(t);

		return s == "" ? "..." : text_subscript(s, "...");
	}
	case ADDR_EXPR: {
		tree object = TREE_OPERAND(t, 0);

		/* the address of an array is what its name means */
		if (TREE_TYPE(object) && TREE_CODE(TREE_TYPE(object)) == ARRAY_TYPE)
			return put(object, depth + 1);
		return "&" + put(object, depth + 1);
	}
	case REALPART_EXPR:
	case IMAGPART_EXPR:
	case VIEW_CONVERT_EXPR:
	case BIT_FIELD_REF:
	case WITH_SIZE_EXPR:
		return put(TREE_OPERAND(t, 0), depth + 1);
	case INTEGER_CST:
		/* sizes are unsigned: a large one is a negative difference */
		if (cst_and_fits_in_hwi(t))
			return std::to_string((long long)int_cst_value(t));
		/* fallthrough */
	default:
		break;
	}
	if (DECL_P(t))
		return put_decl(t);
	char *s = print_generic_expr_to_str(t);
	std::string text = s;
	free(s);
	return text;
}

static std::string cut(std::string s)
{
	for (char &c : s)
		if ((unsigned char)c < ' ')
			c = ' ';
	if (s.size() > MAX_TEXT)
		s = s.substr(0, MAX_TEXT - 3) + "...";
	return s;
}

std::string text_expr(tree expr)
{
	return cut(put(expr, 0));
}

/* What a loop begins with, not what its iterations hand on. */
static tree from_before(gphi *phi)
{
	class loop *loop = gimple_bb(phi)->loop_father;

	for (unsigned int i = 0; i < gimple_phi_num_args(phi); i++)
		if (!loop || !flow_bb_inside_loop_p(loop, gimple_phi_arg_edge(phi, i)->src))
			return gimple_phi_arg_def(phi, i);
	return gimple_phi_arg_def(phi, 0);
}

/* The pointer that @t, a pointer or a number, was computed from; NULL: it is not known. */
static tree origin(tree t, int depth)
{
	gimple *def = definition(t);
	bool pointer = POINTER_TYPE_P(TREE_TYPE(t));

	if (TREE_CODE(t) == ADDR_EXPR)
		return t;
	if (TREE_CODE(t) != SSA_NAME || depth > 3 * MAX_DEPTH)
		return NULL_TREE;
	if (!def || (SSA_NAME_VAR(t) && text_decl(SSA_NAME_VAR(t)) && pointer))
		return pointer ? t : NULL_TREE;
	if (gimple_code(def) == GIMPLE_PHI)
		return origin(from_before(as_a<gphi *>(def)), depth + 1);
	if (!is_gimple_assign(def))
		return pointer ? t : NULL_TREE;
	tree first = gimple_assign_rhs1(def), found = NULL_TREE;
	enum tree_code code = gimple_assign_rhs_code(def);
	if (code == POINTER_PLUS_EXPR || code == PLUS_EXPR || code == MINUS_EXPR || code == ADDR_EXPR ||
	    gimple_assign_cast_p(def) || gimple_assign_ssa_name_copy_p(def)) {
		found = origin(first, depth + 1);
		if (!found && code == PLUS_EXPR)
			found = origin(gimple_assign_rhs2(def), depth + 1);
		return found;
	}
	return pointer ? t : NULL_TREE;
}

/* Of a reference; for IVOPTS any part of the address may be the pointer. */
static tree origin_of(tree ref)
{
	tree found = origin(TREE_OPERAND(ref, 0), 0);

	if (TREE_CODE(ref) != TARGET_MEM_REF)
		return found;
	if (!found && TMR_INDEX2(ref))
		found = origin(TMR_INDEX2(ref), 0);
	if (!found && TMR_INDEX(ref))
		found = origin(TMR_INDEX(ref), 0);
	return found;
}

/* "vectp_a.5": what the vectorizer makes of a */
static std::string vector_name(tree name)
{
	tree var = TREE_CODE(name) == SSA_NAME ? SSA_NAME_VAR(name) : NULL_TREE;

	if (!var || !DECL_NAME(var) || strncmp(IDENTIFIER_POINTER(DECL_NAME(var)), "vectp_", 6) != 0)
		return "";
	std::string s = IDENTIFIER_POINTER(DECL_NAME(var)) + 6;
	return s.substr(0, s.find('.'));
}

std::string text_variable(tree ref)
{
	while (handled_component_p(ref) || TREE_CODE(ref) == WITH_SIZE_EXPR) {
		tree object = TREE_OPERAND(ref, 0);

		if (TREE_CODE(ref) == COMPONENT_REF && TREE_CODE(object) == MEM_REF) {
			std::string s = put(ref, 0);

			if (s.find_first_of("->.[*%(") == s.npos)
				return cut(s); /* of a parallel region's data */
		}
		ref = object;
	}
	if (TREE_CODE(ref) != MEM_REF && TREE_CODE(ref) != TARGET_MEM_REF)
		return DECL_P(ref) && put(ref, 0) != "<temporary>" ? cut(put(ref, 0)) : "";
	tree ptr = TREE_OPERAND(ref, 0);
	std::string s = vector_name(ptr);
	if (s != "")
		return s;
	ptr = origin_of(ref);
	if (!ptr)
		return "";
	ptr = strip(ptr);
	if (TREE_CODE(ptr) == ADDR_EXPR)
		return text_variable(TREE_OPERAND(ptr, 0));
	s = put_value(ptr, 0);
	return s == "..." || s == "<temporary>" ? "" : cut(s);
}
