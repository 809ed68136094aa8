#include "base/near.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace spate {
namespace {

constexpr size_t kWordMax = 64;  // nobody mistypes a longer one; bounds the work

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b, size_t bound) {
  size_t longer = std::max(a.size(), b.size());
  if (longer - std::min(a.size(), b.size()) >= bound) return bound;
  // Three rows of the usual table: a swap looks back two.
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], bound);
}

std::optional<std::string_view> Nearest(std::string_view word,
                                        std::span<const std::string_view> names) {
  if (word.empty() || word.size() > kWordMax) return std::nullopt;
  std::string lower = Lower(word);
  std::optional<std::string_view> best;
  size_t best_distance = 0;
  for (std::string_view name : names) {
    if (name.size() > kWordMax) continue;
    size_t allowed = std::max<size_t>(1, std::max(word.size(), name.size()) / 3);
    size_t bound = best ? std::min(best_distance, allowed + 1) : allowed + 1;
    size_t distance = EditDistance(lower, Lower(name), bound);
    // A wholly different word is not meant, however short it is.
    if (distance < bound && distance < std::max(word.size(), name.size())) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> names) {
  auto name = Nearest(word, names);
  return name ? "; did you mean " + std::string(*name) + "?" : std::string();
}

}  // namespace spate
