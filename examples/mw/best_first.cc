// Branch and bound: the lowest point of a rough landscape, and a proof that none is lower. Each
// task looks at a box and bounds how low the landscape can be there; the most promising box
// that waits goes out next, whenever it was found.
//   best_first --mw-master --mw-resource-file F [MILLISECONDS]
#include <spate/mw.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <thread>

namespace mw = spate::mw;

struct box {
  double x = 0, y = 0, half = 8;  // its middle, and half of its width
  template <class Archive>
  void serialize(Archive& archive) {
    archive(x, y, half);
  }
};

struct look {
  box where;
  double value = 0;  // in the middle
  double bound = 0;  // nowhere in the box is it lower
  template <class Archive>
  void serialize(Archive& archive) {
    archive(where, value, bound);
  }
};

// A simulation would stand here; it takes as long as one, if asked to.
const auto look_at = mw::algorithm<"look-at">([](box b, int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  const double dx = b.x - 1, dy = b.y + 2;
  const double value = dx * dx + dy * dy + std::sin(5 * b.x) * std::cos(7 * b.y);
  const double steepest = 2 * (std::abs(dx) + std::abs(dy) + 2 * b.half) + 5 + 7;
  return look{b, value, value - b.half * steepest};
});

int master(mw::master& m, int argc, char** argv) {
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 0;
  look best{.where = {}, .value = std::numeric_limits<double>::infinity()};
  for (m.submit(look_at, box{}, milliseconds); m.pending() > 0;) {
    m.wait();
    for (const mw::result& r : m.take_results()) {
      const look now = r.get(look_at);
      if (now.value < best.value) best = now;
      if (now.bound > best.value - 1e-3) continue;  // nothing to find there
      const double half = now.where.half / 2;
      for (double dx : {-half, half}) {
        for (double dy : {-half, half}) {
          m.submit(look_at, mw::policy{.priority = -now.bound},
                   box{now.where.x + dx, now.where.y + dy, half}, milliseconds);
        }
      }
    }
  }
  std::printf("lowest at (%.2f, %.2f): %.2f\n", best.where.x, best.where.y, best.value);
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
