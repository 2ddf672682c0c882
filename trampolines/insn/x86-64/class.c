// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * By Zydis' categories; floating point arithmetic by its name, whose ending tells lanes: [v]STEM(ss|sd|sh|ps|pd|ph), or fSTEM[p]
 * of the x87.
 */
#include "trampolines/insn/x86-64/class.h"

#include <string.h>

#include "trampolines/insn/x86-64/zydis.h"

/* ---- floating point arithmetic ---- */

static const struct {
	const char *stem;
	uint8_t flops; /* of a lane */
} arithmetic[] = {
	{ "add", 1 }, { "sub", 1 }, { "mul", 1 }, { "div", 1 }, { "sqrt", 1 }, { "min", 1 }, { "max", 1 },
	{ "addsub", 1 }, { "hadd", 1 }, { "hsub", 1 }, { "rcp", 1 }, { "rsqrt", 1 }, { "rcp14", 1 }, { "rsqrt14", 1 },
	{ "dp", 2 },
};

static const char *const fused[] = { "fmaddsub", "fmsubadd", "fnmadd", "fnmsub", "fmadd", "fmsub" };
static const char *const x87[] = { "add", "sub", "mul", "div", "sqrt" };

static bool starts(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* Operations of a lane; 0: it is none of them. */
static uint8_t flops_of(const char *stem, size_t len)
{
	for (size_t i = 0; i < sizeof(fused) / sizeof(fused[0]); i++)
		if (starts(stem, fused[i]))
			return 2;
	for (size_t i = 0; i < sizeof(arithmetic) / sizeof(arithmetic[0]); i++)
		if (strlen(arithmetic[i].stem) == len && strncmp(stem, arithmetic[i].stem, len) == 0)
			return arithmetic[i].flops;
	return 0;
}

static bool is_x87(const char *name)
{
	if (*name++ != 'f')
		return false;
	name += *name == 'i';
	for (size_t i = 0; i < sizeof(x87) / sizeof(x87[0]); i++)
		if (starts(name, x87[i]))
			return true;
	return false;
}

/* ---- vectors ---- */

static unsigned int bits_of(ZydisRegister reg)
{
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_XMM:
		return 128;
	case ZYDIS_REGCLASS_YMM:
		return 256;
	case ZYDIS_REGCLASS_ZMM:
		return 512;
	case ZYDIS_REGCLASS_MMX:
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MASK:
		return 64;
	default:
		return 0;
	}
}

/* Of the widest vector register that it names. */
static unsigned int vector_bits(const struct tramp_zydis *z)
{
	unsigned int most = 0;

	for (unsigned int i = 0; i < z->insn.operand_count_visible; i++) {
		unsigned int bits = tramp_zydis_is_reg(&z->o[i]) ? bits_of(z->o[i].reg.value) : 0;

		most = bits > most ? bits : most;
	}
	return most;
}

static uint8_t width_of(unsigned int bits)
{
	return bits >= 512 ? 3 : bits >= 256 ? 2 : bits >= 128 ? 1 : 0;
}

/* A move or a conversion of one number, by its name. */
static bool is_single(const char *name, size_t len)
{
	return strcmp(name, "movd") == 0 || strcmp(name, "movq") == 0 || starts(name, "cvt") ||
	       (len > 2 && name[len - 2] == 's' && strchr("sdh", name[len - 1]));
}

static void work_on_vectors(const struct tramp_zydis *z, unsigned int bits, struct tramp_work *w)
{
	const char *name = ZydisMnemonicGetString(z->insn.mnemonic);
	size_t len;
	char lanes, size;

	name += *name == 'v';
	len = strlen(name);
	w->class = TRAMP_CLASS_VECTOR;
	if (len < 3)
		return;
	lanes = name[len - 2];
	size = name[len - 1];
	if ((lanes == 's' || lanes == 'p') && strchr("sdh", size)) {
		unsigned int of_lane = size == 'd' ? 64 : size == 's' ? 32 : 16, n = lanes == 'p' ? bits / of_lane : 1;

		w->scalar = lanes == 's';
		w->of_floats = lanes == 'p';
		w->flops = (uint8_t)(flops_of(name, len - 2) * n);
	}
	if (w->flops)
		w->class = TRAMP_CLASS_FLOAT;
	if (lanes == 'p' || !is_single(name, len))
		w->width = width_of(bits);
	if (w->width && z->o[0].element_type >= ZYDIS_ELEMENT_TYPE_FLOAT16 &&
	    z->o[0].element_type <= ZYDIS_ELEMENT_TYPE_FLOAT80)
		w->of_floats = true;
}

/* ---- all else ---- */

static enum tramp_class class_of(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
		return TRAMP_CLASS_BRANCH;
	case ZYDIS_CATEGORY_CALL:
		return TRAMP_CLASS_CALL;
	case ZYDIS_CATEGORY_RET:
		return TRAMP_CLASS_RETURN;
	case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_BITBYTE:
	case ZYDIS_CATEGORY_BMI1:
	case ZYDIS_CATEGORY_LZCNT:
	case ZYDIS_CATEGORY_SETCC:
		return TRAMP_CLASS_LOGIC;
	case ZYDIS_CATEGORY_SHIFT:
	case ZYDIS_CATEGORY_ROTATE:
	case ZYDIS_CATEGORY_BMI2:
		return TRAMP_CLASS_SHIFT;
	case ZYDIS_CATEGORY_DATAXFER:
	case ZYDIS_CATEGORY_CMOV:
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_STRINGOP:
		return TRAMP_CLASS_MOVE;
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
		return TRAMP_CLASS_NOP;
	case ZYDIS_CATEGORY_BINARY:
	case ZYDIS_CATEGORY_ADOX_ADCX:
	case ZYDIS_CATEGORY_CONVERT:
	case ZYDIS_CATEGORY_SEMAPHORE:
		return TRAMP_CLASS_INTEGER;
	case ZYDIS_CATEGORY_X87_ALU:
		return TRAMP_CLASS_VECTOR;
	default:
		return insn->mnemonic == ZYDIS_MNEMONIC_LEA ? TRAMP_CLASS_INTEGER : TRAMP_CLASS_SYSTEM;
	}
}

bool tramp_work(const uint8_t *code, size_t avail, struct tramp_work *work)
{
	struct tramp_zydis z;
	unsigned int bits;

	*work = (struct tramp_work){ 0 };
	if (!tramp_zydis(code, avail, &z))
		return false;
	work->class = (uint8_t)class_of(&z.insn);
	bits = vector_bits(&z);
	if (work->class == TRAMP_CLASS_VECTOR && is_x87(ZydisMnemonicGetString(z.insn.mnemonic))) {
		work->class = TRAMP_CLASS_FLOAT;
		work->flops = 1;
		work->scalar = true;
	} else if (bits && work->class != TRAMP_CLASS_NOP) {
		work_on_vectors(&z, bits, work);
	}
	return true;
}
