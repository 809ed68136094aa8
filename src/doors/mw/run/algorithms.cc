#include "doors/mw/run/algorithms.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace spate::mw {
namespace {

constexpr std::string_view kMark = "mw:";
// Limit for one word on its way: a longer list of types is cut, with a digest.
constexpr size_t kTypesMost = 700;
// So many words; of more algorithms a single one tells that all are the same.
constexpr size_t kWordsMost = 200;

uint64_t Digest(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::string Short(const std::string& types) {
  if (types.size() <= kTypesMost) return types;
  return fmt::format("{}...#{:x}", types.substr(0, kTypesMost), Digest(types));
}

// "square" and "(i32)->i32" of a word.
std::pair<std::string_view, std::string_view> Parts(std::string_view word) {
  word.remove_prefix(kMark.size());
  const size_t at = word.find('(');
  return {word.substr(0, at), at == word.npos ? "" : word.substr(at)};
}

}  // namespace

Algorithms& Algorithms::Get() {
  static Algorithms all;
  return all;
}

void Algorithms::Add(std::string_view name, std::string types, detail::byte_function function) {
  auto [at, is_new] = all_.try_emplace(std::string(name), Algorithm{types, std::move(function)});
  if (!is_new && at->second.types != types && clash_.empty()) {
    clash_ =
        fmt::format("two algorithms have the name '{}': {} and {}", name, at->second.types, types);
  }
  if (name.empty() || name.size() > 200 || name.find('(') != name.npos) {
    clash_ = fmt::format("'{}' cannot be an algorithm's name: 1 to 200 bytes without '('", name);
  }
}

Status Algorithms::Check() const {
  if (!clash_.empty()) return Fail(ErrorKind::kInvalid, clash_);
  return {};
}

const detail::byte_function* Algorithms::Find(std::string_view name) const {
  auto at = all_.find(name);
  return at == all_.end() ? nullptr : &at->second.function;
}

std::vector<std::string> Algorithms::Words() const {
  std::vector<std::string> words;
  if (all_.size() > kWordsMost) {
    std::string text;
    for (const auto& [name, algorithm] : all_) text += name + algorithm.types + '\n';
    return {fmt::format("{}all {} of them(#{:x})", kMark, all_.size(), Digest(text))};
  }
  for (const auto& [name, algorithm] : all_) {
    words.push_back(fmt::format("{}{}{}", kMark, name, Short(algorithm.types)));
  }
  return words;
}

std::string WhyOtherBuild(const Build& wanted, const Build& other) {
  std::map<std::string_view, std::string_view> has;
  for (const std::string& word : other.words) {
    if (word.starts_with(kMark)) has.insert(Parts(word));
  }
  for (const std::string& word : wanted.words) {
    auto [name, types] = Parts(word);
    auto at = has.find(name);
    if (at == has.end()) return fmt::format("{} has no algorithm '{}'", other.name, name);
    if (at->second != types) {
      return fmt::format("the algorithm '{}' is {} in {}, {} in {}", name, at->second, other.name,
                         types, wanted.name);
    }
  }
  return "";
}

}  // namespace spate::mw
