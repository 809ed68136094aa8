// A row of RowKind::kInput: which bytes are the standard input of a task (--pipe, --pipepart).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::format {

struct InputRow {
  uint64_t offset = 0;  // of the piece, in the file or in what came on standard input
  uint64_t length = 0;
  uint64_t header = 0;  // so many bytes of the file's beginning come first (--header)
  uint64_t hash = 0;    // XXH3 of the piece, where it is a block of standard input; else 0
  std::string file;     // empty: the block lies in the job's folder, by the task's number
  friend bool operator==(const InputRow&, const InputRow&) = default;
};

// "OFFSET LENGTH HEADER HASH FILE", numbers in decimal, FILE to the end.
std::string EncodeInputRow(const InputRow& row);
Result<InputRow> ParseInputRow(std::string_view text);

// "big.txt:1048576+20", as people see it; without the file for a block.
std::string InputText(std::string_view row);

// The command that writes a part of a file to its standard output: this program again, started by
// itself (so /proc/self/exe names it), with the words "__part HEADER OFFSET LENGTH FILE".
inline constexpr const char* kPartArgument = "__part";
std::vector<std::string> PartCommand(const InputRow& row);

// Name of a task's block in the job's folder of blocks: its number, from 1.
std::string BlockName(uint64_t number);

}  // namespace spate::format
