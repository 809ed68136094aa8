// Asks nodes at their ports (node/port.h), many at once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "access/access_file.h"
#include "base/result.h"
#include "client/session.h"
#include "os/real_loop.h"

namespace spate::parasol {

// Calls `start(i, done)` for each i below `count`, at most so many at once, until all have called
// their `done`; runs the loop meanwhile.
void ForEachAtOnce(os::RealLoop& loop, size_t count, size_t most,
                   const std::function<void(size_t, std::function<void()>)>& start);

// One question; `done` is called once by the loop, with the bytes of its answer (none: it has none
// but that it is done), and may destroy it.
class NodeAsker {
 public:
  using Done = std::function<void(Result<std::string>)>;
  NodeAsker(os::RealLoop& loop, access::Access access, wire::Question question, Done done);
  NodeAsker(const NodeAsker&) = delete;
  NodeAsker& operator=(const NodeAsker&) = delete;

 private:
  void SendQuestion();
  void Heard();
  void Finish(Result<std::string> result);

  const wire::Question asked_;
  Done done_;
  std::string told_;
  client::Session session_;
  std::unique_ptr<client::Exchange> question_;
};

}  // namespace spate::parasol
