// para's work with a batch and the hub: it updates the batch's state, and submits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/parasol/programs/batch_hub.h"
#include "doors/parasol/programs/para_batch.h"
#include "doors/parasol/programs/para_folder.h"
#include "doors/parasol/programs/para_options.h"

namespace spate::parasol {

inline constexpr std::string_view kSickBatch =
    "Sick batch! Correct problem and then run para clearSickNodes.";

class ParaCycle {
 public:
  struct Parts {
    const ParaOptions& options;
    ParaFolder& folder;
    BatchHub& hub;
    WhyFileFails why_file_fails;
    std::function<Instant()> now;
  };
  explicit ParaCycle(Parts parts) : parts_(std::move(parts)), batch_({}, parts_.options.tries) {}

  // Nobody else changes the batch until EndTurn. Waits for another one that does; kBusy: Ctrl-C.
  // Changes that others have written since the batch was read are read again.
  Status TakeTurn();
  void EndTurn() { parts_.folder.Unlock(); }
  // Reads the batch.
  Status Load();
  void TellJobs() const;
  // The command by which another para, since this one has read the batch, told all to start no more
  // jobs; empty: none did. As of the last turn, or of SeeHalt.
  const std::string& halted_by() const { return halted_by_; }
  Error HaltError();
  Status SeeHalt();
  // Tells that to the others; in a turn.
  Status Halt();
  // Asks the hub, and takes what has ended since; messages of failed checks are kept for
  // TellChecks. After an error a later Refresh finds all of it.
  enum class For : uint8_t { kChange, kReport };
  Status Refresh(For what = For::kChange);
  // Success once all ends are in para.results; an error when that file cannot be made. Until then
  // ended jobs cannot be told from lost ones.
  const Status& caught_up() const { return caught_up_; }
  void TellQueue() const;
  void TellHeld() const;
  void TellChecks();
  // Ends what runs for longer than -killTime.
  Status GiveUpHung();
  // How many jobs the next push may submit; some of them have to wait for one.
  uint64_t MostPushed() const;
  struct Pushed {
    uint64_t jobs = 0, retries = 0;
  };
  // In a turn; with -delayTime others may have theirs between two submissions.
  Result<Pushed> Push();
  void TellPushed(const Pushed& pushed) const;
  // Writes the batch, if it has changed since it was read or written. In a turn.
  Status Save();

  ParaBatch& batch() { return batch_; }
  const BatchHub::State& state() const { return state_; }
  BatchHub& hub() { return parts_.hub; }
  const ParaFolder& folder() const { return parts_.folder; }
  const ParaOptions& options() const { return parts_.options; }
  Instant now() const { return parts_.now(); }
  int64_t seconds() const { return now().ns / 1'000'000'000; }
  // True if something was found out that a later look at the same files could not.
  bool checked() const { return checked_; }
  // Open submissions that the hub does not have, or all of them, leave the batch.
  void DropLost();
  void DropAll();
  void ChangeJobs(const std::function<void(ParasolJob&)>& change);
  // Writes into the batch what waits and runs, for reports.
  void Mark() {
    const bool slow = batch_.Mark(state_, seconds(), parts_.options.warn_minutes);
    changed_ |= slow;
    checked_ |= slow;
  }

 private:
  // With -verbose=2: how long a step took, or what came before it.
  void TellTime(std::string_view step);
  Status AcceptSubmitted();
  Status AcceptResults();
  Status LookAsReader();
  Result<uint64_t> Submit(const std::vector<uint32_t>& jobs);
  Status LetOthers();

  Parts parts_;
  ParaBatch batch_;
  ParaMarks marks_;
  BatchHub::State state_;
  Instant step_began_;
  std::vector<std::string> messages_;
  Status caught_up_;
  bool loaded_ = false;
  std::string halted_by_;
  bool changed_ = false, checked_ = false;
  bool forgotten_ = false;  // the hub knows less than it once did
};

// Until nobody else changes the batch; `command` is told to those who wait for us.
Status WaitForTurn(const ParaOptions& options, ParaFolder& folder, BatchHub& hub);

// One push, and all that it tells. A sick batch gets nothing.
Status PushOnce(ParaCycle& cycle);
// para shove: pushes a loaded batch until it is done. 0 when all jobs are done, 130 after Ctrl-C;
// an error when a job has failed in all its tries, or the batch is sick for the third time. The hub
// may go away and come back after the first push.
Result<int> Shove(ParaCycle& cycle);

}  // namespace spate::parasol
