// SPDX-License-Identifier: GPL-3.0-or-later
/* tramp_plan_entry(): what is displaced, and what is refused. Bytes in, facts out. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trampolines/trampoline.h"

#define ADDR 0x7f0000001000ull
#define BYTES(s) .code = (s), .avail = sizeof(s) - 1
#define NOT_KNOWN SIZE_MAX

struct accepted {
	const char *name;
	const char *code;
	size_t avail;
	size_t size;		/* 0 = all of it, NOT_KNOWN = say 0 */
	size_t patch;		/* expected, offset of the window */
	size_t displaced;
	size_t patch_len;
	size_t ninsns;
	bool ends;		/* no way on after the displaced instructions */
};

// clang-format off
static const struct accepted accepted[] = {
	{ "five bytes in three instructions",
	  BYTES("\x55"				// push %rbp
		"\x48\x89\xe5"			// mov %rsp,%rbp
		"\x53"				// push %rbx
		"\xc3"),			// ret
	  .displaced = 5, .patch_len = 5, .ninsns = 3 },
	{ "behind endbr64",
	  BYTES("\xf3\x0f\x1e\xfa"		// endbr64
		"\x48\x83\xec\x18"		// sub $0x18,%rsp
		"\x31\xc0"			// xor %eax,%eax
		"\xc3"),			// ret
	  .patch = 4, .displaced = 6, .patch_len = 6, .ninsns = 2 },
	{ "one long instruction",
	  BYTES("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"	// movabs $0x807060504030201,%rax
		"\xc3"),			// ret
	  .displaced = 10, .patch_len = 10, .ninsns = 1 },
	{ "four short ones and a long one",
	  BYTES("\x50\x51\x52\x53"		// push %rax, %rcx, %rdx, %rbx
		"\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"	// movabs $0x807060504030201,%rax
		"\xc3"),			// ret
	  .displaced = 14, .patch_len = 14, .ninsns = 5 },
	{ "ret, then the compiler's padding",
	  BYTES("\xc3"				// ret
		"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), // cs nopw 0(%rax,%rax,1)
	  .size = 1, .displaced = 1, .patch_len = 11, .ninsns = 1, .ends = true },
	{ "ret, then int3",
	  BYTES("\xc3\xcc\xcc\xcc\xcc\xcc"),	// ret; int3 ...
	  .size = 1, .displaced = 1, .patch_len = 5, .ninsns = 1, .ends = true },
	{ "ret, then the linker's zeroes",
	  BYTES("\x31\xc0\xc3\0\0\0"),		// xor %eax,%eax; ret
	  .size = 3, .displaced = 3, .patch_len = 5, .ninsns = 2, .ends = true },
	{ "endbr64 and ret, padding",
	  BYTES("\xf3\x0f\x1e\xfa\xc3"		// endbr64; ret
		"\x0f\x1f\x80\0\0\0\0"),	// nopl 0(%rax)
	  .size = 5, .patch = 4, .displaced = 1, .patch_len = 8, .ninsns = 1, .ends = true },
	{ "padding inside the function",
	  BYTES("\xeb\x06"			// jmp +6
		"\x66\x90\x66\x90\x66\x90"	// xchg %ax,%ax ...
		"\x31\xc0\xc3"),		// xor %eax,%eax; ret
	  .displaced = 2, .patch_len = 6, .ninsns = 1, .ends = true },
	{ "size not known, ret and padding",
	  BYTES("\xc3\x0f\x1f\x44\x00\x00"),	// ret; nopl 0(%rax,%rax,1)
	  .size = NOT_KNOWN, .displaced = 1, .patch_len = 6, .ninsns = 1, .ends = true },
	{ "size not known",
	  BYTES("\xb8\x01\x00\x00\x00\xc3"),	// mov $1,%eax; ret
	  .size = NOT_KNOWN, .displaced = 5, .patch_len = 5, .ninsns = 1 },
	{ "jump to another function",
	  BYTES("\xe9\xfb\x0f\x00\x00"),	// jmp .+0x1000
	  .displaced = 5, .patch_len = 5, .ninsns = 1, .ends = true },
	{ "jump through a pointer",
	  BYTES("\xff\x25\x00\x10\x00\x00"),	// jmp *0x1000(%rip)
	  .displaced = 6, .patch_len = 6, .ninsns = 1, .ends = true },
	{ "jump through a register, padding",
	  BYTES("\xff\xe0\xcc\xcc\xcc"),	// jmp *%rax
	  .size = 2, .displaced = 2, .patch_len = 5, .ninsns = 1, .ends = true },
	{ "nothing but ud2",
	  BYTES("\x0f\x0b\xcc\xcc\xcc\xcc"),	// ud2
	  .size = 2, .displaced = 2, .patch_len = 5, .ninsns = 1, .ends = true },
	{ "a call that returns to the window's end",
	  BYTES("\xe8\x00\x10\x00\x00"		// call .+0x1005
		"\xc3"),			// ret
	  .displaced = 5, .patch_len = 5, .ninsns = 1, .ends = true },
	{ "a call that begins in the window",
	  BYTES("\x50"				// push %rax
		"\xff\x15\x00\x10\x00\x00"	// call *0x1000(%rip)
		"\x58\xc3"),			// pop %rax; ret
	  .displaced = 7, .patch_len = 7, .ninsns = 2, .ends = true },
	{ "a function that calls itself",
	  BYTES("\x48\x83\xec\x08"		// sub $8,%rsp
		"\xff\xcf"			// dec %edi
		"\x74\x05"			// je +5
		"\xe8\xf3\xff\xff\xff"		// call start
		"\x48\x83\xc4\x08\xc3"),	// add $8,%rsp; ret
	  .displaced = 6, .patch_len = 6, .ninsns = 2 },
	{ "call +0, the idiom that reads the PC",
	  BYTES("\xe8\0\0\0\0\x58\xc3"),	// call 1f; 1: pop %rax; ret
	  .displaced = 5, .patch_len = 5, .ninsns = 1, .ends = true },
	{ "falls through padding into the next function",
	  BYTES("\x31\xc0"			// xor %eax,%eax
		"\x0f\x1f\x00"			// nopl (%rax)
		"\x31\xd2\xc3"),		// the next: xor %edx,%edx; ret
	  .size = 2, .displaced = 5, .patch_len = 5, .ninsns = 2 },
	{ "a loop to right behind the displaced",
	  BYTES("\xb8\x00\x00\x00\x00"		// mov $0,%eax
		"\xff\xc0"			// inc %eax
		"\x39\xf8"			// cmp %edi,%eax
		"\x75\xfa"			// jne -6: the inc
		"\xc3"),			// ret
	  .displaced = 5, .patch_len = 5, .ninsns = 1 },
	{ "an immediate that reads like a branch back",
	  BYTES("\x55\x48\x89\xe5\x53"		// push %rbp; mov %rsp,%rbp; push %rbx
		"\xb8\x75\xfb\x00\x00"		// mov $0xfb75,%eax: 75 fb would be jne to offset 3
		"\xc3"),			// ret
	  .displaced = 5, .patch_len = 5, .ninsns = 3 },
	{ "an immediate that reads like an operand",
	  BYTES("\x55\x48\x89\xe5\x53"		// push %rbp; mov %rsp,%rbp; push %rbx
		"\xb8\xf8\xff\xff\xff"		// mov $0xfffffff8,%eax
		"\xc3"),			// ret
	  .displaced = 5, .patch_len = 5, .ninsns = 3 },
	{ "a pointer to itself",
	  BYTES("\x48\x8d\x05\xf9\xff\xff\xff"	// lea start(%rip),%rax
		"\xc3"),			// ret
	  .displaced = 7, .patch_len = 7, .ninsns = 1 },
	{ "conditional branches out of the window",
	  BYTES("\x85\xff"			// test %edi,%edi
		"\x74\x04"			// je +4
		"\x48\x8b\x07\xc3"		// mov (%rdi),%rax; ret
		"\x31\xc0\xc3"),		// xor %eax,%eax; ret
	  .displaced = 7, .patch_len = 7, .ninsns = 3 },
};

struct refused {
	const char *name;
	enum tramp_status status;
	const char *code;
	size_t avail;
	size_t size;
};

static const struct refused refused[] = {
	{ "ret, then another function", TRAMP_TOO_SHORT,
	  BYTES("\xc3\x31\xc0\xc3\x90\x90"), .size = 1 },	// ret; xor %eax,%eax; ret
	{ "ret at the end of the section", TRAMP_TOO_SHORT,
	  BYTES("\x31\xc0\xc3"), .size = 3 },			// xor %eax,%eax; ret
	{ "endbr64 and ret at the end", TRAMP_TOO_SHORT,
	  BYTES("\xf3\x0f\x1e\xfa\xc3"), .size = 5 },		// endbr64; ret
	{ "falls through into the next function", TRAMP_TOO_SHORT,
	  BYTES("\x31\xc0\x31\xd2\xc3\x90"), .size = 2 },	// xor %eax,%eax | xor %edx,%edx
	{ "falls through into zeroes", TRAMP_TOO_SHORT,
	  BYTES("\x31\xc0\0\0\0\0"), .size = 2 },		// xor %eax,%eax | zeroes
	{ "too few bytes, size not known", TRAMP_TRUNCATED,
	  BYTES("\x31\xc0\xc3\x90"), .size = NOT_KNOWN },	// xor %eax,%eax; ret; nop
	{ "no bytes at all", TRAMP_TRUNCATED, BYTES(""), .size = NOT_KNOWN },
	{ "ret, then more of the function", TRAMP_ENDS_EARLY,
	  BYTES("\x31\xc0\xc3\x31\xd2\xc3"), },			// xor, ret; xor, ret
	{ "short jump, then code", TRAMP_ENDS_EARLY,
	  BYTES("\xeb\x02\xff\xc0\x31\xd2\xc3"), },		// jmp +2; inc %eax; xor; ret
	{ "zeroes inside the function are data", TRAMP_ENDS_EARLY,
	  BYTES("\xc3\0\0\0\0\0\0"), },				// ret; .long 0
	{ "size not known, zeroes", TRAMP_ENDS_EARLY,
	  BYTES("\xc3\0\0\0\0\0\0"), .size = NOT_KNOWN },	// ret; zeroes
	{ "jne back to the start", TRAMP_BRANCH_TO_START,
	  BYTES("\x48\xff\xc7"			// inc %rdi
		"\x80\x3f\x00"			// cmpb $0,(%rdi)
		"\x75\xf8"			// jne -8: start
		"\xc3"), .size = NOT_KNOWN },	// ret
	{ "jmp back to the window behind endbr64", TRAMP_BRANCH_TO_START,
	  BYTES("\xf3\x0f\x1e\xfa"		// endbr64
		"\x48\xff\xc7\x80\x3f\x00"	// inc %rdi; cmpb $0,(%rdi)
		"\xe9\xf5\xff\xff\xff"), .size = NOT_KNOWN },	// jmp -11: the inc
	{ "jmp back to the endbr64", TRAMP_BRANCH_TO_START,
	  BYTES("\xf3\x0f\x1e\xfa"		// endbr64
		"\x48\xff\xc7\x80\x3f\x00"	// inc %rdi; cmpb $0,(%rdi)
		"\xeb\xf4"), .size = NOT_KNOWN },			// jmp -12: the endbr64
	{ "jmp to itself", TRAMP_BRANCH_TO_START,
	  BYTES("\xeb\xfe\x90\x90\x90\x90"), .size = NOT_KNOWN },	// jmp .
	{ "loop back to the start", TRAMP_BRANCH_TO_START,
	  BYTES("\xf3\xac\x84\xc0\x90"		// rep lods; test %al,%al; nop
		"\xe2\xf9"			// loop -7: start
		"\xc3"), .size = NOT_KNOWN },	// ret
	{ "jne rel32 back into the window", TRAMP_BRANCH_INTO,
	  BYTES("\x31\xc0"			// xor %eax,%eax
		"\x48\xff\xc7"			// inc %rdi
		"\x38\x07"			// cmp %al,(%rdi)
		"\x0f\x85\xf5\xff\xff\xff"	// jne -11: the inc
		"\xc3"), .size = NOT_KNOWN },	// ret
	{ "jrcxz back into the window", TRAMP_BRANCH_INTO,
	  BYTES("\x31\xc0\x48\xff\xc7\x38\x07"	// xor %eax,%eax; inc %rdi; cmp %al,(%rdi)
		"\xe3\xf9"			// jrcxz -7: the inc
		"\xc3"), .size = NOT_KNOWN },	// ret
	{ "a branch inside the window", TRAMP_BRANCH_INTO,
	  BYTES("\x74\x01"			// je +1
		"\x90"				// nop
		"\x31\xc0\xc3\x90"), .size = NOT_KNOWN },	// xor %eax,%eax; ret
	{ "a branch behind a lock prefix in the tail", TRAMP_BRANCH_INTO,
	  BYTES("\x85\xf6"			// test %esi,%esi
		"\x74\x01"			// je +1: the cmpxchg without its lock
		"\xf0\x0f\xb1\x17"		// lock cmpxchg %edx,(%rdi)
		"\xc3") },			// ret
	{ "a call into the window", TRAMP_BRANCH_INTO,
	  BYTES("\x31\xc0"			// xor %eax,%eax
		"\x48\xff\xc7"			// inc %rdi
		"\xe8\xf8\xff\xff\xff"		// call -8: the inc
		"\xc3") },			// ret
	{ "xbegin whose abort handler is in the window", TRAMP_BRANCH_INTO,
	  BYTES("\x31\xc0\x48\xff\xc7"		// xor %eax,%eax; inc %rdi
		"\xc7\xf8\xf7\xff\xff\xff"	// xbegin -9: the inc
		"\xc3") },			// ret
	{ "a branch behind bytes that are no code", TRAMP_BRANCH_INTO,
	  BYTES("\x31\xc0\x48\xff\xc7"		// xor %eax,%eax; inc %rdi
		"\xeb\x02"			// jmp +2
		"\x06\xb8"			// data; b8 would swallow what follows
		"\xeb\xf7"			// jmp -9: the inc
		"\x90\x90\x90\xc3") },		// nop; nop; nop; ret
	{ "a branch inside the window, falling through the function's end", TRAMP_BRANCH_INTO,
	  BYTES("\x67\xe3\x00"			// jecxz +0
		"\x51"				// push %rcx
		"\x90\xc3"), .size = 4 },	// nop; the next function: ret
	{ "a loop with a call in it", TRAMP_BRANCH_TO_START,
	  BYTES("\x90\xe8\x00\x10\x00\x00"	// nop; call
		"\xff\xcf"			// dec %edi
		"\x75\xf6"			// jne -10: start
		"\xc3") },			// ret
	{ "a loop whose address is taken behind it", TRAMP_BRANCH_TO_START,
	  BYTES("\x48\x83\xc0\x08\x90"	// add $8,%rax; nop
		"\xff\xcf"			// dec %edi
		"\x75\xf7"			// jne -9: start
		"\x48\x8d\x05\xf5\xff\xff\xff"	// lea -11(%rip),%rax: the dec
		"\xc3") },			// ret
	{ "a loop in a function with a jump table", TRAMP_BRANCH_TO_START,
	  BYTES("\x48\x83\xc0\x08\x90"	// add $8,%rax; nop
		"\xff\xcf"			// dec %edi
		"\x75\xf7"			// jne -9: start
		"\xff\xe0") },			// jmp *%rax
	{ "a loop before bytes that are no code", TRAMP_BRANCH_TO_START,
	  BYTES("\x48\x83\xc0\x08\x90"	// add $8,%rax; nop
		"\xff\xcf"			// dec %edi
		"\x75\xf7"			// jne -9: start
		"\xc3\x06") },			// ret; no code
	{ "a loop of 66 bytes", TRAMP_BRANCH_TO_START,
	  BYTES("\x48\x05\1\1\1\1\x48\x05\1\1\1\1"	// add $0x01010101,%rax: 6 bytes
		"\x48\x05\1\1\1\1\x48\x05\1\1\1\1"
		"\x48\x05\1\1\1\1\x48\x05\1\1\1\1"
		"\x48\x05\1\1\1\1\x48\x05\1\1\1\1"
		"\x48\x05\1\1\1\1\x48\x05\1\1\1\1"
		"\x0f\x1f\x40\x00"		// nopl 0(%rax)
		"\x75\xbe\xc3") },		// jne -66: start; ret
	{ "a loop of 25 instructions", TRAMP_BRANCH_TO_START,
	  BYTES("\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"	// nop
		"\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
		"\x75\xe6\xc3") },		// jne -26: start; ret
	{ "the address of a displaced instruction", TRAMP_ADDRESS_TAKEN,
	  BYTES("\x31\xc0\x48\xff\xc7"		// xor %eax,%eax; inc %rdi
		"\x48\x8d\x15\xf6\xff\xff\xff"	// lea -10(%rip),%rdx: the inc
		"\xff\xe2") },			// jmp *%rdx
	{ "reads its own bytes, with an immediate behind", TRAMP_ADDRESS_TAKEN,
	  BYTES("\x31\xc0\x48\xff\xc7"		// xor %eax,%eax; inc %rdi
		"\x81\x3d\xf3\xff\xff\xff\x01\x00\x00\x00" // cmpl $1,-13(%rip): the inc
		"\xc3") },			// ret
	{ "a call that returns into the window", TRAMP_CALL_RETURNS,
	  BYTES("\xff\xd0"			// call *%rax
		"\x48\x83\xc4\x08\xc3") },	// add $8,%rsp; ret
	{ "a call at the end, into padding", TRAMP_CALL_RETURNS,
	  BYTES("\xff\xd0\x90\x90\x90\x90"), .size = 2 },	// call *%rax
	{ "no instruction", TRAMP_UNDECODABLE,
	  BYTES("\x06\x90\x90\x90\x90\x90") },	// 06: push %es, not in 64 bits
	{ "no instruction, second", TRAMP_UNDECODABLE,
	  BYTES("\x90\x0f\xff\x90\x90\x90") },	// nop; 0f ff with mod 2, cut off
	{ "cut off", TRAMP_UNDECODABLE,
	  BYTES("\x90\x48\xb8\x90\x90\x90") },	// nop; movabs of 10 bytes
	{ "reaches beyond its own end", TRAMP_UNDECODABLE,
	  BYTES("\x55\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"), .size = 6 }, // push; movabs
	{ "jmp with a 16-bit prefix", TRAMP_UNMOVABLE,
	  BYTES("\x66\xe9\x00\x10\x00\x00\x90") },	// data16 jmp
	{ "jne with a 16-bit prefix", TRAMP_UNMOVABLE,
	  BYTES("\x66\x75\x10\x90\x90\x90\x90") },	// data16 jne
	{ "relative to EIP", TRAMP_UNMOVABLE,
	  BYTES("\x67\x8b\x05\x00\x10\x00\x00\xc3") },	// mov 0x1000(%eip),%eax
	{ "a transaction", TRAMP_UNMOVABLE,
	  BYTES("\xc7\xf8\x00\x10\x00\x00\xc3") },	// xbegin
	{ "a far call", TRAMP_UNMOVABLE,
	  BYTES("\x90\x90\xff\x5c\x24\x08\xc3") },	// lcall *8(%rsp)
	{ "a call through RSP", TRAMP_UNMOVABLE,
	  BYTES("\x90\x90\x90\xff\xd4\xc3") },		// call *%rsp
	{ "a call through memory below RSP", TRAMP_UNMOVABLE,
	  BYTES("\x90\xff\x54\x24\xf8\xc3") },		// call *-8(%rsp)
	{ "a call through memory by ESP", TRAMP_UNMOVABLE,
	  BYTES("\x67\xff\x54\x24\x08\xc3") },		// call *8(%esp)
	{ "a call of 14 bytes that would grow", TRAMP_UNMOVABLE,
	  BYTES("\x90\x48\x48\x48\x48\x48\x48\x48\x48\x48\x48"	// nop; rex.W ten times
		"\xff\x54\x24\x78\xc3") },			// call *0x78(%rsp)
	{ "a branch by mask register", TRAMP_UNMOVABLE,
	  BYTES("\xc5\xf8\x85\xc8\x00\x10\x00\x00\xc3") },	// jknzd, of Knights Corner alone
	{ "sigreturn", TRAMP_SIGRETURN,
	  BYTES("\x48\xc7\xc0\x0f\x00\x00\x00"		// mov $15,%rax
		"\x0f\x05\x0f\x1f\x80\x00\x00\x00\x00"), .size = 9 },	// syscall
	{ "sigreturn, short", TRAMP_SIGRETURN,
	  BYTES("\xb8\x0f\x00\x00\x00\x0f\x05") },	// mov $15,%eax; syscall
};
// clang-format on

/* Functions that begin with a loop: all of it is displaced. */
// clang-format off
static const struct accepted enclosed[] = {
	{ "a spin lock",
	  BYTES("\xf0\xff\x0f"			// lock decl (%rdi)
		"\x75\x0b"			// jne +11
		"\x31\xc0\xc3"			// xor %eax,%eax; ret
		"\x0f\x1f\x84\x00\x00\x00\x00\x00"	// nopl 0(%rax,%rax,1)
		"\xf3\x90"			// pause
		"\x83\x3f\x00"			// cmpl $0,(%rdi)
		"\x7f\xe9"			// jg -23: start
		"\xeb\xf7"),			// jmp -9: the pause, from after the loop
	  .displaced = 25, .patch_len = 5, .ninsns = 9, .ends = true },
	{ "a loop that is entered from behind it",
	  BYTES("\x48\x83\xc0\x08\x90"	// add $8,%rax; nop
		"\xff\xcf"			// dec %edi
		"\x75\xf7"			// jne -9: start
		"\xff\xce"			// dec %esi
		"\x75\xf8"			// jne -8: the dec %edi
		"\xc3"),			// ret
	  .displaced = 13, .patch_len = 5, .ninsns = 6 },
	{ "a loop into the window",
	  BYTES("\x48\x8b\x07"			// mov (%rdi),%rax
		"\x85\xc0"			// test %eax,%eax
		"\x74\x0c"			// je +12
		"\x48\x8d\x50\xff"		// lea -1(%rax),%rdx
		"\xf0\x48\x0f\xb1\x17"		// lock cmpxchg %rdx,(%rdi)
		"\x75\xf1"			// jne -15: the test
		"\x31\xc0\xc3"			// xor %eax,%eax; ret
		"\x83\xc8\xff\xc3"),		// or $-1,%eax; ret
	  .displaced = 18, .patch_len = 5, .ninsns = 6 },
	{ "behind endbr64, back to it",
	  BYTES("\xf3\x0f\x1e\xfa"		// endbr64
		"\x48\xff\xc7\x80\x3f\x00"	// inc %rdi; cmpb $0,(%rdi)
		"\x75\xf4\xc3"),		// jne -12: the endbr64; ret
	  .patch = 4, .displaced = 8, .patch_len = 6, .ninsns = 3 },
	{ "an endless loop",
	  BYTES("\xeb\xfe\xcc\xcc\xcc"),	// jmp .
	  .size = 2, .displaced = 2, .patch_len = 5, .ninsns = 1, .ends = true },
	{ "a branch inside the window",
	  BYTES("\x74\x01\x90\x31\xc0\xc3"),	// je +1; nop; xor %eax,%eax; ret
	  .displaced = 5, .patch_len = 5, .ninsns = 3 },
};
// clang-format on

static struct tramp_function function(const char *code, size_t avail, size_t size)
{
	return (struct tramp_function){
		.addr = ADDR,
		.code = (const uint8_t *)code,
		.avail = avail,
		.size = size == NOT_KNOWN ? 0 : size ? size : avail,
	};
}

static size_t original_len(const struct accepted *c)
{
	return c->displaced > c->patch_len ? c->displaced : c->patch_len;
}

static void check_accepted(const struct accepted *c)
{
	struct tramp_function fn = function(c->code, c->avail, c->size);
	struct tramp_plan plan;
	size_t at = 0;

	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_OK);
	assert_int_equal(plan.addr, ADDR);
	assert_int_equal(plan.patch_addr, ADDR + c->patch);
	assert_int_equal(plan.displaced_len, c->displaced);
	assert_int_equal(plan.patch_len, c->patch_len);
	assert_int_equal(plan.ninsns, c->ninsns);
	assert_int_equal(plan.falls_through, !c->ends);
	assert_int_equal(plan.resume, ADDR + c->patch + c->displaced);
	assert_memory_equal(plan.original, c->code + c->patch, original_len(c));
	for (size_t i = 0; i < plan.ninsns; i++) {
		assert_int_equal(plan.insns[i].offset, at);
		at += plan.insns[i].length;
	}
	assert_int_equal(at, c->displaced);
}

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(accepted) / sizeof(*accepted); i++) {
		print_message("    %s\n", accepted[i].name);
		check_accepted(&accepted[i]);
	}
}

static void test_enclosed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(enclosed) / sizeof(*enclosed); i++) {
		print_message("    %s\n", enclosed[i].name);
		check_accepted(&enclosed[i]);
	}
}

static void test_refused(void **state)
{
	struct tramp_plan plan;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		const struct refused *c = &refused[i];
		struct tramp_function fn = function(c->code, c->avail, c->size);

		print_message("    %s\n", c->name);
		assert_int_equal(tramp_plan_entry(&fn, &plan), c->status);
	}
}

static const char prologue[] = "\xf3\x0f\x1e\xfa"	// endbr64
			       "\x55\x48\x89\xe5"	// push %rbp; mov %rsp,%rbp
			       "\x48\x83\xec\x10"	// sub $16,%rsp
			       "\xc9\xc3";		// leave; ret

static enum tramp_status plan_with(const struct tramp_branch *branches, size_t nbranches)
{
	struct tramp_function fn = function(prologue, sizeof(prologue) - 1, 0);
	struct tramp_plan plan;

	fn.branches = branches;
	fn.nbranches = nbranches;
	return tramp_plan_entry(&fn, &plan);
}

static void test_branches_to_other_places_are_fine(void **state)
{
	static const struct tramp_branch branches[] = {
		{ 5, 1 }, { 5, ADDR - 1 }, { 0, ADDR }, { 5, ADDR }, { 0, ADDR + 4 },
		{ 5, ADDR + 4 }, { ADDR + 12, ADDR + 8 },	/* the last is the function's own */
		{ 5, ADDR + 12 }, { 5, UINT64_MAX },
	};

	(void)state;
	for (size_t n = 0; n <= sizeof(branches) / sizeof(*branches); n++)
		assert_int_equal(plan_with(branches, n), TRAMP_OK);
}

static void test_branches_inside_are_refused(void **state)
{
	static const uint8_t inside[] = { 1, 3, 5, 8, 11 };
	static const uint64_t from[] = { 0, 5, ADDR - 1, ADDR + sizeof(prologue) - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(inside) * 4; i++) {
		struct tramp_branch branches[] = {
			{ 5, ADDR - 1 }, { 5, ADDR + (inside[i / 4] > 4 ? 4 : 0) },
			{ from[i % 4], ADDR + inside[i / 4] }, { 5, ADDR + 100 },
		};

		assert_int_equal(plan_with(branches, 4), TRAMP_BRANCH_INTO);
		assert_int_equal(plan_with(branches + 2, 1), TRAMP_BRANCH_INTO);
	}
}

/* What a loop displaces after the patch must not be entered either. */
static void test_branches_into_an_enclosed_loop(void **state)
{
	const struct accepted *c = &enclosed[1];	/* 18 bytes displaced, 5 patched */
	struct tramp_function fn = function(c->code, c->avail, c->size);
	struct tramp_branch branch = { 5, ADDR + 11 };
	struct tramp_plan plan;

	(void)state;
	fn.branches = &branch;
	fn.nbranches = 1;
	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_BRANCH_INTO);
	branch.to = ADDR + 18;
	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_OK);
}

static void test_known_lengths(void **state)
{
	static const uint8_t right[] = { 4, 1, 3, 4 };
	static const uint8_t partly[] = { 0, 0, 3 };
	static const uint8_t wrong[] = { 4, 1, 2 };
	struct tramp_function fn = function(prologue, sizeof(prologue) - 1, 0);
	struct tramp_plan plan;

	(void)state;
	fn.lengths = right;
	fn.nlengths = sizeof(right);
	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_OK);
	fn.lengths = partly;
	fn.nlengths = sizeof(partly);
	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_OK);
	fn.lengths = wrong;
	fn.nlengths = sizeof(wrong);
	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_LENGTH_DIFFERS);
	fn.nlengths = 2;
	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_OK);
}

/* A branch back from as far as its displacement reaches, and one further than the window. */
static void test_reach_of_short_branches(void **state)
{
	uint8_t code[200];
	struct tramp_function fn = { .addr = ADDR, .code = code, .avail = 200 };
	struct tramp_plan plan;

	(void)state;
	for (size_t at = 5; at <= 130; at++) {
		memset(code, 0x90, sizeof(code));	/* nop */
		code[at] = 0x75;			/* jne -128 */
		code[at + 1] = 0x80;
		assert_int_equal(tramp_plan_entry(&fn, &plan),
				 at == 126 ? TRAMP_BRANCH_TO_START :
				 at > 126 ? TRAMP_BRANCH_INTO : TRAMP_OK);
	}
}

/* The same for 32 bits, at every place of a large function. */
static void test_reach_of_near_branches(void **state)
{
	static uint8_t code[5000];
	struct tramp_function fn = {
		.addr = ADDR, .code = code, .avail = sizeof(code)	/* no size: no loop is copied */
	};
	struct tramp_plan plan;

	(void)state;
	for (size_t at = 5; at + 6 <= sizeof(code); at++) {
		for (int target = 0; target <= 5; target++) {
			int32_t rel = target - (int32_t)(at + 6);

			memset(code, 0x90, sizeof(code));	/* nop */
			code[at] = 0x0f;			/* jne target */
			code[at + 1] = 0x85;
			memcpy(code + at + 2, &rel, sizeof(rel));
			assert_int_equal(tramp_plan_entry(&fn, &plan),
					 target == 0 ? TRAMP_BRANCH_TO_START :
					 target < 5 ? TRAMP_BRANCH_INTO : TRAMP_OK);
		}
	}
}

static void test_reasons_have_texts(void **state)
{
	(void)state;
	for (int i = 0; i < TRAMP_STATUS_COUNT; i++) {
		const char *text = tramp_reason_text((enum tramp_status)i);

		assert_non_null(text);
		assert_true(strlen(text) > 10 && strlen(text) < 80);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(text, tramp_reason_text((enum tramp_status)j));
	}
	assert_non_null(tramp_reason_text(TRAMP_STATUS_COUNT));
}

static void test_insn_length(void **state)
{
	(void)state;
	assert_int_equal(tramp_insn_length((const uint8_t *)"\x90", 1), 1);
	assert_int_equal(tramp_insn_length((const uint8_t *)"\x48\x89\xe5", 3), 3);
	assert_int_equal(tramp_insn_length((const uint8_t *)"\x48\x89\xe5", 2), 0);
	assert_int_equal(tramp_insn_length((const uint8_t *)"\x06", 1), 0);
	assert_int_equal(tramp_insn_length((const uint8_t *)"", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_enclosed),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_branches_to_other_places_are_fine),
		cmocka_unit_test(test_branches_inside_are_refused),
		cmocka_unit_test(test_branches_into_an_enclosed_loop),
		cmocka_unit_test(test_known_lengths),
		cmocka_unit_test(test_reach_of_short_branches),
		cmocka_unit_test(test_reach_of_near_branches),
		cmocka_unit_test(test_reasons_have_texts),
		cmocka_unit_test(test_insn_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
