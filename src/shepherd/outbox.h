// Reports on their way from a shepherd to its parent. For a node it keeps each end until it hears
// that the hub has it, so that the node's process may be killed in between.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "shepherd/protocol.h"

namespace spate::shepherd {

class Outbox {
 public:
  // Ends are kept from now on.
  void KeepEnds() { keeps_ = true; }

  // A report other than an end is appended to this.
  std::string& Add() { return bytes_; }
  void AddEnd(const AttemptEnd& end, const StreamView& out, const StreamView& err,
              const StreamView& files = {});

  // The parent needs this end no more. Unknown ones are ignored.
  void Taken(const AttemptRef& ref);
  size_t kept() const { return ends_.size(); }
  // The frames of all ends that are kept, as Begin and the file of kept ends have them.
  std::string KeptFrames() const;

  size_t unsent() const { return bytes_.size() - sent_; }
  enum class Sent { kAll, kFull, kGone };
  // Sends as much as the socket takes.
  Sent Send(int socket);

  // The parent is gone: what was for it alone is forgotten.
  void Forget();
  // A new parent: the report for it, and then all kept ends.
  void Begin(Adopted adopted);

 private:
  struct End {
    AttemptRef ref;
    std::string frame;
  };
  bool keeps_ = false;
  std::deque<End> ends_;  // in the order in which they came
  std::string bytes_;
  size_t sent_ = 0;
};

}  // namespace spate::shepherd
