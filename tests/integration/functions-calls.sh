# SPDX-License-Identifier: GPL-3.0-or-later
# Calls from one recorded function to another one go straight to its copy: direct ones, and those through the procedure
# linkage table whose slot cannot change any more. Others stay; and whatever is called is what was called.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

cat >callees.c <<'EOC'
#define _GNU_SOURCE
#include <dlfcn.h>

__asm__(".text\n"
	".globl by_table\n.type by_table, @function\n"
	"by_table:\n	sub $24, %rsp\n	mov %edi, 8(%rsp)\n"
	"	call visible@PLT\n"
	"	add 8(%rsp), %eax\n	add $24, %rsp\n	ret\n"
	".size by_table, . - by_table\n"
	".globl by_itself\n.type by_itself, @function\n"
	"by_itself:\n	sub $24, %rsp\n	mov %edi, 8(%rsp)\n"
	"	call inner\n"
	"	add 8(%rsp), %eax\n	add $24, %rsp\n	ret\n"
	".size by_itself, . - by_itself\n");

#define CALL 8	/* the call's offset in them */
extern int by_table(int a), by_itself(int a);

int visible(int a)
{
	return 3 * a + 1;
}

__attribute__((used)) static int inner(int a)
{
	return a ^ 5;
}

/* Does the call there lead to somewhere in a file? */
static int stays(const unsigned char *call)
{
	Dl_info info;
	int rel;

	__builtin_memcpy(&rel, call + 1, sizeof(rel));
	return call[0] == 0xe8 && dladdr(call + 5 + rel, &info) != 0;
}

void look(int *table, int *own)
{
	*table = stays((const unsigned char *)by_table + CALL);
	*own = stays((const unsigned char *)by_itself + CALL);
}
EOC
cat >caller.c <<'EOC'
#include <stdio.h>
#include <stdlib.h>

extern int by_table(int a), by_itself(int a);
extern void look(int *table, int *own);

#ifdef OURS
int visible(int a)
{
	return a + 100;
}
#endif

int main(int argc, char **argv)
{
	int sum = 0, n = atoi(argv[1]), table, own;

	for (int i = 0; i < n; i++)
		sum += by_table(i) + by_itself(i);
	printf("%d\n", sum);
	look(&table, &own);
	if (argc > 2)
		printf("table %s, own %s\n", table ? "stays" : "led", own ? "stays" : "led");
	return 0;
}
EOC

# build KIND LINKER-OPTIONS...: callees-KIND/libcallees.so
build()
{
	local kind=$1
	shift
	mkdir -p "callees-$kind"
	$CC -O1 -fPIC -shared "$@" -o "callees-$kind/libcallees.so" callees.c || fail "not compiled"
}

# check KIND PROGRAM TABLE OWN OPTION...: what becomes of the library's calls
check()
{
	local kind=$1 program=$2 table=$3 own=$4
	shift 4
	export LD_LIBRARY_PATH=$PWD/callees-$kind
	same_run -q --libs='libcallees*' -o t "$@" -- "./$program" 1000
	check_status 0 sonde -q --libs='libcallees*' -o t2 "$@" -- "./$program" 10 look
	check_contains out "^table $table, own $own\$"
	unset LD_LIBRARY_PATH
}

build now -Wl,-z,now,-z,relro
build lazy -Wl,-z,lazy,-z,norelro
build written -Wl,-z,now,-z,norelro
build marked -fcf-protection=full -Wl,-z,now,-z,relro,-z,ibtplt
for kind in "" -DOURS; do
	$CC -O1 -rdynamic $kind -o "caller$kind" caller.c -Lcallees-now -lcallees || fail "not compiled"
done

for options in "-F *" --mem; do
	set -f
	check now caller led led $options
	check lazy caller stays led $options
	check written caller stays led $options
	check now caller-DOURS stays led $options
	check marked caller led led $options
	set +f
done

# Nothing is missing, and nothing is there twice; where the program has a function of that name, the library's is not called.
export LD_LIBRARY_PATH=$PWD/callees-now
for kind in "" -DOURS; do
	same_run -q -F '*' --libs='libcallees*' -o t -- "./caller$kind" 1000
	events t
	check_calls 1000 by_table
	check_calls 1000 by_itself
	check_calls 1000 inner
	check_calls "$([ "$kind" ] && echo 0 || echo 1000)" visible
done

# Who is called is not recorded: the call stays.
check_status 0 sonde -q -F by_table -F by_itself --libs='libcallees*' -o t -- ./caller 10 look
check_contains out '^table stays, own stays$'
