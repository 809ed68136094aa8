// Pi by throwing darts: each task throws ten million, and says how many hit the circle.
//   monte_carlo_pi --mw-master --mw-resource-file F [--max-trial-sets N] [--trials N]
#include <spate/mw.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

namespace mw = spate::mw;

const auto throw_darts = mw::algorithm<"throw-darts">([](std::uint64_t seed, std::uint64_t trials) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> side(0, 1);
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < trials; ++i) {
    const double x = side(random), y = side(random);
    if (x * x + y * y <= 1) ++hits;
  }
  return std::pair(trials, hits);
});

int master(mw::master& m, int argc, char** argv) {
  std::uint64_t sets = 100, trials = 10'000'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--max-trial-sets") == 0)
      sets = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--trials") == 0) trials = std::strtoull(argv[i + 1], nullptr, 10);
  }
  m.allocate(mw::group::unordered, 4);
  for (std::uint64_t seed = 1; seed <= sets; ++seed) m.submit(throw_darts, seed, trials);
  std::uint64_t thrown = 0, hit = 0;
  while (m.pending() > 0) {
    m.wait();
    for (const mw::result& r : m.take_results()) {
      auto [some, hits] = r.get(throw_darts);
      thrown += some;
      hit += hits;
    }
  }
  std::printf("pi is about %.6f, by %llu trials\n",
              4 * static_cast<double>(hit) / static_cast<double>(thrown),
              static_cast<unsigned long long>(thrown));
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
