# SPDX-License-Identifier: GPL-3.0-or-later
# Where the mpi module was not built for the program's MPI, it is compiled by that MPI's mpicc when it
# is first used; without that one line says which package to install.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
limit=(timeout --foreground -s KILL 200) # a compiler at work on a busy machine
export SONDE_CFLAGS=-O0			# as the build has compiled it, it is tested elsewhere

# A sonde as those have it who had no MPI: what is beside it is all that it finds.
mkdir -p tree/modules/include/sonde
cp "$top_builddir/sonde" tree
cp "$top_srcdir"/modules/include/sonde/*.h tree/modules/include/sonde
cp "$top_srcdir"/modules/mpi.c "$top_srcdir"/modules/mpi-*.h "$top_builddir/modules/posixio.so" tree/modules
: >tree/config.status
tree=$PWD/tree
PATH=$tree:$PATH

# path_without COMMAND...: prints a PATH in which these are not, all else is.
path_without()
{
	local folder=$PWD/bin-$1 command
	mkdir "$folder"
	ln -s /usr/bin/* /bin/* "$folder" 2>/dev/null
	for command; do
		rm -f "$folder/$command"
	done
	echo "$tree:$folder"
}

check_status 0 sonde module list --brief
check_contains out '^mpi +compiled for an MPI when it is first used$'
nompi=$(path_without mpicc mpicc.openmpi mpicc.mpich)
PATH=$nompi check_usage_error sonde -o t -m mpi -- true
check_contains err 'module mpi: .* apt-get install libopenmpi-dev'
PATH=$nompi check_status 0 sonde doctor
check_contains out '^warn +modules .*install libopenmpi-dev or libmpich-dev'
PATH=$nompi check_usage_error sonde -o t -m mpj -- true
check_contains err "did you mean 'mpi'"
[ ! -e t ] || fail "a trace although nothing ran"

# An mpicc without headers, as openmpi-bin has one.
mkdir headless
for mpicc in mpicc mpicc.openmpi mpicc.mpich; do
	printf '#!/bin/sh\nexec gcc -nostdinc "$@"\n' >headless/$mpicc
done
chmod +x headless/*

tried=0
for family in openmpi mpich; do
	command -v "mpirun.$family" >/dev/null || continue
	program=$programs/mpi_ring-$family
	[ -x "$program" ] || continue
	tried=$((tried + 1))
	package=lib$family-dev
	PATH=$PWD/headless:$PATH check_usage_error sonde -o t -m mpi -- "$program"
	check_contains err "apt-get install $package"
	"${limit[@]}" "mpirun.$family" -np 2 "$program" >plain.out 2>plain.err || fail "mpirun.$family"
	for round in first second; do
		rm -rf t
		"${limit[@]}" "mpirun.$family" -np 2 sonde -o t -m mpi -- "$program" >traced.out 2>traced.err ||
			{ show traced.err; fail "$family, $round time"; }
		[ "$(sort plain.out)" = "$(sort traced.out)" ] || fail "output of $program"
		events t
		check_calls 2 MPI_Init
		check_calls 2 MPI_Finalize
		compiled=$(grep -c 'mpi.c is compiled by mpicc' traced.err)
		case $round in
		first) [ "$compiled" -eq 1 ] || fail "compiled $compiled times" ;;
		second) [ ! -s traced.err ] || { show traced.err; fail "compiled again"; } ;;
		esac
	done
	# One of two MPIs was made for: the other one is not compiled in passing.
	[ "$(ls "$XDG_CACHE_HOME"/sonde/*.so | wc -l)" -eq "$tried" ] || fail "not one module for $family"
done
[ $tried -gt 0 ] || skip "neither Open MPI nor MPICH"
