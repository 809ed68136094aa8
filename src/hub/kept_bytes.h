// KeptBytes: the bytes that the hub may still keep of each user's jobs (UserRule::max_output),
// arriving jobs included. Each arriving part reduces the rest. When the rest is used up, and before
// a job is accepted, the journal is read again for the kept bytes: a restart changes nothing.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace spate::hub {

class KeptBytes {
 public:
  // Reads JobReader::KeptOf when all earlier changes are durable; `done` is called later.
  using Read = std::function<void(const std::string& user, std::set<JobId> arriving,
                                  std::function<void(Result<uint64_t>)> done)>;
  explicit KeptBytes(Read read) : read_(std::move(read)) {}

  // Part of an upload.
  struct Part {
    std::string user;
    JobId job;
    uint64_t most = 0;       // UserRule::max_output
    uint64_t bytes = 0;      // as they came
    uint64_t in_memory = 0;  // of them, those that the journal gets only with the job
    bool is_last = false;
  };
  // True: the part may be kept. False: `done` is called later, with kBusy if it may not be kept.
  bool Admit(const Part& part, std::function<void(Status)> done);
  // Ends an upload, which was accepted or dropped. Returns the bytes that were left when the last
  // part was taken; UINT64_MAX: no part was taken.
  uint64_t Leave(const std::string& user, JobId job);

 private:
  struct Waiter {
    Part part;
    std::function<void(Status)> done;
  };
  struct Account {
    uint64_t left = 0;
    std::map<JobId, uint64_t> arriving;  // with their bytes in memory
    std::deque<Waiter> waiting;          // for the journal
  };
  void ReadKept(const std::string& user);
  void Counted(const std::string& user, const Result<uint64_t>& kept);
  static void Charge(Account& account, const Part& part);

  const Read read_;
  std::map<std::string, Account> accounts_;  // of users with uploads under way
};

}  // namespace spate::hub
