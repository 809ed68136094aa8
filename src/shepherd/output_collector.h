// Collects an attempt's stdout and stderr, as far as they are not redirected to files.
//
// Two pipes, made once for each shepherd, serve one attempt after another: at the end of an
// attempt every process of it is dead, so reading until a pipe is empty gives all of its output
// and nothing else. Up to kInlineOutput bytes stay in memory; a longer stream goes to a spool
// file, whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/model/run_look.h"
#include "os/fd.h"
#include "shepherd/protocol.h"

namespace spate::shepherd {

// Reads a piece of a file with `total` bytes of a stream. Shorter when the file is.
StreamSoFar ReadPiece(int fd, uint64_t total, uint64_t from, uint32_t most);

class OutputCollector {
 public:
  // Makes a pipe; `target` (1 or 2) of this process becomes its writing end, for tasks to inherit.
  // Spool files go to `spool_folder`, named JOB-INDEX-ATTEMPT.out or .err.
  static Result<OutputCollector> Create(int target, const std::string& spool_folder);

  // The pipe becomes this user's, so that tasks may open it by name (/dev/stdout).
  void GiveTo(uint32_t user);
  // Before an attempt.
  void Begin(const AttemptRef& ref);
  // After Begin: what comes of this attempt goes there, and is neither kept nor counted. Empty: not
  // so.
  using Sink = std::function<void(std::string_view)>;
  void SendTo(Sink sink) { sink_ = std::move(sink); }

  struct Taken {
    size_t bytes = 0;   // 0: nothing there now
    bool full = false;  // there may be more
  };
  // Reads at most one buffer; `fresh` is what came, valid until the next call.
  Taken Read(std::string_view& fresh);
  // Reads the bytes that wait now, and no more, while writers go on. For each piece: fn(bytes).
  template <typename Fn>
  void DrainWaiting(Fn fn) {
    std::string_view fresh;
    for (size_t left = waiting(); left > 0; left -= std::min(left, fresh.size())) {
      if (Read(fresh).bytes == 0) return;
      fn(fresh);
    }
  }
  // The same, of what is no attempt's: how many bytes that were.
  uint64_t DropWaiting();
  // The same, with what came since Begin.
  uint64_t DropAll();
  // The rest, when all writers are dead. For each piece: fn(bytes).
  template <typename Fn>
  void Drain(Fn fn) {
    std::string_view fresh;
    while (Read(fresh).bytes > 0) fn(fresh);
    ResetFlags();
  }
  // Resets flags of the writing end to those that tasks shall find.
  void ResetFlags();
  // Puts this behind what came, as if the attempt had written it.
  void Add(std::string_view bytes);
  // Output collected from Begin to Drain; valid until Close. The reader owns the spool.
  StreamView view() const;
  // The reader alone has the spool from now on, so that its room is free once it removes it.
  void Close() { spool_.Reset(); }
  // A piece of what was collected since Begin, of at most `most` bytes.
  StreamSoFar SoFar(uint64_t from, uint32_t most) const;
  uint64_t total() const { return total_; }
  uint64_t stored() const { return stored_; }  // bytes of it that we have
  // Why a part of the output is missing, e.g. because the disk is full; empty when it is whole.
  const std::string& trouble() const { return trouble_; }
  bool met_full_disk() const { return full_; }
  // Removes the spool file of an attempt that nobody will hear of.
  void Discard();

  int fd() const { return read_.get(); }
  // Output that came is in a file, or lost, and not in memory.
  bool spooled() const { return spooled_; }

 private:
  OutputCollector(int target, const std::string& spool_folder, os::Fd read_end, int flags);
  void Store(std::string_view bytes);
  void Spool(std::string_view bytes);
  void Lose(std::string_view what);
  size_t waiting() const;  // bytes in the pipe

  int target_;
  std::string spool_folder_;
  os::Fd read_;
  int flags_;  // of the writing end, as tasks shall find it

  std::string inline_;  // all of the stream, until it is too long
  std::string head_;    // its beginning, when there is no spool file to hold it
  AttemptRef ref_;
  Sink sink_;
  std::string spool_path_;
  os::Fd spool_;
  bool spooled_ = false;
  bool full_ = false;    // the disk
  uint64_t total_ = 0;   // bytes that the attempt wrote
  uint64_t stored_ = 0;  // bytes that we have
  std::string trouble_;
};

}  // namespace spate::shepherd
