// Input and output of an attempt's commands, apart from links: the files that it names, and the
// pipes of this process, whose output is collected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.h"
#include "shepherd/outbox.h"
#include "shepherd/output_collector.h"
#include "shepherd/protocol.h"
#include "shepherd/pulse.h"
#include "shepherd/rank_outputs.h"
#include "shepherd/spawn.h"
#include "shepherd/user_files.h"

namespace spate::shepherd {

// Nanoseconds. A short task's output is read once, when it has ended; a longer one's from this age
// on, and after little came not before so much later. Never less than the kernel's tick (4 ms), see
// kReportsWait in shepherd_main.cc.
inline constexpr int64_t kPipeRest = 5'000'000;

class Streams {
 public:
  // Makes the pipes that become 1 and 2 of this process. Live output goes to `outbox`.
  static Result<Streams> Create(const std::string& spool_folder, Outbox& outbox, Pulse pulse);

  // The pipes become this user's.
  void ServeUser(uint32_t user);
  // Begins a fresh attempt; all must live until Close. Files are opened by way of `files`. Trouble
  // becomes a part of the end's note.
  void Begin(const StartView& view, const JobOpening& job, UserFiles& files, AttemptEnd& end,
             int64_t now);
  // Ours. Files for the output of each rank of a gang, where there are several.
  std::optional<StartFailure> OpenRanks();
  // The files that it names; with the user's rights. Those that are open already stay.
  std::optional<StartFailure> OpenFiles();
  // Sets 0, 1 and 2 of the attempt's command of this number.
  void GiveTo(Program& program, size_t command) const;
  // The limit of open files for a rank; nullopt: as for this process.
  std::optional<uint64_t> files_of_ranks() const { return ranks_.files_of_ranks(); }

  // Reads what is there of stream 1 or 2.
  void OnPipe(int stream, int64_t now);
  // The pipe's descriptor, when it should be polled now, else -1; PipeToPoll changes its mind at
  // NextLook, which is in the past when it does not.
  int PipeToPoll(int stream, int64_t now) const;
  int64_t NextLook(int64_t now) const;
  // Nothing of it is to be polled yet, as it has begun so lately.
  bool AreYoung(int64_t now) const { return now < poll_at_[0] && now < began_at_ + kPipeRest; }

  // For the file that stderr goes to, where it goes to one: what a command could not say, as it was
  // not started. For others it is in the note.
  void Complain(std::string_view line);
  // For stderr, behind what the commands will have written.
  void AddLastWords(std::string_view text) { last_words_ += text; }
  // Reads what a process that goes on has written until now.
  void DrainWaiting();
  // For an attempt in hand, the wanted piece of each stream, or the file that it goes to.
  void SoFar(const RunWish& wish, uint32_t rank, RunLook& look);
  // The same, when it was written between two attempts: it is of neither. Bytes.
  uint64_t DropWaiting();
  // All that came since Begin turned out not to be the attempt's. Bytes.
  uint64_t DropAll();
  // No process is left that has changed them on purpose.
  void ResetFlags();
  // Adds a process's result to stdout, after what it has written.
  void AddResult(std::string_view bytes);
  // All processes are dead: takes the rest.
  void Drain();
  void SayLastWords();
  void CloseInput() { files_->Close(std::move(in_file_)); }
  void CloseFiles();
  // Adds to the end what was received, and what is missing.
  void AddTo(AttemptEnd& end) const;
  // A part of the output could not be kept; AddTo reports why.
  bool HasLostOutput() const { return !out_.trouble().empty() || !err_.trouble().empty(); }
  bool MetFullDisk() const { return out_.met_full_disk() || err_.met_full_disk(); }
  uint64_t total() const { return out_.total() + err_.total(); }
  // Each rank's part of it, in a gang.
  void TellRanks(AttemptEnd& end) const;
  StreamView out() const { return out_.view(); }
  StreamView err() const { return err_.view(); }
  // The end with these views is on its way.
  void CloseSpools() {
    out_.Close();
    err_.Close();
  }
  // Nobody will hear of the attempt.
  void Discard();

 private:
  Streams(OutputCollector out, OutputCollector err, const std::string& spool_folder, Outbox& outbox,
          Pulse pulse);
  std::optional<StartFailure> OpenFile(const char* path, int flags, const char* what, os::Fd& fd);
  void KeepStderr(std::string_view bytes);  // late_stderr
  void PassOn(int stream, std::string_view bytes);
  bool BothToOneFile() const;

  OutputCollector out_;
  OutputCollector err_;
  RankOutputs ranks_;
  std::vector<RankOutputs::Lengths> lengths_;  // by rank, once all is there
  std::string spool_folder_;
  Outbox* outbox_;
  Pulse pulse_;
  const StartView* view_ = nullptr;
  const JobOpening* job_ = nullptr;
  UserFiles* files_ = nullptr;
  AttemptEnd* end_ = nullptr;
  os::Fd in_file_;
  os::Fd out_file_;
  os::Fd err_file_;
  bool late_stderr_failed_ = false;
  std::string last_words_;
  int64_t began_at_ = 0;
  int64_t poll_at_[2] = {0, 0};  // pipes are read from then on
};

}  // namespace spate::shepherd
