// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * While instructions are written as assembly: labels beside those that access memory, which change no byte of code; and after each
 * function its chunks of the section, see tags/format.h.
 *
 * The sections of a chunk and of its code are dropped together by the linker: they are of one group, and linked (SHF_LINK_ORDER).
 */
#include "tags/plugin/gcc.h"
#include "tags/plugin/notes.h"
#include "tags/format.h"

struct fact {
	uint32_t v[sizeof(tags_fact) / sizeof(uint32_t)];

	bool operator<(const fact &o) const
	{
		return memcmp(v, o.v, sizeof(v)) < 0;
	}
};

#define FIELD(f, name) ((f).v[offsetof(tags_fact, name) / sizeof(uint32_t)])

struct entry {
	unsigned int begin, end; /* labels */
	uint32_t fact;
};

/* What one function has in one section. */
struct part {
	section *in;
	unsigned int base; /* label */
	std::vector<entry> entries;
	std::vector<fact> facts;
	std::map<fact, uint32_t> fact_index;
	std::vector<const char *> strings;
	std::unordered_map<const void *, uint32_t> string_offset;
	uint32_t nstrings;
};

static std::vector<part> parts;			/* of the function that is being written */
static unsigned int labels;			/* their number */
static unsigned int here;			/* label of where we are */
static std::map<section *, unsigned int> first; /* a label in each section */

static void (*old_prologue)(FILE *);
static void (*old_switched)(FILE *, tree, bool);
static void (*old_postscan)(FILE *, rtx_insn *, rtx *, int);

static void put_label(FILE *file)
{
	here = labels++;
	fprintf(file, ".Lsonde%u:\n", here);
}

static void begin_part(FILE *file)
{
	part p = {};

	put_label(file);
	p.in = current_function_section();
	p.base = here;
	p.nstrings = 1;
	first.emplace(p.in, here);
	parts.push_back(p);
}

/* ---- facts ---- */

static uint32_t string_index(part &p, const char *s)
{
	if (!s || !*s)
		return 0;
	auto added = p.string_offset.emplace(text_keep(s), p.nstrings);
	if (added.second) {
		p.strings.push_back(s);
		p.nstrings += strlen(s) + 1;
	}
	return added.first->second;
}

static uint32_t fact_index(part &p, const fact &f)
{
	auto added = p.fact_index.emplace(f, p.facts.size());

	if (added.second)
		p.facts.push_back(f);
	return added.first->second;
}

static void set_place(part &p, fact &f, location_t loc, const source_loop *loop)
{
	expanded_location at = expand_location(LOCATION_LOCUS(loc));

	if (at.file) {
		FIELD(f, file) = string_index(p, at.file);
		FIELD(f, line) = at.line > 0 ? at.line : 0;
	}
	if (!loop)
		return;
	FIELD(f, loop) = loop->line;
	FIELD(f, depth) = loop->depth;
	if (!loop->branches.empty())
		FIELD(f, branch) = LOCATION_LINE(loop->branches[0]);
}

static uint64_t size_of(const_rtx mem)
{
	machine_mode mode = GET_MODE(mem);

	if (mode != BLKmode && mode != VOIDmode)
		return GET_MODE_SIZE(mode).to_constant();
	HOST_WIDE_INT size;
	return MEM_SIZE_KNOWN_P(mem) && MEM_SIZE(mem).is_constant(&size) && size >= 0 && size < INT_MAX ? size : 0;
}

static bool set_source(part &p, fact &f, const found &found, const_rtx mem)
{
	const note *n = found.source;
	bool vector = VECTOR_MODE_P(GET_MODE(mem)) && n->size && n->size < FIELD(f, size);

	FIELD(f, expr) = string_index(p, n->expr);
	FIELD(f, variable) = string_index(p, n->variable);
	FIELD(f, type) = string_index(p, n->type);
	if (vector)
		FIELD(f, flags) |= TAGS_VECTORIZED;
	const source_loop *loop = notes_loop(found.loc);
	set_place(p, f, found.loc, loop ? loop : n->loop);
	if (follow_ifconverted(found, vector || (MEM_EXPR(mem) && VECTOR_TYPE_P(TREE_TYPE(MEM_EXPR(mem))))))
		FIELD(f, flags) |= TAGS_IFCONVERTED;
	return true;
}

/* The variable that a register holds. */
static const char *register_variable(const_rtx reg)
{
	tree expr = reg && REG_P(reg) ? REG_EXPR(reg) : NULL_TREE;

	if (expr && TREE_CODE(expr) == SSA_NAME)
		expr = SSA_NAME_VAR(expr);
	return expr ? text_decl(expr) : NULL;
}

static bool set_kind(part &p, fact &f, tags_kind kind, const char *variable)
{
	FIELD(f, kind) = kind;
	FIELD(f, expr) = FIELD(f, variable) = string_index(p, variable);
	return true;
}

/* By what the reference itself says: the variable is known, what of it is not. */
static bool set_expr(part &p, fact &f, tree expr)
{
	std::string variable = text_variable(expr);

	if (variable == "")
		return false;
	FIELD(f, expr) = string_index(p, text_keep(text_expr(expr)));
	FIELD(f, variable) = string_index(p, text_keep(variable));
	FIELD(f, type) = string_index(p, text_type(TREE_TYPE(expr)));
	return true;
}

static bool is_stack(const_rtx addr)
{
	if (GET_RTX_CLASS(GET_CODE(addr)) == RTX_AUTOINC)
		return XEXP(addr, 0) == stack_pointer_rtx;
	if (GET_CODE(addr) == PLUS)
		addr = XEXP(addr, 0);
	return addr == stack_pointer_rtx || addr == hard_frame_pointer_rtx || (REG_P(addr) && REGNO(addr) == STACK_POINTER_REGNUM);
}

/* The variable that the first register of an address holds. */
static const char *base_variable(const_rtx addr)
{
	subrtx_iterator::array_type array;

	FOR_EACH_SUBRTX(i, array, addr, NONCONST)
		if (REG_P(*i))
			return register_variable(*i);
	return NULL;
}

static bool set_constant(part &p, fact &f, const_rtx x)
{
	char text[64] = "";

	if (GET_CODE(x) == CONST_VECTOR)
		x = CONST_VECTOR_ELT(x, 0);
	if (CONST_DOUBLE_AS_FLOAT_P(x))
		real_to_decimal_for_mode(text, CONST_DOUBLE_REAL_VALUE(x), sizeof(text), 0, 1, GET_MODE(x));
	else if (CONST_INT_P(x))
		snprintf(text, sizeof(text), HOST_WIDE_INT_PRINT_DEC, INTVAL(x));
	FIELD(f, expr) = string_index(p, text_keep(text));
	FIELD(f, kind) = TAGS_CONSTANT;
	return true;
}

/* By its address. */
static bool set_address(part &p, fact &f, const rtx_insn *insn, const_rtx mem)
{
	const_rtx addr = XEXP(mem, 0);
	subrtx_iterator::array_type array;

	FOR_EACH_SUBRTX(i, array, addr, ALL) {
		const_rtx x = *i;

		if (GET_CODE(x) == UNSPEC && (XINT(x, 1) == 2 || XINT(x, 1) == 0))
			continue;
		if (GET_CODE(x) == LABEL_REF)
			return set_kind(p, f, TAGS_TABLE, "");
		if (GET_CODE(x) != SYMBOL_REF)
			continue;
		if (CONSTANT_POOL_ADDRESS_P(x))
			return set_constant(p, f, get_pool_constant(x));
		if (SYMBOL_REF_DECL(x)) {
			const char *name = text_decl(SYMBOL_REF_DECL(x));
			bool address = GET_CODE(addr) == CONST && GET_CODE(XEXP(addr, 0)) == UNSPEC && MEM_READONLY_P(mem);

			if (TREE_CODE(SYMBOL_REF_DECL(x)) == CONST_DECL || !name)
				return set_kind(p, f, TAGS_CONSTANT, "");
			return set_kind(p, f, address ? TAGS_ADDRESS : TAGS_VARIABLE, name);
		}
		return set_kind(p, f, MEM_READONLY_P(mem) ? TAGS_ADDRESS : TAGS_VARIABLE, XSTR(x, 0));
	}
	if (!is_stack(addr)) {
		const char *pointer = base_variable(addr);

		return pointer && set_kind(p, f, TAGS_VARIABLE, text_keep(std::string("*") + pointer));
	}
	if (RTX_FRAME_RELATED_P(insn) || GET_CODE(addr) == POST_INC)
		return set_kind(p, f, TAGS_SAVED, "");
	return set_kind(p, f, (FIELD(f, flags) & TAGS_WRITE) ? TAGS_ARGUMENT : TAGS_SAVED, "");
}

static bool is_canary(const rtx_insn *insn)
{
	int code = INSN_CODE(insn);

	return code >= 0 && strncmp(insn_data[code].name, "stack_protect", 13) == 0;
}

static bool describe(part &p, fact &f, const rtx_insn *insn, const_rtx mem, const_rtx reg, bool read, bool write)
{
	tree expr = MEM_EXPR(mem);

	FIELD(f, flags) = (read ? TAGS_READ : 0) | (write ? TAGS_WRITE : 0);
	FIELD(f, size) = size_of(mem);
	if (is_canary(insn))
		return set_kind(p, f, TAGS_CANARY, "");
	if (expr && expr == get_spill_slot_decl(false))
		return set_kind(p, f, TAGS_SPILL, register_variable(reg));
	found found = follow_find(insn, mem, write);
	if (!found.source && read)
		found = follow_find(insn, mem, false);
	if (found.source && (expr || !is_stack(XEXP(mem, 0))) && !(MEM_READONLY_P(mem) && !expr))
		return set_source(p, f, found, mem);
	location_t loc = INSN_HAS_LOCATION(insn) ? INSN_LOCATION(insn) : UNKNOWN_LOCATION;
	set_place(p, f, loc, notes_loop(loc));
	return (expr && set_expr(p, f, expr)) || set_address(p, f, insn, mem);
}

/* ---- accesses of an instruction ---- */

struct memory_access {
	const_rtx mem, reg;
	bool read, write;
};

static void add_access(std::vector<memory_access> &v, const_rtx mem, const_rtx reg, bool write)
{
	const_rtx addr = XEXP(mem, 0);

	if (GET_CODE(addr) == SCRATCH)
		return;
	for (memory_access &a : v)
		if (rtx_equal_p(XEXP(a.mem, 0), addr) && GET_MODE(a.mem) == GET_MODE(mem)) {
			a.read = a.read || !write;
			a.write = a.write || write;
			return;
		}
	v.push_back(memory_access{ mem, reg, !write, write });
}

static void add_reads(std::vector<memory_access> &v, const_rtx x, const_rtx reg)
{
	subrtx_iterator::array_type array;

	FOR_EACH_SUBRTX(i, array, x, NONCONST) {
		if (GET_CODE(*i) == CALL) { /* what is called is no access, but it may be found in memory */
			add_reads(v, XEXP(XEXP(*i, 0), 0), reg);
			i.skip_subrtxes();
		} else if (MEM_P(*i)) {
			add_access(v, *i, reg, false);
		}
	}
}

static void add_pattern(std::vector<memory_access> &v, const_rtx x)
{
	switch (GET_CODE(x)) {
	case PARALLEL:
		for (int i = 0; i < XVECLEN(x, 0); i++)
			add_pattern(v, XVECEXP(x, 0, i));
		break;
	case COND_EXEC:
		add_pattern(v, COND_EXEC_CODE(x));
		break;
	case SET: {
		const_rtx dest = SET_DEST(x);

		add_reads(v, SET_SRC(x), dest);
		while (GET_CODE(dest) == STRICT_LOW_PART || GET_CODE(dest) == ZERO_EXTRACT || GET_CODE(dest) == SUBREG)
			dest = XEXP(dest, 0);
		if (MEM_P(dest))
			add_access(v, dest, SET_SRC(x), true);
		break;
	}
	case CLOBBER:
	case USE:
		break;
	default:
		add_reads(v, x, NULL_RTX);
	}
}

static std::vector<memory_access> accesses_of(const rtx_insn *insn)
{
	std::vector<memory_access> v;

	if (NONDEBUG_INSN_P(insn) && GET_CODE(PATTERN(insn)) != USE && GET_CODE(PATTERN(insn)) != CLOBBER)
		add_pattern(v, PATTERN(insn));
	return v;
}

/* ---- the section ---- */

static void put_string(FILE *file, const char *s)
{
	fputs("\t.string \"", file);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', file);
		fputc(*s, file);
	}
	fputs("\"\n", file);
}

static void put_section(FILE *file, const part &p)
{
	tree group = DECL_COMDAT_GROUP(current_function_decl);
	bool grouped = (p.in->common.flags & SECTION_LINKONCE) && group;

	fprintf(file, "\t.pushsection %s,\"o%s\",@progbits,.Lsonde%u", TAGS_SECTION, grouped ? "G" : "", first[p.in]);
	if (grouped)
		fprintf(file, ",%s,comdat", IDENTIFIER_POINTER(group));
	fputc('\n', file);
}

static void put_part(FILE *file, part &p)
{
	uint32_t function = string_index(p, text_keep(lang_hooks.decl_printable_name(current_function_decl, 1)));
	size_t size = sizeof(tags_chunk) + p.entries.size() * sizeof(tags_entry) + p.facts.size() * sizeof(tags_fact) + p.nstrings;

	put_section(file, p);
	fprintf(file, "\t.4byte %u,%u,%u,%u\n", TAGS_MAGIC, TAGS_VERSION, (unsigned int)size, (unsigned int)p.entries.size());
	fprintf(file, "\t.8byte .Lsonde%u\n", p.base);
	fprintf(file, "\t.4byte %u,%u,%u,0\n", (unsigned int)p.facts.size(), p.nstrings, function);
	for (const entry &e : p.entries)
		fprintf(file, "\t.4byte .Lsonde%u-.Lsonde%u,.Lsonde%u-.Lsonde%u,%u\n", e.begin, p.base, e.end, e.begin, e.fact);
	for (const fact &f : p.facts)
		for (size_t i = 0; i < sizeof(f.v) / sizeof(f.v[0]); i++)
			fprintf(file, "%s%u%s", i ? "," : "\t.4byte ", f.v[i], i + 1 < sizeof(f.v) / sizeof(f.v[0]) ? "" : "\n");
	fputs("\t.byte 0\n", file);
	for (const char *s : p.strings)
		put_string(file, s);
	fputs("\t.popsection\n", file);
}

void emit_function(function *)
{
	for (part &p : parts)
		if (!p.entries.empty())
			put_part(asm_out_file, p);
	parts.clear();
	follow_forget();
}

/* ---- what final calls ---- */

static void prologue(FILE *file)
{
	old_prologue(file);
	parts.clear();
	begin_part(file);
}

static void switched(FILE *file, tree decl, bool cold)
{
	old_switched(file, decl, cold);
	begin_part(file);
}

/* The next one that becomes code. */
static rtx_insn *next_written(rtx_insn *insn)
{
	do
		insn = next_real_nondebug_insn(insn);
	while (insn && (GET_CODE(PATTERN(insn)) == USE || GET_CODE(PATTERN(insn)) == CLOBBER));
	return insn;
}

static void after_insn(FILE *file, rtx_insn *insn, rtx *operands, int n)
{
	unsigned int begin = here;

	if (old_postscan)
		old_postscan(file, insn, operands, n);
	if (parts.empty())
		return;
	part &p = parts.back();
	bool labelled = false;
	for (const memory_access &a : accesses_of(insn)) {
		fact f = {};

		if (!describe(p, f, insn, a.mem, a.reg, a.read, a.write))
			continue;
		if (!labelled)
			put_label(file);
		labelled = true;
		p.entries.push_back(entry{ begin, here, fact_index(p, f) });
	}
	if (labelled)
		return;
	rtx_insn *next = next_written(insn);
	if (!next || !accesses_of(next).empty())
		put_label(file);
}

void emit_init(void)
{
	old_prologue = targetm.asm_out.function_prologue;
	old_switched = targetm.asm_out.function_switched_text_sections;
	old_postscan = targetm.asm_out.final_postscan_insn;
	targetm.asm_out.function_prologue = prologue;
	targetm.asm_out.function_switched_text_sections = switched;
	targetm.asm_out.final_postscan_insn = after_insn;
}
