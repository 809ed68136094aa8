// PipeInput: takes in what comes on standard input while its tasks run (--pipe). Each block is a
// file in the job's folder, durable before its task is added; BlockView removes it when its task
// has succeeded. Memory and disk are bounded: it reads on only while few blocks wait.
//
// After a kill the same input may be given again: what was taken is compared (by length and hash)
// and passed over. The file "end" says how many tasks the whole input is, its bytes and their hash:
// by these an input that is given once more is known when nothing of it is left to take.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/input_row.h"
#include "format/records.h"
#include "os/aside.h"
#include "os/real_loop.h"
#include "view/run_view.h"

namespace spate::run {

// True if the input was taken whole, by the folder of its blocks: `tasks` are all of it.
bool InputIsWhole(const std::string& folder, uint64_t tasks);
// Checks that `fd` gives what was taken whole, or nothing at all; reads it to its end, or until it
// is longer. kInvalid: it is another input.
Status CheckSameInput(int fd, const std::string& folder);

// `spate __part HEADER OFFSET LENGTH FILE`: the first command of a task of --pipepart, which gives
// the task its part of the file (format/input_row.h). The exit code when this process was started
// as one, else nothing.
std::optional<int> PartEntry(int argc, char** argv);

class InputSum;

class PipeInput {
 public:
  struct Taken {  // a block of an earlier run
    uint64_t length = 0;
    uint64_t hash = 0;
  };
  struct Plan {
    int fd = 0;
    std::string folder;  // there
    format::RecordRules rules;
    uint32_t deal = 0;         // --round-robin: to so many tasks; 0: a task for each block
    uint64_t bytes_ahead = 0;  // of blocks whose tasks have not ended
    std::vector<Taken> taken;  // in order
  };
  struct Sink {
    std::function<void(std::vector<std::string> rows)> add;  // further tasks; blocks are durable
    std::function<void()> end;                               // no more come; that is durable
    std::function<void(const Error&)> wrong;                 // nothing more is taken
  };
  // References outlive it.
  PipeInput(os::RealLoop& loop, Plan plan, Sink sink);
  ~PipeInput();
  PipeInput(const PipeInput&) = delete;
  PipeInput& operator=(const PipeInput&) = delete;

  // A task has ended; its block waits no more.
  void OnEnded(TaskIndex index);

 private:
  struct Block {
    format::InputRow row;
    uint64_t number = 0;  // of its file
    std::string bytes;
  };
  bool Full() const;
  void Watch();
  void Read();
  void AcceptBlocks();
  Status AcceptBlock(std::string bytes);
  std::unexpected<Error> EndsBefore() const;
  void Write();
  void OnWritten(const Result<bool>& written);
  void AddTasks(std::vector<Block> blocks);
  void Stop();
  void Fail(const Error& error);

  os::RealLoop& loop_;
  const Plan plan_;
  const Sink sink_;
  format::BlockCutter cutter_;
  std::unique_ptr<InputSum> sum_;  // of all that was read
  uint64_t offset_ = 0;            // of the next block, in the input
  uint64_t next_ = 0;              // number of blocks so far
  std::vector<Block> group_;
  uint64_t group_bytes_ = 0;
  std::vector<Block> writing_;  // without their bytes
  std::unique_ptr<os::Aside<bool>> writer_;
  std::vector<uint64_t> dealt_;    // --round-robin: bytes of each task
  std::vector<uint64_t> lengths_;  // of blocks that were added here, from first_added_ on
  uint64_t first_added_ = 0;
  uint64_t waiting_blocks_ = 0;
  uint64_t waiting_bytes_ = 0;
  bool watching_ = false;
  bool at_end_ = false;  // nothing more comes
  bool ended_ = false;   // and that is written, too
  bool broken_ = false;
};

// Passes everything on, and sees to blocks.
class BlockView final : public cli::RunView {
 public:
  BlockView(std::unique_ptr<cli::RunView> inner, std::string folder,
            std::function<void(TaskIndex)> on_ended)
      : inner_(std::move(inner)), folder_(std::move(folder)), on_ended_(std::move(on_ended)) {}

  void OnStart(const cli::RunStart& start) override { inner_->OnStart(start); }
  void OnEnded(const cli::TaskEnded& ended) override;
  void OnLive(const AttemptRef& ref, int stream, std::string_view bytes) override {
    inner_->OnLive(ref, stream, bytes);
  }
  void OnNews(const cli::News& news, Instant now) override { inner_->OnNews(news, now); }
  void Tick(Instant now, uint32_t running) override { inner_->Tick(now, running); }
  void OnFinish(const cli::RunFinish& finish) override { inner_->OnFinish(finish); }

 private:
  std::unique_ptr<cli::RunView> inner_;
  std::string folder_;
  std::function<void(TaskIndex)> on_ended_;
};

}  // namespace spate::run
