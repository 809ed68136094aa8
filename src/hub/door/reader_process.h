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
  using Rows = const wire::QuestionRow* (*)(uint32_t number);
  // `rows` finds what readers answer. `command` starts one; the user who asks, and "admin" or
  // "user", are its last arguments, or a job's number and "keep". The loop outlives this and all
  // answers.
  ReaderProcesses(os::RealLoop& loop, std::vector<std::string> command, Rows rows)
      : loop_(loop), command_(std::move(command)), rows_(rows) {}
  const wire::QuestionRow* RowOf(uint32_t number) const override { return rows_(number); }
  Result<std::unique_ptr<JournalAnswer>> Start(const Caller& caller, const wire::Request& request,
                                               Events events) override;
  // Implements ReplayKeeper::Keep by a process that gives way to all others.
  std::unique_ptr<JournalAnswer> StoreState(JobId job, std::function<void()> done);

 private:
  os::RealLoop& loop_;
  const std::vector<std::string> command_;
  const Rows rows_;
};

}  // namespace spate::hub
