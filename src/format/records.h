// Cutting input into blocks of whole records, at the same places as GNU parallel's --pipe and
// --pipepart do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::format {

// A record ends behind `end` where `start` follows. Both empty: anywhere.
struct RecordRules {
  std::string start;
  std::string end = "\n";
  uint64_t block = 1u << 20;    // bytes of a block; at least 1
  uint32_t records = 0;         // records of a block, instead of bytes; 0: bytes count
  bool header = false;          // the first line belongs to every block
  uint64_t longest = 1u << 30;  // a record that is longer is an error
};

// Input comes in pieces and leaves as blocks. Memory: a block, and a record that is longer.
class BlockCutter {
 public:
  explicit BlockCutter(RecordRules rules);
  // So many bytes may be fed before Next is asked again; not 0.
  size_t Room() const;
  void Feed(std::string_view bytes) { buffer_ += bytes; }
  void Finish() { finished_ = true; }
  // The next block without its header; nullopt when more must be fed, or at the end. Errors: a
  // record that is too long.
  Result<std::optional<std::string>> Next();
  // Empty until it has been read.
  const std::string& header() const { return header_; }

 private:
  bool DecodeHeader();
  std::optional<size_t> FindCut() const;

  const RecordRules rules_;
  const std::string border_;  // end and start
  uint64_t block_;
  std::string buffer_;
  size_t from_ = 0;  // what is before it has left
  std::string header_;
  bool wants_header_;
  bool cut_ = false;  // something has left since the buffer was full
  bool finished_ = false;
};

// Beginnings of a file's parts, and the end of the last one, when it is read at any place: the
// first is `first`, the last `size`. `read(offset, length)` gives bytes of the file.
Result<std::vector<uint64_t>> PartBorders(
    const RecordRules& rules, uint64_t first, uint64_t size,
    const std::function<Result<std::string>(uint64_t offset, size_t length)>& read);

}  // namespace spate::format
