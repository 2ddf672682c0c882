/* SPDX-License-Identifier: MIT */
/*
 * The part of the module mpi for clocks: what tells a reader how those of the nodes differ.
 *
 * The first process of each node exchanges messages with one of another node, at the end of MPI_Init and at the beginning of
 * MPI_Finalize, over a communicator that the program does not know of.  Each exchange is a point clocks:exchange, recorded by the process
 * that asked: ticks of the time-stamp counters of both.  What they mean is the reader's business.
 *
 *	this process	sent ----.			     .---> returned
 *				  \			    /
 *	the other		   `---> arrived, answered --'
 *
 * The nodes are a tree, in which node r asks the one whose number is r without its lowest bit; so node 0 answers log2(n) others.  On
 * one node nothing is exchanged.
 */

HELPER(MPI_Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler *handler), (comm, handler))
HELPER(MPI_Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))
HELPER(MPI_Errhandler_free, (MPI_Errhandler *handler), (handler))

#define EXCHANGES 20

struct exchange {
	uint64_t sent, arrived, answered, returned;
};

static MPI_Comm leaders; /* the first process of each node; only if have_leaders */
static bool have_leaders;

static inline uint64_t clock_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static bool send_words(uint64_t *words, int n, int to)
{
	return ASK(MPI_Send, words, 8 * n, MPI_BYTE, to, 0, leaders);
}

static bool receive_words(uint64_t *words, int n, int from)
{
	return ASK(MPI_Recv, words, 8 * n, MPI_BYTE, from, 0, leaders, MPI_STATUS_IGNORE);
}

/* @round: 0 at MPI_Init, 1 at MPI_Finalize. */
static void clocks(int other, int round)
{
	struct exchange e[EXCHANGES];
	uint64_t answer[3];
	int n = 0;

	for (; n < EXCHANGES; n++) {
		e[n].sent = clock_ticks();
		if (!send_words(&e[n].sent, 1, other) || !receive_words(answer, 3, other))
			break;
		e[n].returned = clock_ticks();
		e[n].arrived = answer[0];
		e[n].answered = answer[1];
	}
	for (int i = 0; i < n; i++)
		sonde_point("exchange", SONDE_I32("round", round), SONDE_I32("rank", (int)answer[2]),
			    SONDE_U64("sent", e[i].sent), SONDE_U64("arrived", e[i].arrived),
			    SONDE_U64("answered", e[i].answered), SONDE_U64("returned", e[i].returned));
}

static void answer_clock(int other)
{
	uint64_t asked, answer[3];

	answer[2] = (uint64_t)rank_in(world());
	for (int i = 0; i < EXCHANGES; i++) {
		if (!receive_words(&asked, 1, other))
			return;
		answer[0] = clock_ticks();
		answer[1] = clock_ticks();
		if (!send_words(answer, 3, other))
			return;
	}
}

static void compare_clocks(int round)
{
	int self = rank_in(leaders), n = size_of(leaders);

	if (self)
		clocks(self & (self - 1), round);
	for (int bit = 1; bit < n && !(self & bit); bit <<= 1)
		if (self + bit < n)
			answer_clock(self + bit);
}

/* True: of several nodes, and this process is the first of its. */
static bool find_leaders(void)
{
	MPI_Comm node = MPI_COMM_NULL;
	bool several, first;

	if (!ASK(MPI_Comm_split_type, world(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) || node == MPI_COMM_NULL)
		return false;
	several = size_of(node) != size_of(world());
	first = rank_in(node) == 0;
	(void)ASK(MPI_Comm_free, &node);
	leaders = MPI_COMM_NULL;
	return several && ASK(MPI_Comm_split, world(), first ? 0 : MPI_UNDEFINED, 0, &leaders) && leaders != MPI_COMM_NULL;
}

/* What fails here fails for us alone: the program's error handler is not asked. */
static void clocks_first(int result)
{
	MPI_Errhandler handler;

	if (result != MPI_SUCCESS || !world() || !SONDE_REAL_POINTER(MPI_Errhandler_free) || size_of(world()) < 2 ||
	    !ASK(MPI_Comm_get_errhandler, world(), &handler))
		return;
	if (ASK(MPI_Comm_set_errhandler, world(), MPI_ERRORS_RETURN)) {
		have_leaders = find_leaders();
		(void)ASK(MPI_Comm_set_errhandler, world(), handler);
	}
	(void)ASK(MPI_Errhandler_free, &handler);
	if (have_leaders && ASK(MPI_Comm_set_errhandler, leaders, MPI_ERRORS_RETURN))
		compare_clocks(0);
}

static void clocks_last(void)
{
	if (!have_leaders)
		return;
	have_leaders = false;
	compare_clocks(1);
	(void)ASK(MPI_Comm_free, &leaders);
}
