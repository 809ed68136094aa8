// Any words after `--`, any file of values, any --colsep. The first line of the input is the
// separator, the second one flags, the third one words; the rest is the text of the file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "format/sources/sources.h"

namespace format = spate::format;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Matching may be quadratic in the text, which is the C library's and the user's own affair.
  if (size > 2000) return 0;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto take = [&](char mark) {
    size_t end = text.find(mark);
    std::string taken(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return taken;
  };
  format::RowRules rules;
  rules.colsep = take('\n');
  std::string flags = take('\n');
  std::vector<std::string> words;
  for (std::string line = take('\n'); !line.empty();) {
    size_t end = line.find(' ');
    words.push_back(line.substr(0, end));
    line.erase(0, end == std::string::npos ? line.size() : end + 1);
  }
  auto has = [&](char flag) { return flags.find(flag) != std::string::npos; };
  auto parsed = format::ParseCommandWords(words);
  if (!parsed) return 0;
  auto from_file = format::SplitValues(text, has('0'));
  if (!from_file) return 0;
  std::vector<format::SourceValues> sources;
  for (const auto& source : parsed->sources) {
    sources.push_back(
        {source.is_file ? *from_file
                        : std::vector<std::string_view>(source.values.begin(), source.values.end()),
         source.linked});
  }
  rules.header = has('h');
  rules.fill = has('X');
  rules.max_records = has('n') ? 3 : 0;
  rules.slots = has('s') ? 4 : 1;
  rules.fits = [](std::string_view row) { return row.size() < 100; };
  auto rows = format::RowGenerator::Make(std::move(sources), std::move(rules));
  if (!rows) return 0;
  auto count = rows->row_count();
  std::string row;
  uint64_t made = 0;
  for (; made < 200; ++made) {
    auto more = rows->Next(&row);
    if (!more || !*more) break;
  }
  if (count && made < 200) CHECK(made == *count);
  return 0;
}
