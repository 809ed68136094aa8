// Output that is too long to go with its end: read from memory or its spool file piece by piece on
// one side, put together on the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/model/attempt.h"
#include "link/output_memory.h"
#include "os/fd.h"
#include "wire/messages.h"

namespace spate::link {

// The name of a stream's file that is handed over whole instead of sent, where both sides see the
// same folder: as shepherds call their spool files. Both sides remove it, the sender when its
// receiver needs it no more.
std::string HandoverName(const AttemptRef& ref, int stream);

// The sender's side: the streams of one Ends that are apart.
class OutputReader {
 public:
  // `most` bytes of a stream are sent. `handover`: a folder that the receiver takes files from; a
  // file that cannot be moved there is sent. Empty: there is none.
  explicit OutputReader(uint64_t most = UINT64_MAX, std::string handover = "")
      : most_(most), handover_(std::move(handover)) {}
  // The next piece, until the next call; nullopt: all are read. An output that cannot be read, or
  // is too long, must not hold its end back: it is cut there in `ends`, whose note says so, and an
  // attempt that succeeded has not.
  std::optional<wire::OutputPiece> Next(wire::Ends& ends);

 private:
  std::optional<wire::OutputPiece> Read(wire::Ends& ends, const OutputStream& stream);
  bool HandsOver(const wire::Ends& ends, const OutputStream& stream) const;
  void Cut(wire::Ends& ends, const std::string& why);
  size_t Seat() const { return static_cast<size_t>(stream_) - 1; }

  uint64_t most_;
  std::string handover_;
  size_t end_ = 0;
  uint8_t stream_ = 1;
  uint64_t offset_ = 0;
  os::Fd fd_;
  std::string part_;  // of the file
};

// The receiver's side, for one peer. It keeps the streams of one end at most, that which comes
// next.
class OutputSpool {
 public:
  // How much of its file system the files leave free: others need it, too (a hub's journal).
  struct Reserve {
    uint64_t bytes = 256u << 20;
    uint64_t of_total = 50;  // and no more than this part of it
  };
  // Files are PREFIXn, each with the first n that is free. Streams for which `memory` has room are
  // not in files; null: all are.
  explicit OutputSpool(std::string prefix, std::shared_ptr<OutputMemory> memory = nullptr)
      : OutputSpool(std::move(prefix), Reserve(), std::move(memory)) {}
  OutputSpool(std::string prefix, const Reserve& reserve,
              std::shared_ptr<OutputMemory> memory = nullptr)
      : prefix_(std::move(prefix)), reserve_(reserve), memory_(std::move(memory)) {}
  // The folder of an OutputReader on this machine, of the same user. A stream of which no piece
  // came is looked for there.
  void SetHandover(std::string folder) { handover_ = std::move(folder); }
  ~OutputSpool();
  OutputSpool(const OutputSpool&) = delete;
  OutputSpool& operator=(const OutputSpool&) = delete;

  // kCorrupt: it may not come now. Whether the stream is wanted is asked at its first piece: of one
  // that is not nothing is kept, and its end has no output. Nor is anything kept of a stream that
  // the disk does not take; but where it `may_wait`, kExhausted: there is no room, nothing has
  // changed, and the piece may be added later.
  Status Add(const wire::OutputPiece& piece, bool is_wanted = true, bool may_wait = false);
  // Gives the streams that came to the ends that they belong to; the last owner of such an output
  // removes its files. An end whose stream could not be kept says so in its note, and is no
  // success. kCorrupt when a stream is missing or left over.
  Status Claim(wire::Ends& ends);

 private:
  struct Stream {
    bool begun = false;
    std::string path;   // empty: there is no file
    std::string bytes;  // all, where there is none
    HeldMemory held;    // of `bytes`
    os::Fd fd;
    uint64_t size = 0;
    bool ignored = false;  // nobody wants it
    std::string trouble;   // why it cannot be kept; nothing of it is
    uint64_t checked = 0;  // up to this size there was room
  };
  Status Open(Stream& stream);
  bool StoreInMemory(Stream& stream, std::string_view bytes) const;
  Status Store(Stream& stream, const wire::OutputPiece& piece);
  Status CheckRoom(Stream& stream, uint64_t size) const;
  static void RemoveFile(Stream& stream);
  static void Drop(Stream& stream);
  bool IsEmpty() const;

  bool TakeOver(Stream& stream, const AttemptRef& ref, int number, uint64_t size) const;

  const std::string prefix_;
  const Reserve reserve_;
  const std::shared_ptr<OutputMemory> memory_;
  std::string handover_;  // empty: there is none
  uint64_t number_ = 0;
  AttemptRef ref_;
  std::array<Stream, kStreams> streams_;
};

}  // namespace spate::link
