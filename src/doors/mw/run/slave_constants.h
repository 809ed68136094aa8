// SlaveConstants: constants that tasks of this slave have needed, until their master drops them.
// The first task that needs one asks for it; it waits on its own thread until all pieces have come,
// and so do others that need the same.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <spate/mw.h>

#include "base/ids.h"
#include "doors/mw/formats/packet.h"
#include "wire/messages.h"

namespace spate::mw {

class SlaveConstants {
 public:
  // ---- The network's thread
  // From now on constants are of another master; all others are gone. `ring` is called on other
  // threads when there may be something for Wants, and must not call back.
  void Begin(std::function<void()> ring);
  // No constant comes any more.
  void End();
  // Pieces to ask for now. One constant comes at a time, and a few pieces of it are on their way.
  std::vector<wire::WantPiece> Wants();
  // A piece, or the end of a constant. False: it is about something else.
  bool Accept(wire::ToNode& message);

  // ---- The slave's threads
  // Waits until all are here, in `held`. Empty; or why that cannot be, for people. `stopped`: the
  // task is not wanted any more; Wake when that may have changed.
  std::string Await(std::span<const NamedConstant> named, detail::constant_list& held,
                    const std::function<bool()>& stopped);
  // On any thread.
  void Wake();

 private:
  struct Fetch {
    uint64_t id = 0;
    uint64_t size = 0;
    std::string bytes;   // so far
    uint32_t asked = 0;  // pieces
    uint32_t got = 0;
    std::shared_ptr<detail::constant_value> whole;  // null: not yet
    std::string trouble;                            // why it never will be; empty: it may be
  };
  std::shared_ptr<Fetch> FetchOf(const NamedConstant& named);
  void Add(wire::PutPiece& piece);
  void Fail(JobId number, std::string why);
  void FailAll(const std::string& why);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<JobId, std::shared_ptr<Fetch>> all_;
  std::deque<JobId> queue_;  // of these, those that are not whole; the first one is on its way
  uint32_t open_ = 0;        // questions without an answer, also of what was given up since
  std::function<void()> ring_;
};

}  // namespace spate::mw
