// Any text is an access file or is refused, and what is read is written and read the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "access/access_file.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace access = spate::access;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto parsed = access::ParseAccess(text, "fuzz");
  if (!parsed) {
    CHECK(!parsed.error().message.empty());
    return 0;
  }
  CHECK(!parsed->hubs.empty());
  CHECK(!parsed->user.empty());
  CHECK(access::ParseAccess(access::FormatAccess(*parsed), "again") == *parsed);
  return 0;
}
