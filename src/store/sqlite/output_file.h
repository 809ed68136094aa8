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
#include "store/kept_output.h"

namespace spate::store {

// The kept part of a stream that is longer than kWholeStream and exceeds the rest of the job's
// limit: its first and last kStreamEnd bytes.
inline constexpr uint64_t kStreamEnd = 64 << 10;  // also the block of a checksum
inline constexpr uint64_t kWholeStream = 2 * kStreamEnd;
constexpr uint64_t KeptOf(uint64_t total) { return total < kWholeStream ? total : kWholeStream; }

class OutputFile {
 public:
  // `limit`: once the file is so long, nothing more is kept (JobRow::keep_output).
  OutputFile(std::string path, int64_t limit) : path_(std::move(path)), limit_(limit) {}

  // Opens or makes it, and cuts it back to (or fills it up to) `end`, the last durable position.
  Status Open(uint64_t end);
  bool is_open() const { return fd_.valid(); }
  // Gives up the descriptor and the buffer, which must have been synced.
  void Close();
  void SetLimit(int64_t limit) { limit_ = limit; }
  // Takes what is to be kept of an attempt's output into the buffer, and writes large pieces.
  // Nothing is kept of a stream whose spool file cannot be read; files that a task brings home are
  // kept whole, whatever the limit, and there it is an error.
  Result<KeptOutput> Add(const TaskOutput& output);
  NotKept why() const { return why_; }  // the last Add did not keep all, where that is known
  // Writes and syncs what was added. Costs nothing when nothing was.
  Status Sync();
  // Back to the last Sync.
  Status DropUnsynced() { return is_synced() ? Status() : CutBackTo(synced_); }
  // Bytes of the disk's blocks that it takes.
  Result<uint64_t> OnDisk() const;
  uint64_t end() const { return end_; }
  bool is_synced() const { return end_ == synced_; }

 private:
  Status Flush();
  Status AddOutput(const TaskOutput& output, KeptOutput& kept);
  Result<uint64_t> AddStream(const OutputStream& stream, std::string& sums);
  Result<uint64_t> AddWhole(const OutputStream& stream, std::string& sums);
  Status AddEnds(const TaskOutput& output, KeptOutput& kept);
  Status CutBackTo(uint64_t end);

  std::string path_;
  int64_t limit_;
  NotKept why_ = NotKept::kNone;
  os::Fd fd_;
  std::string buffer_;
  uint64_t written_ = 0;  // bytes in the file
  uint64_t end_ = 0;      // with the buffer
  uint64_t synced_ = 0;
};

// Reads kept output back.
class OutputReader {
 public:
  explicit OutputReader(std::string path) : path_(std::move(path)) {}

  // Visits the bytes in `part`. kCorrupt: they are missing, or those of a whole stream do not match
  // its checksum; the last piece is then not visited.
  Result<OutputExtent> Read(const AttemptEntry& attempt, Stream stream, const OutputVisitor& visit,
                            OutputPart part = {});
  // Checks that all output of an attempt can be read back as it was.
  Status Check(const AttemptEntry& attempt);

 private:
  std::string path_;
  os::Fd fd_;  // opened by the first read that needs it
};

}  // namespace spate::store
