// Any lines as what the processes of an MPI program say by PMI-1. The first byte says how many
// there are; of each line the first byte says whose it is, and an empty line that its connection
// has ended. Each answer is one line to one of them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "remote/pmi.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using spate::remote::PmiSpace;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const auto shape = static_cast<uint8_t>(input.front());
  input.remove_prefix(1);
  PmiSpace space({1u + shape % 4, 1u + shape / 4 % 4});
  while (!input.empty()) {
    const auto rank = static_cast<uint8_t>(input.front()) % space.members();
    input.remove_prefix(1);
    const std::string rest(input);  // of its own size, so that looking beyond it shows
    auto length = PmiSpace::SizeOf(rest);
    if (!length || *length == 0) return 0;
    CHECK(*length <= rest.size());
    const PmiSpace::Step step =
        *length == 1 ? space.Left(rank) : space.Handle(rank, rest.substr(0, *length));
    for (const PmiSpace::Line& reply : step.replies) {
      CHECK(reply.to < space.members());
      CHECK(reply.text->find('\n') == reply.text->size() - 1);
    }
    CHECK(step.abort.value_or(1) != 0 && step.abort.has_value() == !step.why.empty());
    input.remove_prefix(*length);
  }
  return 0;
}
