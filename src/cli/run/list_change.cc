#include "cli/run/list_change.h"

#include <xxhash.h>
#include <algorithm>

#include "core/model/ranges.h"

namespace spate::cli {
namespace {

struct Keyed {
  uint64_t high;
  uint64_t low;
  uint32_t position;
  friend auto operator<=>(const Keyed&, const Keyed&) = default;
};

std::vector<Keyed> SortedKeys(const RowSource& rows) {
  std::vector<Keyed> keys;
  uint32_t position = 0;
  rows([&](std::string_view row) {
    XXH128_hash_t hash = XXH3_128bits(row.data(), row.size());
    keys.push_back({hash.high64, hash.low64, position++});
  });
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<TaskRange> Ranges(std::vector<uint32_t>& indices) {
  std::sort(indices.begin(), indices.end());
  std::vector<TaskRange> ranges;
  for (uint32_t index : indices) AppendIndex(ranges, index);
  return ranges;
}

}  // namespace

ListChange CompareLists(const RowSource& old_rows, const RowSource& new_rows) {
  std::vector<Keyed> old_keys = SortedKeys(old_rows);
  std::vector<Keyed> new_keys = SortedKeys(new_rows);
  auto same_row = [](const Keyed& a, const Keyed& b) { return a.high == b.high && a.low == b.low; };
  auto before = [](const Keyed& a, const Keyed& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  };
  ListChange change;
  std::vector<uint32_t> missing;
  std::vector<uint32_t> kept;
  size_t o = 0;
  size_t n = 0;
  while (o < old_keys.size() || n < new_keys.size()) {
    if (n == new_keys.size() || (o < old_keys.size() && before(old_keys[o], new_keys[n]))) {
      missing.push_back(old_keys[o++].position);
    } else if (o == old_keys.size() || !same_row(old_keys[o], new_keys[n])) {
      change.added.push_back(new_keys[n++].position);
    } else {
      kept.push_back(old_keys[o].position);
      ++o;
      ++n;
    }
  }
  change.missing = Ranges(missing);
  change.kept = Ranges(kept);
  std::sort(change.added.begin(), change.added.end());
  return change;
}

}  // namespace spate::cli
