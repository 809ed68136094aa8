// Common parts of the tests of ProcessExecutor: a loop, an executor over real shepherds, and a
// record of all its events.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/model/run_look.h"
#include "node/process_executor.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/temp_dir.h"
#include "shepherd/process_tree.h"
#include "wire/field_bytes.h"

namespace spate::node {

inline constexpr Duration kDeadline = Duration::Seconds(30);

// Processes whose command line has `mark` in it.
inline std::vector<pid_t> Marked(const std::string& mark) {
  std::vector<pid_t> found;
  for (pid_t pid : shepherd::AllProcesses()) {
    auto line = os::ReadFile(fmt::format("/proc/{}/cmdline", pid), 1 << 16);
    if (line && line->find(mark) != line->npos && pid != getpid()) found.push_back(pid);
  }
  return found;
}

// Has the executor look at an attempt. What is no look is told as a hub does.
inline void LookAt(ProcessExecutor& executor, const AttemptRef& ref, uint32_t rank,
                   const RunWish& wish, std::function<void(RunLook)> told) {
  auto bytes = std::make_shared<std::string>();
  executor.Query(
      {.ref = ref, .rank = rank, .question = RunWish::kNumber, .body = wire::BytesOf(wish)},
      [told = std::move(told), bytes](const wire::AnswerPiece& piece) {
        EXPECT_LE(piece.bytes.size(), wire::kAnswerPiece);
        *bytes += piece.bytes;
        if (piece.kind == wire::AnswerKind::kMore) return;
        if (piece.kind == wire::AnswerKind::kNotStarted) {
          return told({.standing = RunLook::Standing::kNotStarted});
        }
        if (piece.kind == wire::AnswerKind::kEnded)
          return told({.standing = RunLook::Standing::kEnded});
        if (piece.kind != wire::AnswerKind::kDone) return told({.why = *bytes});
        auto look = wire::FromBytes<RunLook>("the look", *bytes);
        EXPECT_TRUE(look.has_value());
        told(look.value_or(RunLook()));
      });
}

// Looks again until `done` or the deadline.
template <typename Fn>
bool Until(Duration patience, Fn done) {
  int64_t until = os::MonotonicNanos() + patience.ns;
  while (!done()) {
    if (os::MonotonicNanos() > until) return false;
    poll(nullptr, 0, 2);
  }
  return true;
}

// Exactly one process has `mark` in its command line. One that is between two programs has no
// words for a moment, so this looks again.
inline bool OneIsMarked(const std::string& mark) {
  return Until(Duration::Seconds(20), [&] { return Marked(mark).size() == 1; });
}

// Every way to run away from a parent, as shell text. MARK is seen in the command line.
inline const std::map<std::string, std::string>& WaysToRunAway() {
  static const std::map<std::string, std::string> ways = {
      {"background", "sleep 9999.MARK &"},
      {"double fork", "(sleep 9999.MARK &)"},
      {"nohup", "nohup sleep 9999.MARK >/dev/null 2>&1 &"},
      {"setsid", "setsid sleep 9999.MARK </dev/null >/dev/null 2>&1 &"},
      {"setsid and double fork", "setsid sh -c '(setsid sleep 9999.MARK &)' &"},
      {"empty environment", "env -i setsid sleep 9999.MARK &"},
      {"ignoring signals", "sh -c 'trap \"\" TERM HUP INT; sleep 9999.MARK' &"},
      {"a tree",
       "for i in 1 2 3; do sh -c 'for j in 1 2 3; do sleep 9999.MARK & done; wait' & done"},
      {"stopped", "sleep 9999.MARK & kill -STOP $!"},
  };
  return ways;
}

inline std::string WithMark(std::string text, const std::string& mark) {
  for (size_t at = 0; (at = text.find("MARK", at)) != text.npos; at += mark.size()) {
    text.replace(at, 4, mark);
  }
  return text;
}

inline TaskBody Shell(std::string text) {
  TaskBody body;
  body.steps = {{{{{"/bin/sh", "-c", std::move(text)}}}}};
  return body;
}

// A process that takes task after task and runs what it is given, so that each task says what it
// does. A shell reads a pipe byte by byte, so nothing is read ahead.
inline constexpr const char* kResidentShell =
    "answer() { printf 'done %s %s %s\\n%s' $id $1 ${#2} \"$2\" >&4; }\n"
    "while read word id index attempt length <&3; do\n"
    "  eval \"$(head -c $length <&3)\"\n"
    "done\n";

inline TaskBody Given(std::string task, std::string worker = kResidentShell) {
  TaskBody body;
  body.steps = {{{{{"/bin/sh", "-c", std::move(worker)}}}}};
  body.resident = true;
  body.input = std::move(task);
  return body;
}

inline TaskBody Plain(std::vector<std::string> argv) {
  TaskBody body;
  body.steps = {{{{std::move(argv)}}}};
  return body;
}

class ProcessExecutorTest : public testing::Test, public ExecutorEvents {
 protected:
  struct Ended {
    AttemptEnd end;
    TaskOutputPtr output;
  };

  ProcessExecutorTest() : loop_(std::move(*os::RealLoop::Create())) {
    mark_ = fmt::format("{}{:03}", getpid(), ++counter_ % 1000);
    options_.slots = 4;
    options_.made_at_start = 1;
    options_.spool_folder = dir_.path();
    settings_.cwd = dir_.path();
    settings_.leftovers = Leftovers::kEnd;
  }
  ~ProcessExecutorTest() override {
    executor_.reset();
    EXPECT_TRUE(Marked("9999." + mark_).empty());
  }

  void Make() {
    auto made = ProcessExecutor::Create(*loop_, options_);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    executor_ = std::move(*made);
    executor_->SetEvents(*this);
    executor_->OpenJob(JobId(1), std::make_shared<const JobSettings>(settings_), inherits_);
  }
  AttemptRef Start(TaskBody body, uint16_t slot = 1) {
    StartOrder order;
    order.body = std::move(body);
    order.slot = slot;
    return StartOf(std::move(order));
  }
  AttemptRef StartOf(StartOrder order) {
    if (!executor_) Make();
    if (order.slot == 0) order.slot = 1;
    order.ref = {JobId(1), next_++, Attempt(1)};
    AttemptRef ref = order.ref;
    executor_->Start(std::move(order));
    return ref;
  }
  // Runs the loop until `done`, which is asked after each event and every few milliseconds.
  template <typename Fn>
  void RunUntil(Fn done) {
    if (done()) return;
    done_ = done;
    os::TimerId deadline = loop_->At(loop_->Now() + kDeadline, [this] {
      ADD_FAILURE() << "nothing happened in time";
      loop_->Stop();
    });
    Tick();
    loop_->Run();
    loop_->Cancel(deadline);
    loop_->Cancel(tick_);
    done_ = nullptr;
  }
  void Tick() {
    Look();
    tick_ = loop_->At(loop_->Now() + Duration::Millis(3), [this] { Tick(); });
  }
  void Look() {
    if (done_ && done_()) loop_->Stop();
  }
  Ended& Await(const AttemptRef& ref) {
    RunUntil([&] { return ended_.contains(ref.index); });
    return ended_[ref.index];
  }
  Ended& Run(TaskBody body) { return Await(Start(std::move(body))); }
  Ended& Run(std::string text) { return Run(Shell(std::move(text))); }
  bool FileHas(const std::string& name, const std::string& text) {
    auto have = os::ReadFile(dir_.Path(name), 1 << 20);
    return have && *have == text;
  }

  void OnStarted(const AttemptRef& ref, Instant when) override {
    started_[ref.index] = when;
    Look();
  }
  void OnEnded(AttemptEnd end, TaskOutputPtr output) override {
    uint32_t index = end.ref.index;
    EXPECT_FALSE(ended_.contains(index)) << "a second end of " << index;
    EXPECT_FALSE(taken_back_.contains(index));
    ended_[index] = {std::move(end), std::move(output)};
    order_.push_back(index);
    Look();
  }
  void OnTakenBack(const AttemptRef& ref) override {
    EXPECT_FALSE(ended_.contains(ref.index));
    taken_back_[ref.index] = true;
    Look();
  }
  void OnOutput(const AttemptRef& ref, int stream, std::string_view bytes) override {
    EXPECT_FALSE(ended_.contains(ref.index)) << "output after the end";
    live_[ref.index][stream - 1] += bytes;
    Look();
  }
  void OnFrozen(const AttemptRef& ref, bool frozen, Instant) override {
    frozen_[ref.index] = frozen;
    Look();
  }
  void OnExceeded(const AttemptRef& ref, const Excess& excess) override {
    exceeded_[ref.index].push_back(excess);
    Look();
  }
  void OnMemory(const AttemptRef& ref, uint64_t bytes) override {
    samples_[ref.index].push_back(bytes);
    Look();
  }

  os::TempDir dir_;
  std::unique_ptr<os::RealLoop> loop_;
  ProcessExecutorOptions options_;
  JobSettings settings_;
  bool inherits_ = false;  // of job 1
  std::unique_ptr<ProcessExecutor> executor_;
  std::string mark_;
  uint32_t next_ = 0;
  std::function<bool()> done_;
  os::TimerId tick_ = 0;
  std::map<uint32_t, Ended> ended_;
  std::map<uint32_t, bool> taken_back_;
  std::map<uint32_t, Instant> started_;
  std::map<uint32_t, std::array<std::string, 2>> live_;
  std::map<uint32_t, std::vector<uint64_t>> samples_;
  std::map<uint32_t, bool> frozen_;
  std::map<uint32_t, std::vector<Excess>> exceeded_;
  std::vector<uint32_t> order_;
  static inline int counter_ = 0;
};

}  // namespace spate::node
