#include "format/input_row.h"

#include <fmt/format.h>

#include <charconv>

namespace spate::format {

std::string EncodeInputRow(const InputRow& row) {
  return fmt::format("{} {} {} {} {}", row.offset, row.length, row.header, row.hash, row.file);
}

Result<InputRow> ParseInputRow(std::string_view text) {
  InputRow row;
  for (uint64_t* number : {&row.offset, &row.length, &row.header, &row.hash}) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    bool blank = end != text.data() + text.size() && *end == ' ';
    if (error != std::errc() || !blank) {
      return Fail(ErrorKind::kCorrupt, "the row of a piece of input is damaged");
    }
    text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  }
  row.file = text;
  return row;
}

std::string InputText(std::string_view row) {
  auto input = ParseInputRow(row);
  if (!input) return std::string(row);
  return fmt::format("{}{}{}+{}", input->file, input->file.empty() ? "" : ":", input->offset,
                     input->length);
}

std::vector<std::string> PartCommand(const InputRow& row) {
  return {"/proc/self/exe",           kPartArgument,
          std::to_string(row.header), std::to_string(row.offset),
          std::to_string(row.length), row.file};
}

std::string BlockName(uint64_t number) { return std::to_string(number); }

}  // namespace spate::format
