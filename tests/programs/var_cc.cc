// SPDX-License-Identifier: GPL-3.0-or-later
// As var_c.c, of C++: namespaces, classes with bases, references, members that all objects have together.
#include <cstdio>
#include <vector>

#define EXPECT(name, n) printf("%s\t%d\n", name, n)

namespace space {

struct base {
	volatile int first;
	virtual ~base() {}
};

struct empty {};

class derived : public base, private empty {
public:
	volatile double second[2];
	static volatile long together;
	void set(int i);
};

volatile long derived::together;

void derived::set(int i)
{
	first = i;
	second[i % 2] = i;
	together = i;
}

derived objects[5];

namespace {
volatile int unnamed;
}

void more(int i)
{
	static volatile short kept;

	kept = (short)i;
	unnamed = i;
}

} // namespace space

template <typename T> struct holder {
	volatile T value;
};

holder<int> held;

__attribute__((noinline)) static void by_reference(volatile int &to)
{
	for (int i = 0; i < 7; i++)
		to = i;
}

__attribute__((noinline)) void calls()
{
	volatile int target[2];

	by_reference(target[1]);
}

int main()
{
	for (int i = 0; i < 5; i++) {
		space::objects[i].set(i);
		space::more(i);
		held.value = i;
	}
	calls();
	EXPECT("space::objects[].first", 5);
	EXPECT("space::objects[].second[]", 5);
	EXPECT("space::derived::together", 5);
	EXPECT("space::(anonymous namespace)::unnamed", 5);
	EXPECT("kept in space::more(int)", 5);
	EXPECT("held.value", 5);
	EXPECT("target[] in calls()", 7);
	return 0;
}
