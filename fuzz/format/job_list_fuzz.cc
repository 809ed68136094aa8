// A job list in two pieces gives the same entries as in one; every entry expands or is refused.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "format/expand.h"
#include "format/joblist/reader.h"
#include "format/shell_words.h"

namespace {

using spate::format::JobListReader;

struct Seen {
  uint64_t line;
  std::string row;
  bool valid;
  friend bool operator==(const Seen&, const Seen&) = default;
};

std::vector<Seen> Read(std::string_view text, size_t cut) {
  JobListReader reader;
  std::vector<Seen> seen;
  auto take = [&] {
    while (auto entry = reader.Next()) {
      seen.push_back({entry->line, std::string(entry->row), entry->parsed.has_value()});
    }
  };
  for (std::string_view piece : {text.substr(0, cut), text.substr(cut)}) {
    // A copy of its own size, so that looking beyond it shows.
    std::string copy(piece);
    reader.Feed(copy);
    take();
  }
  reader.Finish();
  take();
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t cut = size == 0 ? 0 : data[0] * size / 256;
  auto seen = Read(text, cut);
  CHECK(seen == Read(text, 0));
  auto job = spate::format::CompileJob(spate::JobSettings{}, spate::JobId(1));
  CHECK(job);
  for (const Seen& entry : seen) {
    auto body = spate::format::Expand(*job, entry.row, 0, 1);
    // The reader refuses instructions of disBatch, which are comments to everybody else.
    const bool refused = !entry.valid && entry.row.starts_with("#DISBATCH ");
    CHECK(body.has_value() == entry.valid || refused);
    std::string command = spate::format::CommandText(*job, entry.row, 0, 1);
    if (body) {
      CHECK(body->steps[0].commands[0].argv == spate::format::CommandArgv(command));
    }
  }
  return 0;
}
