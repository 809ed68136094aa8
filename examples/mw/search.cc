// A search in which results decide what comes next: the lowest point of a rough landscape, by
// looking at a grid, then at a finer one around the best few points, and so on. Started with
// --mw-state DIR it may be killed at any time; the same command goes on.
//   search --mw-master --mw-resource-file F --mw-state DIR [ROUNDS [MILLISECONDS]]
#include <spate/mw.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace mw = spate::mw;

struct point {
  double x = 0, y = 0, value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(x, y, value);
  }
};

// A simulation would stand here; it takes as long as one, if asked to.
const auto measure = mw::algorithm<"measure">([](double x, double y, int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  const double rough = std::sin(5 * x) * std::cos(7 * y);
  return point{x, y, (x - 1) * (x - 1) + (y + 2) * (y + 2) + rough};
});

// All that the master must know to go on.
struct progress {
  int round = 0;
  double step = 4;
  std::vector<point> best = {point{}};
  std::vector<point> seen;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(round, step, best, seen);
  }
};

void submit_round(mw::master& m, const progress& now, int milliseconds) {
  for (const point& center : now.best) {
    for (int i = -2; i <= 2; ++i) {
      for (int j = -2; j <= 2; ++j) {
        m.submit(measure, center.x + i * now.step, center.y + j * now.step, milliseconds);
      }
    }
  }
}

int master(mw::master& m, int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 8;
  const int milliseconds = argc > 2 ? std::atoi(argv[2]) : 0;
  progress now;
  std::size_t left = 0;  // measurements of this round that have not come
  if (const auto& last = m.restored(); last && !last->state.empty()) {
    now = mw::decode<progress>(last->state);
    left = last->pending + last->results;
    std::fprintf(stderr, "going on in round %d: %zu measurements known, %zu to come\n", now.round,
                 now.seen.size(), left);
  } else {
    submit_round(m, now, milliseconds);
    left = now.best.size() * 25;
    m.checkpoint(mw::encode(now));
  }
  while (now.round < rounds) {
    m.wait();
    for (const mw::result& r : m.take_results()) {
      now.seen.push_back(r.get(measure));
      --left;
    }
    if (left == 0) {
      std::ranges::sort(now.seen, {}, &point::value);
      now.best.assign(now.seen.begin(), now.seen.begin() + 3);
      now.seen.clear();
      now.step /= 2;
      if (++now.round < rounds) {
        submit_round(m, now, milliseconds);
        left = now.best.size() * 25;
      }
    }
    // What was taken, what was submitted and what we know become durable with one stroke.
    m.checkpoint(mw::encode(now));
  }
  std::printf("lowest at (%.4f, %.4f): %.6f\n", now.best[0].x, now.best[0].y, now.best[0].value);
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
