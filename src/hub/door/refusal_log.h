// RefusalLog: tells whoever looks after a hub whom it refused, without letting strangers fill the
// log: the same refusal of the same user or address is told once in ten minutes, with how often it
// came, and of all at most so many.
//
// Thread: one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/time.h"

namespace spate::hub {

class RefusalLog {
 public:
  // `peer` as of link::Guest; `user` where the system knows them, else empty.
  void Add(Instant now, const std::string& peer, const std::string& user, const std::string& reason,
           const std::function<void(std::string)>& log);

 private:
  void Begin(Instant now, const std::function<void(std::string)>& log);

  std::map<std::pair<std::string, std::string>, uint64_t> told_;  // by who and why; how often
  uint64_t more_ = 0;                                             // that had no place in there
  Instant begun_;
};

}  // namespace spate::hub
