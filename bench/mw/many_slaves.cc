// A master that waits for many slaves: `many_slaves --mw-master --mw-resource-file F SLAVES`. When
// all are there it gives out ten tasks for each, says so, and ends at a line of standard input. So
// its memory, and how long its slaves take to end, can be measured from outside.
#include <spate/mw.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace mw = spate::mw;

const auto twice = mw::algorithm<"twice">([](std::uint64_t x) { return 2 * x; });

int master(mw::master& m, int argc, char** argv) {
  const std::size_t slaves = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 1;
  while (m.slaves() < slaves) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::size_t tasks = 10 * slaves;
  for (std::size_t i = 1; i <= tasks; ++i) m.submit(twice, i);
  for (std::size_t back = 0; back < tasks;) {
    m.wait();
    for (const mw::result& r : m.take_results()) {
      if (r.get(twice) != 2 * r.task.value) return 1;
      ++back;
    }
  }
  std::printf("all %zu slaves, %zu tasks\n", m.slaves(), tasks);
  std::fflush(stdout);
  (void)std::getchar();
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
