// One policy for many tasks: a function that submits under it, applied to a list.
#include <spate/mw.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <vector>

namespace mw = spate::mw;

const auto times_10 = mw::algorithm<"times-10">([](int x) { return 10 * x; });

int master(mw::master& m) {
  std::vector<int> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto add = m.submitter(times_10, {.tag = "ten times"});
  std::ranges::for_each(numbers, add);
  long sum = 0;
  while (m.pending() > 0) {
    m.wait();
    for (const mw::result& r : m.take_results()) {
      if (r.tag != "ten times") return 1;
      sum += r.get(times_10);
    }
  }
  std::cout << "the sum is " << sum << '\n';
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
