// Messages about PMIx: between the first process of a gang, the parts of the gang, and each part's
// server (the program spate-pmix).
//
//   message := word (" " word)* " " SIZE "\n", then SIZE bytes: the body
//
// From a part's server to the first process:
//   fence SET          body: data of the part's processes. SET: ranks as "0-3,5", ascending
//   get ID RANK        asks for what RANK has left for others
//   data ID STATUS     the answer to a `get` from the first process. body: the data
//   connected RANK, finalized RANK, abort RANK CODE
// From a part, about a process that has ended with exit code 0:
//   ended RANK
// From the first process to a part's server:
//   fenced SET STATUS  body: data of all processes of the set
//   get ID RANK, data ID STATUS
// STATUS is 0 for success.
//
// Between a part and its server only:
//   begin SPACE PART UID GID    body: for each part, in order, a line "NODE PROCESSES"
//   process RANK                body: what its environment needs, each "NAME=VALUE" and a NUL
//   ready
//   failed                      body: text for people; the server ends
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::remote {

inline constexpr uint64_t kPmixBodyMost = uint64_t{256} << 20;

struct PmixMessage {
  std::vector<std::string_view> words;  // at least one
  std::string_view body;
};
std::string FormatPmix(std::string_view words, std::string_view body = {});
// Bytes of the message with which `bytes` begins; 0: its size is not known yet. kCorrupt: no
// message begins so.
Result<uint64_t> SizeOfPmix(std::string_view bytes);
// Reads one whole message, whose size SizeOfPmix has told. Views into `bytes`.
PmixMessage ReadPmix(std::string_view bytes);

// Ranks as a set has them in messages: "0-3,5". `ranks` are ascending.
std::string FormatRanks(const std::vector<uint32_t>& ranks);
// Ranges of ranks below `limit`, ascending; nullopt: not a set, or an empty one.
struct RankRange {
  uint32_t first = 0, last = 0;
  friend bool operator==(const RankRange&, const RankRange&) = default;
};
std::optional<std::vector<RankRange>> ParseRanks(std::string_view text, uint32_t limit);
// A decimal number, all of `text`.
std::optional<uint32_t> ParseNumber(std::string_view text);

}  // namespace spate::remote
