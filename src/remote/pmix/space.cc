#include "remote/pmix/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace spate::remote {
namespace {

// Far more than any library has under way at once.
constexpr size_t kSetsMost = 10'000;
constexpr size_t kRoundsMost = 100;
constexpr size_t kAskedMost = 10'000'000;

std::shared_ptr<const std::string> Text(std::string_view words, std::string_view body = {}) {
  return std::make_shared<const std::string>(FormatPmix(words, body));
}

PmixSpace::Step Broken(uint32_t part) {
  return {.abort = 1,
          .why = fmt::format("the server of PMIx on the gang's node {} breaks the rules", part)};
}

}  // namespace

PmixSpace::PmixSpace(std::vector<uint32_t> per_part) : first_rank_{0} {
  for (uint32_t count : per_part) first_rank_.push_back(first_rank_.back() + count);
}

uint32_t PmixSpace::PartOf(uint32_t rank) const {
  auto behind = std::ranges::upper_bound(first_rank_, rank);
  return static_cast<uint32_t>(behind - first_rank_.begin()) - 1;
}

PmixSpace::Step PmixSpace::Handle(uint32_t part, std::string_view bytes) {
  const PmixMessage message = ReadPmix(bytes);
  const auto& words = message.words;
  const std::string_view what = words.front();
  if (what == "fence" && words.size() == 2) return Fence(part, words[1], message.body);
  if (what == "data" && words.size() == 3) return Data(part, words[1], words[2], message.body);
  if (words.size() < 2) return Broken(part);
  const auto rank = ParseNumber(words[what == "get" && words.size() == 3 ? 2 : 1]);
  if (!rank || *rank >= ranks()) return Broken(part);
  if (what == "get" && words.size() == 3) return Get(part, words[1], *rank);
  if (PartOf(*rank) != part) return Broken(part);
  if (what == "connected") {
    begun_.insert(*rank);
    seen_.insert(*rank);
    return Stuck();
  }
  if (what == "finalized") {
    begun_.erase(*rank);
    return {};
  }
  if (what == "ended") return Ended(*rank);
  if (what == "abort" && words.size() == 3) {
    const auto code = ParseNumber(words[2]);
    return {.abort = code && *code % 256 != 0 ? static_cast<int>(*code % 256) : 1,
            .why = fmt::format("process {} called MPI_Abort", *rank),
            .ends_itself = true};
  }
  return Broken(part);
}

PmixSpace::Step PmixSpace::Fence(uint32_t part, std::string_view set, std::string_view data) {
  auto at = fences_.find(set);
  if (at == fences_.end()) {
    auto ranges = ParseRanks(set, ranks());
    if (!ranges || fences_.size() >= kSetsMost) return Broken(part);
    Fences made;
    for (const RankRange& range : *ranges) {
      uint32_t each = PartOf(range.first);
      if (!made.parts.empty() && made.parts.back() == each) ++each;
      for (; each < members() && first_rank_[each] <= range.last; ++each)
        made.parts.push_back(each);
    }
    at = fences_.emplace(std::string(set), std::move(made)).first;
  }
  Fences& fences = at->second;
  if (!std::ranges::binary_search(fences.parts, part)) return Broken(part);
  auto round =
      std::ranges::find_if(fences.rounds, [&](auto& each) { return !each.contains(part); });
  if (round == fences.rounds.end()) {
    if (fences.rounds.size() >= kRoundsMost) return Broken(part);
    fences.rounds.emplace_back();
    round = std::prev(fences.rounds.end());
  }
  round->emplace(part, data);
  Step step;
  // A part that is in a round is in those before it.
  while (!fences.rounds.empty() && fences.rounds.front().size() == fences.parts.size()) {
    size_t size = 0;
    for (const auto& [from, bytes] : fences.rounds.front()) size += bytes.size();
    std::string all;
    const bool fits = size <= kPmixBodyMost;
    if (fits) all.reserve(size);
    for (const auto& [from, bytes] : fences.rounds.front()) {
      if (fits) all += bytes;
    }
    auto text = Text(fmt::format("fenced {} {}", set, fits ? 0 : 1), all);
    for (uint32_t each : fences.parts) step.replies.push_back({each, text});
    fences.rounds.pop_front();
  }
  if (fences.rounds.empty()) fences_.erase(at);
  return step;
}

PmixSpace::Step PmixSpace::Get(uint32_t part, std::string_view id, uint32_t rank) {
  if (ended_.contains(rank)) return {.replies = {{part, Text(fmt::format("data {} 1", id))}}};
  if (asked_.size() >= kAskedMost) return Broken(part);
  const uint32_t number = next_ask_++;
  asked_.insert_or_assign(number, Asked{part, std::string(id), rank});
  return {.replies = {{PartOf(rank), Text(fmt::format("get {} {}", number, rank))}}};
}

PmixSpace::Step PmixSpace::Data(uint32_t part, std::string_view id, std::string_view status,
                                std::string_view data) {
  const auto number = ParseNumber(id);
  auto at = number ? asked_.find(*number) : asked_.end();
  // It may have been answered when the process ended.
  if (at == asked_.end()) return {};
  if (PartOf(at->second.rank) != part) return Broken(part);
  const Asked asked = std::move(at->second);
  asked_.erase(at);
  const int outcome = status == "0" ? 0 : 1;
  return {.replies = {{asked.by, Text(fmt::format("data {} {}", asked.id, outcome), data)}}};
}

template <typename Which>
void PmixSpace::AnswerNotFound(Step& step, Which which) {
  for (auto at = asked_.begin(); at != asked_.end();) {
    if (!which(at->second)) {
      ++at;
      continue;
    }
    step.replies.push_back({at->second.by, Text(fmt::format("data {} 1", at->second.id))});
    at = asked_.erase(at);
  }
}

PmixSpace::Step PmixSpace::Ended(uint32_t rank) {
  ended_.insert(rank);
  if (begun_.contains(rank)) {
    return {.abort = 1, .why = fmt::format("process {} has ended without MPI_Finalize", rank)};
  }
  if (!seen_.contains(rank)) strangers_.insert(rank);
  Step step = Stuck();
  AnswerNotFound(step, [&](const Asked& asked) { return asked.rank == rank; });
  return step;
}

// MPI_Init waits for all.
PmixSpace::Step PmixSpace::Stuck() const {
  if (begun_.empty() || strangers_.empty()) return {};
  return {.abort = 1,
          .why = fmt::format("process {} has ended without MPI_Init, and others wait for it",
                             *strangers_.begin())};
}

PmixSpace::Step PmixSpace::Left(uint32_t part) {
  std::erase_if(asked_, [&](const auto& each) { return each.second.by == part; });
  Step step;
  AnswerNotFound(step, [&](const Asked& asked) { return PartOf(asked.rank) == part; });
  return step;
}

}  // namespace spate::remote
