// All kinds of arguments: some that must be there, one with a default, named ones as a struct, and
// any number of them.
#include <spate/mw.h>

#include <iostream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace mw = spate::mw;

const auto required = mw::algorithm<"required">([](int a, int b) { return a + b; });
const auto optional =
    mw::algorithm<"optional">([](int a, std::optional<int> b) { return a + b.value_or(100); });

struct options {
  int width = 4;
  int height = 3;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(width, height);
  }
};
const auto keyword = mw::algorithm<"keyword">([](options o) { return o.width * o.height; });
const auto renamed = mw::algorithm<"renamed">([](const options& box) { return box.width; });
const auto rest = mw::algorithm<"rest">(
    [](const std::vector<int>& all) { return std::accumulate(all.begin(), all.end(), 0); });

int master(mw::master& m) {
  m.submit(required, 1, 2);
  m.submit(optional, 1, std::nullopt);
  m.submit(keyword, options{.height = 5});
  m.submit(renamed, options{.width = 7});
  m.submit(rest, std::vector<int>{1, 2, 3, 4});
  while (m.pending() > 0) {
    m.wait();
    for (const mw::result& r : m.take_results()) {
      int value = 0;
      if (r.is(required)) value = r.get(required);
      if (r.is(optional)) value = r.get(optional);
      if (r.is(keyword)) value = r.get(keyword);
      if (r.is(renamed)) value = r.get(renamed);
      if (r.is(rest)) value = r.get(rest);
      std::cout << r.algorithm << ": " << value << '\n';
    }
  }
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
