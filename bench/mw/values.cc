// How many bytes of values pass between a master and its slaves in a second: `values --mw-master
// --mw-resource-file F arguments|results BYTES TASKS SLAVES`. Each task has BYTES of arguments of
// its own, or as long a result; 16 tasks are pending. Length, first and last bytes of each value
// are checked at its end.
#include <spate/mw.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace mw = spate::mw;

constexpr std::size_t kPending = 16;
constexpr int kWarmUp = 32;

using block = std::vector<std::byte>;
using answer = std::pair<std::uint64_t, std::uint64_t>;

// Another block for each task: its number is at both ends.
void mark(block& in, std::uint64_t number) {
  std::memcpy(in.data(), &number, sizeof(number));
  std::memcpy(in.data() + in.size() - sizeof(number), &number, sizeof(number));
}

// Length and number; 0 as the number: the ends differ.
answer look_at(const block& in) {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::memcpy(&first, in.data(), sizeof(first));
  std::memcpy(&last, in.data() + in.size() - sizeof(last), sizeof(last));
  return {in.size(), first == last ? first : 0};
}

const auto look = mw::algorithm<"look">([](const block& in) { return look_at(in); });
const auto make = mw::algorithm<"make">([](std::uint64_t size, std::uint64_t number) {
  block made(size, std::byte{0x5a});
  mark(made, number);
  return made;
});

// Whether all values were right.
bool pass(mw::master& m, bool results, block& value, std::uint64_t& last, int tasks) {
  for (int sent = 0, back = 0; back < tasks;) {
    for (std::size_t room = m.room(); room > 0 && sent < tasks; --room, ++sent) {
      ++last;
      if (results) {
        m.submit(make, value.size(), last);
      } else {
        mark(value, last);
        m.submit(look, value);
      }
    }
    m.wait();
    for (const mw::result& r : m.take_results()) {
      const answer got = results ? look_at(r.get(make)) : r.get(look);
      if (got != answer(value.size(), r.task.value)) return false;
      ++back;
    }
  }
  return true;
}

int master(mw::master& m, int argc, char** argv) {
  if (argc != 5) return 1;
  const bool results = argv[1] == std::string_view("results");
  const auto bytes = static_cast<std::size_t>(std::atoll(argv[2]));
  const int tasks = std::atoi(argv[3]);
  const auto slaves = static_cast<std::size_t>(std::atoi(argv[4]));
  if (bytes < sizeof(std::uint64_t) || tasks < 1) return 1;
  block value(bytes, std::byte{0x5a});
  std::uint64_t last = 0;
  m.set_target(kPending);
  while (m.slaves() < slaves) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!pass(m, results, value, last, kWarmUp)) return 1;
  const auto began = std::chrono::steady_clock::now();
  if (!pass(m, results, value, last, tasks)) return 1;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%d tasks, %.1f MB/s\n", tasks,
              static_cast<double>(tasks) * (static_cast<double>(bytes) / 1e6) / took.count());
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
