// Any bytes as a hub's question about processes, a node's answer, and a client's question for them.
// Bytes that decode must encode to the same bytes again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/model/processes.h"
#include "wire/field_bytes.h"
#include "wire/questions.h"

namespace {

namespace wire = spate::wire;

template <typename T>
void CheckAgain(std::string_view input) {
  auto message = wire::FromBytes<T>("it", input);
  if (!message) return;
  const std::string bytes = wire::BytesOf(*message);
  auto again = wire::FromBytes<T>("it", bytes);
  CHECK(again.has_value());
  CHECK(wire::BytesOf(*again) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  CheckAgain<spate::ReadProcesses>(input);
  CheckAgain<spate::NodeProcesses>(input);
  CheckAgain<wire::ListProcesses>(input);
  return 0;
}
