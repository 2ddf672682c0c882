# SPDX-License-Identifier: GPL-3.0-or-later
# A sonde that was built and not installed finds its modules and headers beside itself; nobody else can put
# others there.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

bare=(env -i PATH=/usr/bin:/bin HOME="$HOME")
check_status 0 "${bare[@]}" "$top_builddir/sonde" doctor
check_contains out '^ok +modules '
check_contains out '^ok +compiler '
check_status 0 "${bare[@]}" "$top_builddir/sonde" module list --brief
check_contains out '^posixio '
ln -s "$top_builddir/sonde" link
check_status 0 "${bare[@]}" ./link -o t -m "posixio,$top_srcdir/doc/examples/primes.c" -- head -c 1 /dev/zero
check_status 0 sonde dump t
check_contains out ' enter +read '

# make_tree FOLDER: as a build tree looks, with one module of its own.
make_tree()
{
	mkdir -p "$1/modules/include/sonde"
	cp "$top_builddir/sonde" "$1"
	cp "$top_builddir/modules/posixio.so" "$1/modules/planted.so"
	cp "$top_srcdir"/modules/include/sonde/*.h "$1/modules/include/sonde"
	: >"$1/config.status"
}

# check_planted REGEX-CHECK FOLDER: is its module one of those that its sonde finds?
check_planted()
{
	check_status 0 "${bare[@]}" "$2/sonde" module list --brief
	"$1" out '^planted '
}

make_tree tree
check_planted check_contains "$PWD/tree"

# The current folder is none of its business.
mkdir elsewhere
cp "$top_builddir/sonde" elsewhere
(cd tree && check_status 0 "${bare[@]}" ../elsewhere/sonde module list && check_lacks out '^planted ') || exit 1

# Beside a program that is no build tree.
for part in config.status modules/include; do
	make_tree "no-${part//\//-}"
	rm -r "no-${part//\//-}/${part:?}"
	check_planted check_lacks "$PWD/no-${part//\//-}"
done

# What others may have put there.
make_tree writable
chmod o+w writable/modules
check_planted check_lacks "$PWD/writable"
make_tree linked
mv linked/modules linked/real
ln -s real linked/modules
check_planted check_lacks "$PWD/linked"
if [ "$(id -u)" -eq 0 ]; then
	for part in config.status modules modules/include; do
		make_tree "others-${part//\//-}"
		chown 12345 "others-${part//\//-}/$part"
		check_planted check_lacks "$PWD/others-${part//\//-}"
	done
fi
