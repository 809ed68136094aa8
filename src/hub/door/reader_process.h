// ReaderProcesses: a hub's journal is read for its clients by processes, one for each answer
// (history/reader_end.h). So the hub's loop never waits for a disk, and a slow client holds up its
// reader alone.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hub/journal_reader.h"
#include "os/real_loop.h"

namespace spate::hub {

class ReaderProcesses final : public JournalReader {
 public:
  // `command` starts a reader; the user who asks, and "admin" or "user", are its last arguments, or
  // a job's number and "keep". The loop outlives this and all answers.
  ReaderProcesses(os::RealLoop& loop, std::vector<std::string> command)
      : loop_(loop), command_(std::move(command)) {}
  Result<std::unique_ptr<JournalAnswer>> Start(const Caller& caller, const wire::Request& request,
                                               Events events) override;
  // Implements ReplayKeeper::Keep by a process that gives way to all others.
  std::unique_ptr<JournalAnswer> Keep(JobId job, std::function<void()> done);

 private:
  os::RealLoop& loop_;
  const std::vector<std::string> command_;
};

}  // namespace spate::hub
