#include "core/model/shared_texts.h"

#include <functional>
#include <string_view>

namespace spate {
namespace {

uint64_t HashOf(const SharedTexts::Texts& texts) {
  uint64_t hash = texts.size();
  for (const std::string& text : texts) {
    hash = hash * 0x9E3779B97F4A7C15u + std::hash<std::string_view>()(text);
  }
  return hash;
}

}  // namespace

std::shared_ptr<const SharedTexts::Texts> SharedTexts::Share(const Texts& texts) {
  uint64_t hash = HashOf(texts);
  auto [first, last] = known_->equal_range(hash);
  for (auto each = first; each != last; ++each) {
    auto same = each->second.lock();
    if (same && *same == texts) return same;
  }
  // The last owner takes it out again.
  auto drop = [known = std::weak_ptr<Known>(known_), hash](const Texts* gone) {
    if (auto all = known.lock()) {
      auto [begin, end] = all->equal_range(hash);
      for (auto each = begin; each != end; ++each) {
        if (!each->second.expired()) continue;
        all->erase(each);
        break;
      }
    }
    delete gone;
  };
  std::shared_ptr<const Texts> fresh(new Texts(texts), std::move(drop));
  known_->emplace(hash, fresh);
  return fresh;
}

}  // namespace spate
