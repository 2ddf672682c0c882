// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The facts of one instruction of each kind, as text (tests/unit/memfacts_render.h), at 0x401000
 * in an object loaded at 0x400000.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/memfacts_render.h"

enum { ADDR = 0x401000, LOAD = 0x400000, XSAVE_MIN = 512 + 64 };

struct insn_case {
	const char *text;
	const char *bytes;
	size_t len;
	const char *facts;
};

/* clang-format off */
static const struct insn_case cases[] = {
	{ "mov 16(%rdi,%rsi,4), %rax", "\x48\x8b\x44\xb7\x10", 5,
	  "L8 [rdi+rsi*4+16]; | | rax | kept" },
	{ "mov 0x100(%rip), %eax", "\x8b\x05\x00\x01\x00\x00", 6,
	  "L4 [object+4358]; | | rax.u | kept" },
	{ "mov %fs:0x28, %rax", "\x64\x48\x8b\x04\x25\x28\x00\x00\x00", 9,
	  "L8 [fs+40]; | | rax | kept" },
	{ "mov %fs:4(%rbx,%rcx,8), %eax", "\x64\x8b\x44\xcb\x04", 5,
	  "t0.8=rbx+rcx*8+4; L4 [t0+fs]; | | rax.u | kept" },
	{ "mov %gs:8, %rax", "\x65\x48\x8b\x04\x25\x08\x00\x00\x00", 9,
	  "unmodelled" },
	{ "mov 8(%ecx), %eax", "\x67\x8b\x41\x08", 4,
	  "t0.4=rcx+8; L4 [t0]; | | rax.u | kept" },
	{ "movabs 0x1122334455667788, %al", "\xa0\x88\x77\x66\x55\x44\x33\x22\x11", 9,
	  "L1 [1234605616436508552]; | | rax | kept" },
	{ "movzbl (%rdi), %eax", "\x0f\xb6\x07", 3,
	  "L1 [rdi]; | | rax.u | kept" },
	{ "movzwq (%rdi), %rax", "\x48\x0f\xb7\x07", 4,
	  "L2 [rdi]; | | rax.u | kept" },
	{ "movslq (%rdi), %rax", "\x48\x63\x07", 3,
	  "L4 [rdi]; | | rax.s | kept" },
	{ "movswl (%rdi), %eax", "\x0f\xbf\x07", 3,
	  "L2 [rdi]; | | rax.u | kept" },
	{ "mov %ax, (%rdi)", "\x66\x89\x07", 3,
	  "S2 [rdi]; | | | kept" },
	{ "add %ecx, (%rax)", "\x01\x08", 2,
	  "M4 [rax]; | | | unknown" },
	{ "add (%rax), %rcx", "\x48\x03\x08", 3,
	  "L8 [rax]; | | rcx | unknown" },
	{ "lock cmpxchg %ecx, (%rdi)", "\xf0\x0f\xb1\x0f", 4,
	  "M4 [rdi]; | | rax | unknown" },
	{ "cmpxchg16b (%rdi)", "\x48\x0f\xc7\x0f", 4,
	  "M16 [rdi]; | | rax rdx | unknown" },
	{ "xchg %eax, (%rdi)", "\x87\x07", 2,
	  "M4 [rdi]; | | rax.u | kept" },
	{ "xadd %al, (%rdi)", "\x0f\xc0\x07", 3,
	  "M1 [rdi]; | | rax | unknown" },
	{ "movaps (%rdi), %xmm1", "\x0f\x28\x0f", 3,
	  "L16 [rdi]; | | | kept" },
	{ "vmovups %zmm1, (%rdi)", "\x62\xf1\x7c\x48\x11\x0f", 6,
	  "S64 [rdi]; | | | kept" },
	{ "movss (%rdi), %xmm0", "\xf3\x0f\x10\x07", 4,
	  "L4 [rdi]; | | | kept" },
	{ "cvtsi2sdl (%rdi), %xmm0", "\xf2\x0f\x2a\x07", 4,
	  "L4 [rdi]; | | | kept" },
	{ "cvttsd2si (%rdi), %eax", "\xf2\x0f\x2c\x07", 4,
	  "L8 [rdi]; | | rax.u | kept" },
	{ "pinsrw $2, (%rax), %xmm1", "\x66\x0f\xc4\x08\x02", 5,
	  "L2 [rax]; | | | kept" },
	{ "vaddps (%rax){1to16}, %zmm2, %zmm1", "\x62\xf1\x6c\x58\x58\x08", 6,
	  "L4 [rax]; | | | kept" },
	{ "push %rbx", "\x53", 1,
	  "S8! [rsp-8]; | rsp.8=rsp-8; | | kept" },
	{ "pushw $1", "\x66\x6a\x01", 3,
	  "S2! [rsp-2]; | rsp.8=rsp-2; | | kept" },
	{ "push 8(%rsp)", "\xff\x74\x24\x08", 4,
	  "L8 [rsp+8]; S8! [rsp-8]; | rsp.8=rsp-8; | | kept" },
	{ "pop %rbx", "\x5b", 1,
	  "L8! [rsp]; | rsp.8=rsp+8; | rbx | kept" },
	{ "pop %rsp", "\x5c", 1,
	  "L8! [rsp]; | | rsp | kept" },
	{ "pop 8(%rsp)", "\x8f\x44\x24\x08", 4,
	  "L8! [rsp]; S8 [rsp+16]; | rsp.8=rsp+8; | | kept" },
	{ "pushf", "\x9c", 1,
	  "S8! [rsp-8]; | rsp.8=rsp-8; | | kept" },
	{ "popf", "\x9d", 1,
	  "L8! [rsp]; | rsp.8=rsp+8; | | unknown" },
	{ "call *(%rax)", "\xff\x10", 2,
	  "L8 [rax]; S8! [rsp-8]; | rsp.8=rsp-8; | | kept" },
	{ "call .", "\xe8\xfb\xff\xff\xff", 5,
	  "S8! [rsp-8]; | rsp.8=rsp-8; | | kept" },
	{ "ret", "\xc3", 1,
	  "L8! [rsp]; | rsp.8=rsp+8; | | kept" },
	{ "ret $16", "\xc2\x10\x00", 3,
	  "L8! [rsp]; | rsp.8=rsp+24; | | kept" },
	{ "leave", "\xc9", 1,
	  "L8! [rbp]; | rsp.8=rbp+8; | rbp | kept" },
	{ "enter $16, $0", "\xc8\x10\x00\x00", 4,
	  "S8! [rsp-8]; | rbp.8=rsp-8; rsp.8=rsp-24; | | kept" },
	{ "enter $16, $1", "\xc8\x10\x00\x01", 4,
	  "unmodelled" },
	{ "jmp *8(%rax,%rcx,8)", "\xff\x64\xc8\x08", 4,
	  "L8 [rax+rcx*8+8]; | | | kept" },
	{ "bt %eax, (%rdi)", "\x0f\xa3\x07", 3,
	  "t2.4=sext(rax); t2.8=t2>>>5; t0.8=rdi; L4 [t0+t2*4]; | | | unknown" },
	{ "bts %rax, 8(%rdi,%rsi)", "\x48\x0f\xab\x44\x37\x08", 6,
	  "t2.8=sext(rax); t2.8=t2>>>6; t0.8=rdi+rsi+8; M8 [t0+t2*8]; | | | unknown" },
	{ "btr $5, (%rdi)", "\x0f\xba\x37\x05", 4,
	  "M4 [rdi]; | | | unknown" },
	{ "movsb", "\xa4", 1,
	  "movs1; | | | kept" },
	{ "rep movsq", "\xf3\x48\xa5", 3,
	  "rep movs8; | | | kept" },
	{ "rep stosl", "\xf3\xab", 2,
	  "rep stos4; | | | kept" },
	{ "lodsb", "\xac", 1,
	  "lods1; | | rax | kept" },
	{ "lodsl", "\xad", 1,
	  "lods4; | | rax.u | kept" },
	{ "repe cmpsb", "\xf3\xa6", 2,
	  "until cmps1; after1:8; | | | unknown" },
	{ "repne scasw", "\x66\xf2\xaf", 3,
	  "until scas2; after1:8; | | | unknown" },
	{ "addr32 rep movsb", "\x67\xf3\xa4", 3,
	  "unmodelled" },
	{ "fs lodsb", "\x64\xac", 2,
	  "unmodelled" },
	{ "xlat", "\xd7", 1,
	  "t0.1=zext(rax); L1 [rbx+t0]; | | rax | kept" },
	{ "fldt (%rax)", "\xdb\x28", 2,
	  "L10 [rax]; | | | kept" },
	{ "fstpt (%rax)", "\xdb\x38", 2,
	  "S10 [rax]; | | | kept" },
	{ "fildll (%rax)", "\xdf\x28", 2,
	  "L8 [rax]; | | | kept" },
	{ "fnstcw (%rax)", "\xd9\x38", 2,
	  "S2 [rax]; | | | kept" },
	{ "fnstenv (%rax)", "\xd9\x30", 2,
	  "S28 [rax]; | | | kept" },
	{ "fldenv (%rax)", "\xd9\x20", 2,
	  "L28 [rax]; | | | kept" },
	{ "fnsave (%rax)", "\xdd\x30", 2,
	  "S108 [rax]; | | | kept" },
	{ "fxsave (%rax)", "\x0f\xae\x00", 3,
	  "S512 [rax]; | | | kept" },
	{ "fxrstor64 (%rax)", "\x48\x0f\xae\x08", 4,
	  "L512 [rax]; | | | kept" },
	{ "stmxcsr (%rax)", "\x0f\xae\x18", 3,
	  "S4 [rax]; | | | kept" },
	{ "ldmxcsr (%rax)", "\x0f\xae\x10", 3,
	  "L4 [rax]; | | | kept" },
	{ "movnti %eax, (%rdi)", "\x0f\xc3\x07", 3,
	  "S4 [rdi]; | | | kept" },
	{ "movntps %xmm0, (%rdi)", "\x0f\x2b\x07", 3,
	  "S16 [rdi]; | | | kept" },
	{ "maskmovdqu %xmm2, %xmm1", "\x66\x0f\xf7\xca", 4,
	  "masked S1x16 bytes [rdi]; xmm2:16; | | | kept" },
	{ "maskmovq %mm2, %mm1", "\x0f\xf7\xca", 3,
	  "masked S1x8 bytes [rdi]; mm2:8; | | | kept" },
	{ "vmaskmovps (%rax), %ymm2, %ymm1", "\xc4\xe2\x6d\x2c\x08", 5,
	  "masked L4x8 vector [rax]; ymm2:32; | | | kept" },
	{ "vpmaskmovq %xmm1, %xmm2, (%rax)", "\xc4\xe2\xe9\x8e\x08", 5,
	  "masked S8x2 vector [rax]; xmm2:16; | | | kept" },
	{ "vpgatherdd %ymm3, 8(%rax,%ymm2,4), %ymm1", "\xc4\xe2\x65\x90\x4c\x90\x08", 7,
	  "gather L4x8 index4*4 vector [rax+8]; ymm2:32; ymm3:32; | | | kept" },
	{ "vgatherdpd %ymm3, (,%xmm2,8), %ymm1", "\xc4\xe2\xe5\x92\x0c\xd5\x00\x00\x00\x00", 10,
	  "gather L8x4 index4*8 vector [0]; xmm2:16; ymm3:32; | | | kept" },
	{ "vgatherqps %xmm3, (%rax,%xmm2), %xmm1", "\xc4\xe2\x61\x93\x0c\x10", 6,
	  "gather L4x2 index8*1 vector [rax]; xmm2:16; low3:8; | | | kept" },
	{ "vpgatherdd 8(%rax,%zmm17,4), %zmm1{%k1}", "\x62\xf2\x7d\x41\x90\x4c\x88\x02", 8,
	  "gather L4x16 index4*4 bits [rax+8]; zmm17:64; k1:8; | | | kept" },
	{ "vgatherqps (%rax,%zmm2,4), %ymm1{%k3}", "\x62\xf2\x7d\x4b\x93\x0c\x90", 7,
	  "gather L4x8 index8*4 bits [rax]; zmm2:64; k3:8; | | | kept" },
	{ "vpscatterqd %ymm1, (%rax,%zmm2,4){%k1}", "\x62\xf2\x7d\x49\xa1\x0c\x90", 7,
	  "gather S4x8 index8*4 bits [rax]; zmm2:64; k1:8; | | | kept" },
	{ "vmovdqu32 (%rax), %zmm1{%k1}", "\x62\xf1\x7e\x49\x6f\x08", 6,
	  "masked L4x16 bits [rax]; k1:8; | | | kept" },
	{ "vmovdqu8 %ymm1, (%rax){%k2}", "\x62\xf1\x7f\x2a\x7f\x08", 6,
	  "masked S1x32 bits [rax]; k2:8; | | | kept" },
	{ "vaddss (%rax), %xmm2, %xmm1{%k1}", "\x62\xf1\x6e\x09\x58\x08", 6,
	  "masked L4x1 bits [rax]; k1:8; | | | kept" },
	{ "vaddps (%rax){1to16}, %zmm2, %zmm1{%k1}", "\x62\xf1\x6c\x59\x58\x08", 6,
	  "L4 [rax]; | | | kept" },
	{ "vpmovdb %zmm1, (%rax){%k1}", "\x62\xf2\x7e\x49\x31\x08", 6,
	  "masked S1x16 bits [rax]; k1:8; | | | kept" },
	{ "vcvtpd2psx (%rax), %xmm1{%k1}", "\x62\xf1\xfd\x09\x5a\x08", 6,
	  "masked L8x2 bits [rax]; k1:8; | | | kept" },
	{ "vpermd (%rax), %zmm2, %zmm1{%k1}", "\x62\xf2\x6d\x49\x36\x08", 6,
	  "L64 [rax]; | | | kept" },
	{ "vexpandps 64(%rax,%rcx,2), %zmm1{%k1}", "\x62\xf2\x7d\x49\x88\x4c\x48\x10", 8,
	  "packed L4x16 bits [rax+rcx*2+64]; k1:8; | | | kept" },
	{ "vpcompressb %zmm1, (%rax){%k1}", "\x62\xf2\x7d\x49\x63\x08", 6,
	  "packed S1x64 bits [rax]; k1:8; | | | kept" },
	{ "vcompresspd %zmm1, (%rax)", "\x62\xf2\xfd\x48\x8a\x08", 6,
	  "S64 [rax]; | | | kept" },
	{ "prefetcht0 64(%rax)", "\x0f\x18\x48\x40", 4,
	  "t0.8=rax+64; t0.8=t0&-64; P64 [t0]; | | | kept" },
	{ "prefetchw (%rax)", "\x0f\x0d\x08", 3,
	  "t0.8=rax&-64; P64 [t0]; | | | kept" },
	{ "clflush (%rax)", "\x0f\xae\x38", 3,
	  "t0.8=rax&-64; P64 [t0]; | | | kept" },
	{ "clwb 8(%rax)", "\x66\x0f\xae\x70\x08", 5,
	  "t0.8=rax+8; t0.8=t0&-64; P64 [t0]; | | | kept" },
	{ "movdir64b (%rcx), %rax", "\x66\x0f\x38\xf8\x01", 5,
	  "L64 [rcx]; S64 [rax]; | | | kept" },
	{ "nopw 8(%rax,%rax)", "\x66\x0f\x1f\x44\x00\x08", 6,
	  "| | | kept" },
	{ "endbr64", "\xf3\x0f\x1e\xfa", 4,
	  "| | | kept" },
	{ "lea 8(%rdi,%rsi,4), %rax", "\x48\x8d\x44\xb7\x08", 5,
	  "| rax.8=rdi+rsi*4+8; | | kept" },
	{ "lea 8(%rdi,%rsi,4), %eax", "\x8d\x44\xb7\x08", 4,
	  "| rax.4=rdi+rsi*4+8; | | kept" },
	{ "lea 8(%rdi), %ax", "\x66\x8d\x47\x08", 4,
	  "| rax.2=rdi+8; | | kept" },
	{ "lea 4(%rip), %rax", "\x48\x8d\x05\x04\x00\x00\x00", 7,
	  "| rax.8=object+4107; | | kept" },
	{ "mov %rsp, %rbp", "\x48\x89\xe5", 3,
	  "| rbp.8=rsp; | | kept" },
	{ "mov %eax, %ecx", "\x89\xc1", 2,
	  "| rcx.4=rax; | | kept" },
	{ "mov %al, %cl", "\x88\xc1", 2,
	  "| rcx.1=rax; | | kept" },
	{ "mov %ah, %cl", "\x88\xe1", 2,
	  "| | rcx | kept" },
	{ "mov $-1, %rax", "\x48\xc7\xc0\xff\xff\xff\xff", 7,
	  "| rax.8=-1; | | kept" },
	{ "mov $5, %ah", "\xb4\x05", 2,
	  "| | rax | kept" },
	{ "add %rcx, %rax", "\x48\x01\xc8", 3,
	  "| rax.8=rax+rcx; | | and8(rax,rax) after 0f30" },
	{ "add $-1, %rax", "\x48\x83\xc0\xff", 4,
	  "| rax.8=rax-1; | | sub8(rax,1) ff33" },
	{ "add $0x80000000, %eax", "\x05\x00\x00\x00\x80", 5,
	  "| rax.4=rax-2147483648; | | and4(rax,rax) after 0f30" },
	{ "sub $16, %rsp", "\x48\x83\xec\x10", 4,
	  "| rsp.8=rsp-16; | | sub8(rsp,16) ffff" },
	{ "sub %ecx, %eax", "\x29\xc8", 2,
	  "| rax.4=rax-rcx; | | sub4(rax,rcx) ffff" },
	{ "sub %eax, %eax", "\x29\xc0", 2,
	  "| rax.4=0; | | sub4(0,0) ffff" },
	{ "xor %eax, %eax", "\x31\xc0", 2,
	  "| rax.4=0; | | and4(0,0) ffff" },
	{ "xor %al, %al", "\x30\xc0", 2,
	  "| rax.1=0; | | and1(0,0) ffff" },
	{ "xor %ecx, %eax", "\x31\xc8", 2,
	  "| rax.4=rax^rcx; | | and4(rax,rax) after ffff" },
	{ "and $255, %eax", "\x25\xff\x00\x00\x00", 5,
	  "| rax.4=rax&255; | | and4(rax,rax) after ffff" },
	{ "or %rcx, %rax", "\x48\x09\xc8", 3,
	  "| rax.8=rax|rcx; | | and8(rax,rax) after ffff" },
	{ "not %eax", "\xf7\xd0", 2,
	  "| rax.4=rax^-1; | | kept" },
	{ "neg %rax", "\x48\xf7\xd8", 3,
	  "| rax.8=0-rax; | | sub8(0,rax) ffff" },
	{ "inc %ecx", "\xff\xc1", 2,
	  "| rcx.4=rcx+1; | | sub4(rcx,-1) ff33" },
	{ "dec %cl", "\xfe\xc9", 2,
	  "| rcx.1=rcx-1; | | sub1(rcx,1) ff33" },
	{ "adc %ecx, %eax", "\x11\xc8", 2,
	  "| | rax.u | unknown" },
	{ "sbb %eax, %eax", "\x19\xc0", 2,
	  "| | rax.u | unknown" },
	{ "shl $3, %rax", "\x48\xc1\xe0\x03", 4,
	  "| rax.8=rax<<3; | | and8(rax,rax) after 0f30" },
	{ "shl $0, %eax", "\xc1\xe0\x00", 3,
	  "| rax.4=rax<<0; | | kept" },
	{ "sar %ecx", "\xd1\xf9", 2,
	  "| rcx.4=rcx>>>1; | | and4(rcx,rcx) after 0f30" },
	{ "shr %cl, %eax", "\xd3\xe8", 2,
	  "| rax.4=rax>>rcx; | | unknown" },
	{ "shr %cl, %ax", "\x66\xd3\xe8", 3,
	  "| | rax | unknown" },
	{ "rol $3, %eax", "\xc1\xc0\x03", 3,
	  "| | rax.u | unknown" },
	{ "imul $24, %rax, %rcx", "\x48\x6b\xc8\x18", 4,
	  "| rcx.8=rax*24; | | unknown" },
	{ "imul %ecx, %eax", "\x0f\xaf\xc1", 3,
	  "| rax.4=rax*rcx; | | unknown" },
	{ "imul %rcx", "\x48\xf7\xe9", 3,
	  "| | rax rdx | unknown" },
	{ "mul %ecx", "\xf7\xe1", 2,
	  "| | rax.u rdx.u | unknown" },
	{ "div %ecx", "\xf7\xf1", 2,
	  "| | rax.u rdx.u | unknown" },
	{ "movzbl %cl, %eax", "\x0f\xb6\xc1", 3,
	  "| rax.1=zext32(rcx); | | kept" },
	{ "movzbl %ch, %eax", "\x0f\xb6\xc5", 3,
	  "| t0.8=rcx>>8; rax.1=zext32(t0); | | kept" },
	{ "movsbw %cl, %ax", "\x66\x0f\xbe\xc1", 4,
	  "| | rax | kept" },
	{ "movsbl %cl, %eax", "\x0f\xbe\xc1", 3,
	  "| rax.1=sext32(rcx); | | kept" },
	{ "movslq %ecx, %rax", "\x48\x63\xc1", 3,
	  "| rax.4=sext(rcx); | | kept" },
	{ "cltq", "\x48\x98", 2,
	  "| rax.4=sext(rax); | | kept" },
	{ "cwtl", "\x98", 1,
	  "| rax.2=sext32(rax); | | kept" },
	{ "cbtw", "\x66\x98", 2,
	  "| | rax | kept" },
	{ "cltd", "\x99", 1,
	  "| rdx.4=rax>>>31; | | kept" },
	{ "cqto", "\x48\x99", 2,
	  "| rdx.8=rax>>>63; | | kept" },
	{ "cwtd", "\x66\x99", 2,
	  "| | rdx | kept" },
	{ "xchg %rcx, %rdx", "\x48\x87\xca", 3,
	  "| t0.8=rdx; rdx.8=rcx; rcx.8=t0; | | kept" },
	{ "xchg %ecx, %edx", "\x87\xca", 2,
	  "| t0.8=rdx; rdx.4=rcx; rcx.4=t0; | | kept" },
	{ "bswap %eax", "\x0f\xc8", 2,
	  "| | rax.u | kept" },
	{ "cmovne %ecx, %eax", "\x0f\x45\xc1", 3,
	  "| | rax.u | kept" },
	{ "sete %al", "\x0f\x94\xc0", 3,
	  "| | rax | kept" },
	{ "cmp $1, %rax", "\x48\x83\xf8\x01", 4,
	  "| | | sub8(rax,1) ffff" },
	{ "cmp %ecx, (%rdi)", "\x39\x0f", 2,
	  "L4 [rdi]; | | | unknown" },
	{ "cmp %cl, %al", "\x38\xc8", 2,
	  "| | | sub1(rax,rcx) ffff" },
	{ "cmp %ah, %al", "\x38\xe0", 2,
	  "| | | unknown" },
	{ "test %eax, %eax", "\x85\xc0", 2,
	  "| | | and4(rax,rax) ffff" },
	{ "test $4, %ah", "\xf6\xc4\x04", 3,
	  "| | | unknown" },
	{ "bt $3, %eax", "\x0f\xba\xe0\x03", 4,
	  "| | | unknown" },
	{ "bsf %ecx, %eax", "\x0f\xbc\xc1", 3,
	  "| | rax | unknown" },
	{ "popcnt %rcx, %rax", "\xf3\x48\x0f\xb8\xc1", 5,
	  "| | rax.u | unknown" },
	{ "tzcnt %ecx, %eax", "\xf3\x0f\xbc\xc1", 4,
	  "| | rax.u | unknown" },
	{ "andn %ecx, %edx, %eax", "\xc4\xe2\x68\xf2\xc1", 5,
	  "| t0.4=rdx^-1; rax.4=t0&rcx; | | and4(rax,rax) after ffff" },
	{ "blsr %rcx, %rax", "\xc4\xe2\xf8\xf3\xc9", 5,
	  "| t0.8=rcx-1; rax.8=t0&rcx; | | and8(rax,rax) after f333" },
	{ "shlx %rcx, %rdx, %rax", "\xc4\xe2\xf1\xf7\xc2", 5,
	  "| rax.8=rdx<<rcx; | | kept" },
	{ "rorx $3, %rcx, %rax", "\xc4\xe3\xfb\xf0\xc1\x03", 6,
	  "| | rax | kept" },
	{ "loop .", "\xe2\xfe", 2,
	  "| rcx.8=rcx-1; | | kept" },
	{ "jrcxz .", "\xe3\xfe", 2,
	  "| | | kept" },
	{ "jne .", "\x75\xfe", 2,
	  "| | | kept" },
	{ "cpuid", "\x0f\xa2", 2,
	  "| | rax.u rcx.u rdx.u rbx.u | kept" },
	{ "rdtsc", "\x0f\x31", 2,
	  "| | rax.u rdx.u | kept" },
	{ "xgetbv", "\x0f\x01\xd0", 3,
	  "| | rax.u rdx.u | kept" },
	{ "syscall", "\x0f\x05", 2,
	  "| | rax rcx r11 | unknown" },
	{ "rdsspq %rax", "\xf3\x48\x0f\x1e\xc8", 5,
	  "| | rax | kept" },
	{ "rdfsbase %rax", "\xf3\x48\x0f\xae\xc0", 5,
	  "| | rax | kept" },
	{ "wrfsbase %rax", "\xf3\x48\x0f\xae\xd0", 5,
	  "unmodelled" },
	{ "std", "\xfd", 1,
	  "unmodelled" },
	{ "cld", "\xfc", 1,
	  "| | | kept" },
	{ "xbegin .", "\xc7\xf8\xfa\xff\xff\xff", 6,
	  "unmodelled" },
	{ "lret", "\xcb", 1,
	  "unmodelled" },
	{ "mov %eax, %fs", "\x8e\xe0", 2,
	  "unmodelled" },
};
/* clang-format on */

static bool check(const struct insn_case *c)
{
	char text[RENDER_MAX] = "not an instruction";
	struct tramp_mem_facts facts;

	if (tramp_mem_insn((const uint8_t *)c->bytes, c->len, ADDR, LOAD, &facts))
		render_facts(&facts, text);
	if (strcmp(text, c->facts) == 0)
		return true;
	printf("%s\n\tis   %s\n\tnot  %s\n", c->text, text, c->facts);
	return false;
}

/* Its size is the processor's. */
static bool check_area(const char *name, const uint8_t *bytes, size_t len, uint8_t kind)
{
	struct tramp_mem_facts f;

	if (tramp_mem_insn(bytes, len, ADDR, LOAD, &f) && f.nops == 2 && f.ops[0].code == MD_SIZE &&
	    f.ops[0].imm >= XSAVE_MIN && f.ops[1].code == MD_ACCESS && f.ops[1].width == 0 &&
	    f.ops[1].dst == kind)
		return true;
	printf("%s: not an area\n", name);
	return false;
}

static bool check_areas(void)
{
	static const uint8_t xsave[] = { 0x0f, 0xae, 0x20 }, xsavec[] = { 0x0f, 0xc7, 0x20 },
			     xrstor[] = { 0x0f, 0xae, 0x28 };

	return check_area("xsave", xsave, sizeof(xsave), MD_STORE) &&
	       check_area("xsavec", xsavec, sizeof(xsavec), MD_STORE) &&
	       check_area("xrstor", xrstor, sizeof(xrstor), MD_LOAD);
}

/* Whatever is cut off is no instruction; nothing behind the end is read. */
static bool check_cut(const struct insn_case *c)
{
	struct tramp_mem_facts facts;

	for (size_t len = 0; len < c->len; len++) {
		uint8_t part[16], *at = part + sizeof(part) - len;

		memcpy(at, c->bytes, len);
		if (tramp_mem_insn(at, len, ADDR, LOAD, &facts)) {
			printf("%s: %zu bytes are enough\n", c->text, len);
			return false;
		}
	}
	return true;
}

int main(void)
{
	size_t n = sizeof(cases) / sizeof(cases[0]), wrong = 0;

	for (size_t i = 0; i < n; i++)
		wrong += !check(&cases[i]) || !check_cut(&cases[i]);
	wrong += !check_areas();
	printf("%zu instructions, %zu wrong\n", n, wrong);
	return wrong != 0;
}
