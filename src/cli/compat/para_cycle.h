// What para does with a batch and the hub: looks what has become of it, and submits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/compat/batch_hub.h"
#include "cli/compat/para_batch.h"
#include "cli/compat/para_folder.h"
#include "cli/compat/para_options.h"

namespace spate::cli {

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

  // Reads the batch.
  Status Load();
  // Asks the hub, and takes what has ended since; messages of failed checks are kept for
  // TellChecks. After an error a later Look finds all of it.
  Status Look();
  // Whether all ends are in para.results: an error when there is no such file and it cannot be
  // made. Until then what has ended cannot be told from what is lost.
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
  Result<Pushed> Push();
  void TellPushed(const Pushed& pushed) const;
  // Writes the batch, if it has changed since it was read or written. For who holds its lock.
  Status Save();

  ParaBatch& batch() { return batch_; }
  const BatchHub::State& state() const { return state_; }
  BatchHub& hub() { return parts_.hub; }
  const ParaOptions& options() const { return parts_.options; }
  Instant now() const { return parts_.now(); }
  int64_t seconds() const { return now().ns / 1'000'000'000; }
  // Whether something was found out that a later look at the same files could not.
  bool checked() const { return checked_; }
  // Open submissions that the hub does not have, or all of them, leave the batch.
  void DropLost();
  void DropAll();
  void ChangeJobs(const std::function<void(format::ParasolJob&)>& change);
  // Writes into the batch what waits and runs, for reports.
  void Mark() { batch_.Mark(state_, seconds(), parts_.options.warn_minutes); }

 private:
  // With -verbose=2: how long a step took, or what came before it.
  void TellTime(std::string_view step);
  Status TakeSubmitted();
  Status TakeResults();
  Result<uint64_t> Submit(const std::vector<uint32_t>& jobs);

  Parts parts_;
  ParaBatch batch_;
  ParaMarks marks_;
  BatchHub::State state_;
  Instant step_began_;
  std::vector<std::string> messages_;
  Status caught_up_;
  bool changed_ = false, checked_ = false;
  bool forgotten_ = false;  // the hub knows less than it once did
};

// One push, and all that it tells. A sick batch gets nothing.
Status PushOnce(ParaCycle& cycle);

}  // namespace spate::cli
