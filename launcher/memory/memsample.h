/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Estimates for all accesses from those in bursts, and how far they may be off.
 *
 * Bursts by number are a stratified sample of a thread's accesses: one at a random place in each stretch of so many; those
 * by time are a systematic one, and no period of the program must agree with theirs.  A thread's first burst is taken
 * with certainty, and stands for itself.  The others go round robin to MEMPROFILE_GROUPS groups, each of which is such
 * a sample itself.  How much groups differ shows how far a sum over all bursts is off (random groups; interpenetrating
 * samples: Mahalanobis, J. Roy. Statist. Soc. 109, 1946; Wolter, "Introduction to Variance Estimation", 2007, chapter 2).
 * Shares are ratios of sums: their variance is that of the residuals (Cochran, "Sampling Techniques", 1977, chapters 6
 * and 8).  An error is half of a 95 % confidence interval, by Student's distribution.
 *
 * What a program does once may fall between two bursts, and no variance shows it.  So nothing is said of the error of a
 * count that is smaller than one period, from a burst to the next, and half a period is added to those of others;
 * shares of misses are estimated for what makes accesses for MEMSAMPLE_PERIODS.  Where a burst begins and ends
 * depends on where the program's loops are: to the error of a count, MEMSAMPLE_EDGE accesses for each burst are added.
 *
 * Of misses in a cache there is a second uncertainty.  An access whose line was not touched before in its burst has a
 * distance of at least the number of lines that were: it is censored there, as in survival analysis.  If they were as
 * many as the cache holds, it is a miss; else it may be either.  (The unknown references of Wood, Hill, Kessler: "A
 * model for estimating trace-sample miss ratios", SIGMETRICS 1991.)  No model of them is assumed: the share of misses is
 * between that of those that are certain and that of these with all that are not known (bounds as of Manski,
 * "Partial identification", 2003).  The estimate is the middle, the error half of the range and the sampling error.
 * A size where the range is too wide, since bursts hardly touch as many lines, is said to be not known.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMSAMPLE_H
#define SONDE_LAUNCHER_MEMORY_MEMSAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/memory/profile/memprofile.h"

#define MEMSAMPLE_EDGE 100.0
#define MEMSAMPLE_PERIODS 10

/* Quantile 0.975 of Student's distribution; @degrees of freedom: at least 1, MEMPROFILE_GROUPS - 1 and more are taken for that. */
double memsample_student(size_t degrees);

/*
 * Half an interval for the sum of @v over groups that have @bursts: 0: there is no sample, all is known; INFINITY: what it is
 * of, @occurs, is in too few groups.
 */
double memsample_error(const double v[static MEMPROFILE_GROUPS], const double bursts[static MEMPROFILE_GROUPS],
		       const double occurs[static MEMPROFILE_GROUPS]);

/*
 * Is a share of misses known well enough, with @unknown of @all accesses that may be misses or not?  @misses: certain
 * ones.  Up to 1 % of the accesses to each side of the middle, or a quarter of the misses.
 */
bool memsample_known(double misses, double unknown, double all);

#endif
