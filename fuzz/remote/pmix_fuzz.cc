// Any bytes as messages of the servers of PMIx. The first byte says how many parts there are; of
// each message the first byte says whose it is, and a newline alone that its connection has ended.
// Each answer is one message to one of them, and a set of ranks is read as it is written.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "remote/pmix/space.h"

namespace {

namespace remote = spate::remote;

void CheckRanks(std::string_view set) {
  constexpr uint32_t kLimit = 1000;
  auto ranges = remote::ParseRanks(set, kLimit);
  if (!ranges) return;
  std::vector<uint32_t> ranks;
  for (const remote::RankRange& range : *ranges) {
    for (uint32_t rank = range.first; rank <= range.last; ++rank) ranks.push_back(rank);
  }
  CHECK(ranks.back() < kLimit);
  const std::string written = remote::FormatRanks(ranks);
  auto again = remote::ParseRanks(written, kLimit);
  CHECK(again.has_value());
  CHECK(remote::FormatRanks(ranks) == written && again->back().last == ranks.back());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const auto shape = static_cast<uint8_t>(input.front());
  input.remove_prefix(1);
  remote::PmixSpace space({1u + shape % 4, 1u + shape / 4 % 4, 2u});
  while (!input.empty()) {
    const auto part = static_cast<uint8_t>(input.front()) % space.members();
    input.remove_prefix(1);
    remote::PmixSpace::Step step;
    size_t used = 1;
    if (input.starts_with('\n')) {
      step = space.Left(part);
    } else {
      auto length = remote::PmixSpace::SizeOf(input);
      if (!length || *length == 0 || *length > input.size()) return 0;
      used = *length;
      const std::string message(input.substr(0, used));
      for (std::string_view word : remote::ReadPmix(message).words) CheckRanks(word);
      step = space.Handle(part, message);
    }
    for (const remote::PmixSpace::Reply& reply : step.replies) {
      CHECK(reply.to < space.members());
      CHECK(remote::SizeOfPmix(*reply.text) == reply.text->size());
    }
    CHECK(step.abort.value_or(1) != 0 && step.abort.has_value() == !step.why.empty());
    input.remove_prefix(used);
  }
  return 0;
}
