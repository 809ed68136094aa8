// Looks for the nearest of many points, in parts of the plane: the points are a constant, which
// each slave gets once, however many tasks it computes.
#include <spate/mw.h>

#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

namespace mw = spate::mw;

struct point {
  double x = 0, y = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(x, y);
  }
};

double distance(const point& a, const point& b) {
  return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

// The nearest to `to` of the points from `first` on, as an index.
const auto nearest =
    mw::algorithm<"nearest">([](const mw::constant<std::vector<point>>& points, std::size_t first,
                                std::size_t count, const point& to) {
      std::size_t best = first;
      for (std::size_t i = first; i < first + count; ++i) {
        if (distance((*points)[i], to) < distance((*points)[best], to)) best = i;
      }
      return best;
    });

int master(mw::master& m) {
  constexpr std::size_t kPoints = 1'000'000, kParts = 50;
  std::mt19937 numbers(1);
  auto number = [&] { return static_cast<double>(numbers()) / 4294967296.0; };
  std::vector<point> points(kPoints);
  for (point& each : points) each = {number(), number()};

  const mw::constant<std::vector<point>> all = m.broadcast(points);
  const point to{0.5, 0.5};
  std::vector<mw::future<std::size_t>> parts;
  for (std::size_t i = 0; i < kParts; ++i) {
    parts.push_back(m.async(nearest, all, i * (kPoints / kParts), kPoints / kParts, to));
  }
  std::size_t best = 0;
  for (mw::future<std::size_t>& each : parts) {
    const std::size_t found = each.get();
    if (distance(points[found], to) < distance(points[best], to)) best = found;
  }
  std::printf("nearest to (%.2f, %.2f): (%.4f, %.4f)\n", to.x, to.y, points[best].x,
              points[best].y);
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
