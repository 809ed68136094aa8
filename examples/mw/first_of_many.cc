// The first answer ends the work: slaves look for a factor of a number, each task among some
// candidates. Futures wait for any of them; when one has found it, the others are cancelled.
//   first_of_many --mw-master --mw-resource-file F [NUMBER]
#include <spate/mw.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

namespace mw = spate::mw;

struct found {
  std::optional<std::uint64_t> factor;
  std::chrono::nanoseconds took{0};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(factor, took);
  }
};

const auto look_for_factor =
    mw::algorithm<"look-for-factor">([](std::uint64_t n, std::uint64_t first, std::uint64_t last) {
      const auto began = std::chrono::steady_clock::now();
      found answer;
      for (std::uint64_t i = first; i <= last && !answer.factor; ++i) {
        if (n % i == 0) answer.factor = i;
        if (i % 1024 == 0 && mw::stop_requested()) break;  // nobody wants it any more
      }
      answer.took = std::chrono::steady_clock::now() - began;
      return answer;
    });

int master(mw::master& m, int argc, char** argv) {
  const std::uint64_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'036'000'099;
  const auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
  const std::uint64_t step = std::max<std::uint64_t>(root / 100, 1);
  std::vector<mw::future<found>> futures;
  for (std::uint64_t first = 2; first <= root; first += step) {
    futures.push_back(m.async(look_for_factor, n, first, std::min(first + step - 1, root)));
  }
  std::chrono::nanoseconds took{0};
  for (std::size_t left = futures.size(); left > 0; --left) {
    const found now = futures[*m.wait_any(futures)].get();
    took += now.took;
    if (!now.factor) continue;
    std::printf("%llu = %llu * %llu\n", static_cast<unsigned long long>(n),
                static_cast<unsigned long long>(*now.factor),
                static_cast<unsigned long long>(n / *now.factor));
    m.cancel_all();
    for (const mw::slave_info& each : m.list_slaves()) {
      std::fprintf(stderr, "%s at %s: %llu tasks\n", each.name.c_str(), each.host.c_str(),
                   static_cast<unsigned long long>(each.done));
    }
    std::fprintf(stderr, "slaves computed for %.3f s\n",
                 std::chrono::duration<double>(took).count());
    return 0;
  }
  std::printf("%llu is prime\n", static_cast<unsigned long long>(n));
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
