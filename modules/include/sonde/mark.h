/* SPDX-License-Identifier: MIT */
/*
 * sonde/mark.h - say what a program is doing: its phases, and numbers that it wants to see over time.
 *
 *	sonde_phase_begin("solve");
 *	while (residual > limit) {
 *		residual = iterate();
 *		sonde_counter("residual", residual);
 *	}
 *	sonde_phase_end("solve");
 *
 * Recorded with `sonde -m mark ...', shown by `sonde report --phase'.  Without Sonde each is a call of an empty function: there is no
 * library to link.  C and C++; mark.f90 beside this file is the same for Fortran.
 *
 * sonde_phase_begin(name)     a phase of that name begins.  Phases may be in one another: a phase within "solve" is another one
 *                             than that of the same name outside
 * sonde_phase_end(name)       the innermost open phase of that name ends, with all that are open within it; nothing if there is none
 * sonde_counter(name, value)  the number has this value now (double)
 *
 * In C++ also: sonde::phase now("solve");  until the end of the block.
 *
 * Phases are those of the thread that begins them.  Threads that begin none are in those of the process's first thread.
 * Of a name the first 1,024 bytes are kept.
 */
#ifndef SONDE_MARK_H
#define SONDE_MARK_H

#include <string.h>

#ifdef __has_attribute
#if __has_attribute(noipa)
#define SONDE__MARK_KEPT noipa,
#endif
#endif
#ifndef SONDE__MARK_KEPT
#define SONDE__MARK_KEPT
#endif

/*
 * Sonde finds them by name, or, in a program that was stripped of its symbols, by their sections, so each has one.  Weak: every
 * file has them, the program has one.  The instruction that does nothing is as long as the jump to Sonde has to be; @number is in it,
 * since linkers may make one function of several that are the same.
 */
#define SONDE__MARK(name_, ...)                                                                                       \
	__attribute__((SONDE__MARK_KEPT weak, noinline, section("sonde_mark." #name_))) void name_(__VA_ARGS__)
#define SONDE__MARK_BODY(number, name_, length_)                                                                      \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0, " #number ", 0, 0, 0" : : "r"(name_), "r"(length_) : "memory")

#ifdef __cplusplus
extern "C" {
#endif

SONDE__MARK(sonde_mark_begin, const char *name, size_t length);
SONDE__MARK(sonde_mark_end, const char *name, size_t length);
SONDE__MARK(sonde_mark_value, const char *name, size_t length, double value);

void sonde_mark_begin(const char *name, size_t length)
{
	SONDE__MARK_BODY(1, name, length);
}

void sonde_mark_end(const char *name, size_t length)
{
	SONDE__MARK_BODY(2, name, length);
}

void sonde_mark_value(const char *name, size_t length, double value)
{
	(void)value;
	SONDE__MARK_BODY(3, name, length);
}

#ifdef __cplusplus
}
#endif

static inline __attribute__((unused)) void sonde_phase_begin(const char *name)
{
	sonde_mark_begin(name, strlen(name));
}

static inline __attribute__((unused)) void sonde_phase_end(const char *name)
{
	sonde_mark_end(name, strlen(name));
}

static inline __attribute__((unused)) void sonde_counter(const char *name, double value)
{
	sonde_mark_value(name, strlen(name), value);
}

#ifdef __cplusplus
namespace sonde
{
class phase {
public:
	explicit phase(const char *name) : name_(name)
	{
		sonde_phase_begin(name_);
	}
	~phase()
	{
		sonde_phase_end(name_);
	}
	phase(const phase &) = delete;
	phase &operator=(const phase &) = delete;

private:
	const char *name_;
};
}
#endif

#endif
