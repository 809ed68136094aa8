// How many bytes of arguments reach slaves in a second: `large_arguments --mw-master
// --mw-resource-file F TASKS SLAVES`. Each task has 1 MB of its own; 16 of them are pending. The
// slaves answer with the length and with the first and the last byte, and each answer is checked.
#include <spate/mw.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace mw = spate::mw;

constexpr std::size_t kBytes = 1'000'000;
constexpr std::size_t kPending = 16;
constexpr int kWarmUp = 32;

using answer = std::pair<std::uint64_t, std::byte>;

const auto look = mw::algorithm<"look">([](const std::vector<std::byte>& block) {
  return answer(block.size(), block.front() ^ block.back());
});

// Another block for each task: 16 bits of its number are at both ends.
void mark(std::vector<std::byte>& block, std::uint64_t number) {
  block.front() = static_cast<std::byte>(number);
  block.back() = static_cast<std::byte>(number >> 8);
}

answer right(std::uint64_t number) {
  return {kBytes, static_cast<std::byte>(number) ^ static_cast<std::byte>(number >> 8)};
}

// Whether all answers were right.
bool pass(mw::master& m, std::vector<std::byte>& block, std::uint64_t& last, int tasks) {
  for (int sent = 0, back = 0; back < tasks;) {
    for (std::size_t room = m.room(); room > 0 && sent < tasks; --room, ++sent) {
      mark(block, ++last);
      m.submit(look, block);
    }
    m.wait();
    for (const mw::result& r : m.take_results()) {
      if (r.get(look) != right(r.task.value)) return false;
      ++back;
    }
  }
  return true;
}

int master(mw::master& m, int argc, char** argv) {
  const int tasks = argc > 1 ? std::atoi(argv[1]) : 100;
  const std::size_t slaves = argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 1;
  std::vector<std::byte> block(kBytes, std::byte{0x5a});
  std::uint64_t last = 0;
  m.set_target(kPending);
  while (m.slaves() < slaves) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!pass(m, block, last, kWarmUp)) return 1;
  const auto began = std::chrono::steady_clock::now();
  if (!pass(m, block, last, tasks)) return 1;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%d tasks, %.1f MB/s\n", tasks,
              static_cast<double>(tasks) * (kBytes / 1e6) / took.count());
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
