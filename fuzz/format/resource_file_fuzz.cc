// Any text is a resource file of CL-MW or is refused, and what is read is written and read the
// same.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "doors/mw/formats/resource_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace mw = spate::mw;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto read = mw::ReadResourceFile(text, "fuzz");
  if (!read) {
    CHECK(read.error().message.starts_with("fuzz:"));
    return 0;
  }
  CHECK(read->slave_arguments.size() <= mw::kResourceWordsMax);
  CHECK(read->libraries.size() <= mw::kResourceWordsMax);
  std::string written = mw::WriteResourceFile(*read);
  // Bytes that were escaped may make it longer.
  if (written.size() > mw::kResourceFileBytesMax) return 0;
  auto again = mw::ReadResourceFile(written, "again");
  CHECK(again.has_value());
  CHECK(*again == *read);
  return 0;
}
