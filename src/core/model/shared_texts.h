// Equal lists of texts, kept once: the environments of a user's jobs are mostly the same.
//
// Thread: one for an object and all that it gave out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace spate {

class SharedTexts {
 public:
  using Texts = std::vector<std::string>;
  // The same object for equal texts, as long as somebody has it. May outlive this.
  std::shared_ptr<const Texts> Share(const Texts& texts);
  // Distinct lists that somebody has.
  size_t size() const { return known_->size(); }

 private:
  using Known = std::unordered_multimap<uint64_t, std::weak_ptr<const Texts>>;
  std::shared_ptr<Known> known_ = std::make_shared<Known>();
};

}  // namespace spate
