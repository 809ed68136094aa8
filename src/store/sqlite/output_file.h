// OutputFile: the stream file of a job. Appended by the store's thread ahead of the rows that point
// into it, synced with them, read back by position.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/model/attempt.h"
#include "os/file.h"
#include "store/attempt_entry.h"

namespace spate::store {

// A stream of at most kWholeStream bytes is kept whole, a longer one by its first and last
// kStreamEnd bytes.
inline constexpr uint64_t kStreamEnd = 64 << 10;
inline constexpr uint64_t kWholeStream = 2 * kStreamEnd;
constexpr uint64_t KeptOf(uint64_t total) { return total < kWholeStream ? total : kWholeStream; }

class OutputFile {
 public:
  // `limit`: once the file is so long, nothing more is kept.
  OutputFile(std::string path, uint64_t limit) : path_(std::move(path)), limit_(limit) {}

  // Opens or makes it, and cuts it back to (or fills it up to) `end`, the last durable position.
  Status Open(uint64_t end);
  // Takes what is to be kept of an attempt's output into the buffer, and writes large pieces.
  // Nothing is kept of a spool file that cannot be read.
  Result<KeptOutput> Add(const TaskOutput& output);
  // Writes and syncs what was added. Costs nothing when nothing was.
  Status Sync();
  uint64_t end() const { return end_; }

 private:
  Status Flush();
  Result<uint64_t> AddStream(const OutputStream& stream);

  std::string path_;
  uint64_t limit_;
  os::Fd fd_;
  std::string buffer_;
  uint64_t written_ = 0;  // bytes in the file
  uint64_t end_ = 0;      // with the buffer
  uint64_t synced_ = 0;
};

}  // namespace spate::store
