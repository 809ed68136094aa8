// Output that is too long to go with its end: read from its spool file piece by piece on one side,
// put together in one on the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/model/attempt.h"
#include "os/fd.h"
#include "wire/messages.h"

namespace spate::link {

// The sender's side: the spooled streams of one Ends.
class OutputReader {
 public:
  // The next piece; nullopt: all are read. An output that cannot be read must not hold its end
  // back: it is cut there in `ends`, whose note says so.
  std::optional<wire::OutputPiece> Next(wire::Ends& ends);

 private:
  std::optional<wire::OutputPiece> Read(wire::Ends& ends, const OutputStream& stream);
  void Cut(wire::Ends& ends, const std::string& why);
  size_t Place() const { return static_cast<size_t>(stream_) - 1; }

  size_t end_ = 0;
  int stream_ = 1;
  uint64_t offset_ = 0;
  os::Fd fd_;
};

// The receiver's side, for one peer. It keeps the streams of one end at most, that which comes
// next.
class OutputSpool {
 public:
  // Files are PREFIXn, each with the first n that is free.
  explicit OutputSpool(std::string prefix) : prefix_(std::move(prefix)) {}
  ~OutputSpool();
  OutputSpool(const OutputSpool&) = delete;
  OutputSpool& operator=(const OutputSpool&) = delete;

  // kCorrupt: it may not come now; other errors are the disk's. Whether the stream is wanted is
  // asked at its first piece: of one that is not nothing is kept, and its end has no output.
  Status Add(const wire::OutputPiece& piece, bool is_wanted = true);
  // Gives the streams that came to the ends that they belong to; the last owner of such an output
  // removes its files. kCorrupt when one is missing or left over.
  Status Claim(wire::Ends& ends);

 private:
  struct Stream {
    std::string path;  // empty: there is none
    os::Fd fd;
    uint64_t size = 0;
    bool ignored = false;  // nobody wants it
  };
  Status Begin(Stream& stream);
  static void Drop(Stream& stream);
  bool IsEmpty() const;

  const std::string prefix_;
  uint64_t number_ = 0;
  AttemptRef ref_;
  std::array<Stream, kStreams> streams_;
};

}  // namespace spate::link
