// Real processes through ProcessExecutor: how they end, what they leave, what they write, and
// what happens when somebody in the chain is killed. The program itself serves as shepherd, and,
// with the argument `__run`, as a run that is killed.
#include "node/process_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "os/file.h"
#include "os/process.h"
#include "os/temp_dir.h"
#include "shepherd/launch.h"
#include "shepherd/process_tree.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

constexpr Duration kDeadline = Duration::Seconds(30);

// Processes whose command line has `mark` in it.
std::vector<pid_t> Marked(const std::string& mark) {
  std::vector<pid_t> found;
  for (pid_t pid : shepherd::AllProcesses()) {
    auto line = os::ReadFile(fmt::format("/proc/{}/cmdline", pid), 1 << 16);
    if (line && line->find(mark) != line->npos && pid != getpid()) found.push_back(pid);
  }
  return found;
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

// Every way to run away from a parent, as shell text. MARK is seen in the command line.
const std::map<std::string, std::string>& WaysToRunAway() {
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

std::string WithMark(std::string text, const std::string& mark) {
  for (size_t at = 0; (at = text.find("MARK", at)) != text.npos; at += mark.size()) {
    text.replace(at, 4, mark);
  }
  return text;
}

TaskBody Shell(std::string text) {
  TaskBody body;
  body.steps = {{{{{"/bin/sh", "-c", std::move(text)}}}}};
  return body;
}

TaskBody Plain(std::vector<std::string> argv) {
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
    executor_->OpenJob(JobId(1), std::make_shared<const JobSettings>(settings_));
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
  void OnMemory(const AttemptRef& ref, uint64_t bytes) override {
    samples_[ref.index].push_back(bytes);
    Look();
  }

  os::TempDir dir_;
  std::unique_ptr<os::RealLoop> loop_;
  ProcessExecutorOptions options_;
  JobSettings settings_;
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
  std::vector<uint32_t> order_;
  static inline int counter_ = 0;
};

TEST_F(ProcessExecutorTest, TellsHowCommandsEnd) {
  dir_.Write("plain.txt", "no program");
  dir_.Write("noline", "exit 4");
  dir_.Write("badline", "#!/nowhere/interpreter\n");
  chmod(dir_.Path("noline").c_str(), 0755);
  chmod(dir_.Path("badline").c_str(), 0755);
  struct {
    TaskBody body;
    Cause cause;
    int status;
    std::string note;
  } cases[] = {
      {Plain({"/bin/true"}), Cause::kSuccess, 0, ""},
      {Plain({"true"}), Cause::kSuccess, 0, ""},
      {Plain({"/bin/false"}), Cause::kExit, 1, ""},
      {Shell("exit 255"), Cause::kExit, 255, ""},
      {Shell("kill -SEGV $$"), Cause::kSignal, SIGSEGV, ""},
      {Shell("kill -9 $$"), Cause::kSignal, SIGKILL, ""},
      {Plain({"frobnicate", "x"}), Cause::kStart, 127, "frobnicate: command not found"},
      {Plain({"./none"}), Cause::kStart, 127, "./none: No such file or directory"},
      {Plain({"./plain.txt"}), Cause::kStart, 126,
       "./plain.txt: permission denied (is it executable? chmod +x makes it so)"},
      {Plain({"/tmp"}), Cause::kStart, 126, "/tmp: is a folder, not a program"},
      {Plain({"./noline"}), Cause::kExit, 4, ""},
      {Plain({"./badline"}), Cause::kStart, 126, "./badline: its interpreter does not exist"},
      {Plain({""}), Cause::kStart, 127, ": command not found"},
      {Plain({"true", std::string(3 << 20, 'x')}), Cause::kStart, 126,
       "true: its arguments and environment are longer than the system allows"},
  };
  for (auto& c : cases) {
    std::string name = c.body.steps[0].commands[0].argv[0];
    const Ended& ended = Run(c.body);
    EXPECT_EQ(ended.end.cause, c.cause) << name << " " << ended.end.note;
    EXPECT_EQ(ended.end.status, c.status) << name;
    EXPECT_EQ(ended.end.note, c.note) << name;
    EXPECT_EQ(ended.end.slot, 1);
    EXPECT_EQ(ended.end.left_behind, 0u) << name;
    EXPECT_TRUE(ended.end.processes.empty());
  }
}

TEST_F(ProcessExecutorTest, CollectsOutput) {
  const Ended& ended = Run("echo out; echo err >&2; printf more");
  EXPECT_EQ(ended.output->out.bytes, "out\nmore");
  EXPECT_EQ(ended.output->out.total, 8u);
  EXPECT_EQ(ended.output->err.bytes, "err\n");
  EXPECT_EQ(ended.end.stdout_total, 8u);
  EXPECT_EQ(ended.end.stderr_total, 4u);
  const Ended& silent = Run("exit 0");
  EXPECT_EQ(silent.output->out.total, 0u);
}

TEST_F(ProcessExecutorTest, LongOutputGoesToASpoolFileThatGoesWithItsLastOwner) {
  const Ended& exact = Run("head -c 65536 /dev/zero");
  EXPECT_EQ(exact.output->out.bytes, std::string(65536, '\0'));
  EXPECT_EQ(exact.output->out.spool, "");
  Ended& ended = Run("seq 1 200000; seq 1 50000 >&2");
  const OutputStream& out = ended.output->out;
  EXPECT_EQ(out.bytes, "");
  EXPECT_EQ(out.total, 1288895u);
  auto text = os::ReadFile(out.spool, 1 << 24);
  ASSERT_TRUE(text.has_value());
  std::string expected;
  for (int i = 1; i <= 200000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_TRUE(*text == expected);
  std::string spool = out.spool;
  std::string other = ended.output->err.spool;
  EXPECT_TRUE(os::Exists(other));
  TaskOutputPtr second = ended.output;
  ended.output.reset();
  EXPECT_TRUE(os::Exists(spool));
  second.reset();
  EXPECT_FALSE(os::Exists(spool));
  EXPECT_FALSE(os::Exists(other));
}

TEST_F(ProcessExecutorTest, OutputOfAttemptsStaysApart) {
  std::vector<AttemptRef> refs;
  for (int i = 0; i < 50; ++i) {
    refs.push_back(Start(Shell(fmt::format("echo {0}; (echo late {0} &)", i))));
  }
  Await(refs.back());
  for (int i = 0; i < 50; ++i) {
    const std::string& text = ended_[refs[i].index].output->out.bytes;
    EXPECT_TRUE(text.starts_with(fmt::format("{}\n", i))) << text;
    EXPECT_TRUE(text == fmt::format("{0}\nlate {0}\n", i) || text == fmt::format("{}\n", i));
    EXPECT_EQ(order_[i], static_cast<uint32_t>(i));
  }
}

TEST_F(ProcessExecutorTest, AStrangePipeFlagOfOneTaskDoesNotReachTheNext) {
  // Perl-free: dd sets O_NONBLOCK on its output.
  Run("dd if=/dev/null oflag=nonblock status=none");
  const Ended& ended = Run("head -c 3000000 /dev/zero | cat");
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.output->err.bytes;
  EXPECT_EQ(ended.output->out.total, 3000000u);
}

TEST_F(ProcessExecutorTest, GivesTheTaskItsSurroundings) {
  settings_.environment = {"A=job", "B=job", "PATH=/usr/bin:/bin"};
  TaskBody body = Shell(
      "pwd; echo $A $B $C; echo $(( $(ps -o pgid= -p $$) == $$ )); ps -o tty= -p $$; "
      "cat; echo $(ls -l /proc/self/fd | grep -c -v -e total -e /proc/); trap | wc -l; grep SigBlk "
      "/proc/self/status");
  body.environment = {"B=task", "C=task"};
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.output->out.bytes,
            dir_.path() + "\njob task task\n1\n?\n3\n0\nSigBlk:\t0000000000000000\n")
      << ended.output->err.bytes;
}

TEST_F(ProcessExecutorTest, NicenessIsAdded) {
  settings_.nice = 7;
  EXPECT_EQ(Run("nice").output->out.bytes, fmt::format("{}\n", getpriority(PRIO_PROCESS, 0) + 7));
}

TEST_F(ProcessExecutorTest, TheTasksOwnPathDecides) {
  dir_.Write("bin/tool", "#!/bin/sh\necho mine\n");
  chmod(dir_.Path("bin/tool").c_str(), 0755);
  TaskBody body = Plain({"tool"});
  EXPECT_EQ(Run(body).end.status, 127);
  body.environment = {"PATH=" + dir_.Path("bin") + ":/bin"};
  EXPECT_EQ(Run(body).output->out.bytes, "mine\n");
  EXPECT_EQ(Run(body).output->out.bytes, "mine\n");
  ASSERT_TRUE(os::RemoveFile(dir_.Path("bin/tool")));
  EXPECT_EQ(Run(body).end.note, "tool: command not found");
}

TEST_F(ProcessExecutorTest, RedirectsToFiles) {
  dir_.Write("in.txt", "content\n");
  dir_.Write("out.txt", "old old old\n");
  TaskBody body = Shell("cat; echo err >&2");
  body.stdin_file = "in.txt";
  body.stdout_file = "out.txt";
  body.stderr_file = "new/folder/err.txt";
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
  EXPECT_TRUE(FileHas("out.txt", "content\n"));
  EXPECT_TRUE(FileHas("new/folder/err.txt", "err\n"));
  EXPECT_EQ(ended.end.stdout_total, 0u);
  body = Shell("echo a; echo b >&2; echo c");
  body.stdout_file = body.stderr_file = "both.txt";
  Run(body);
  EXPECT_TRUE(FileHas("both.txt", "a\nb\nc\n"));
}

TEST_F(ProcessExecutorTest, MissingFilesAndFoldersAreSaidClearly) {
  TaskBody body = Plain({"true"});
  body.stdin_file = "none.txt";
  const Ended& input = Run(body);
  EXPECT_EQ(input.end.cause, Cause::kStart);
  EXPECT_EQ(input.end.status, 126);
  EXPECT_EQ(input.end.note, "cannot open 'none.txt' as stdin: No such file or directory");
  dir_.Write("file", "");
  body = Plain({"true"});
  body.stdout_file = "file/below";
  EXPECT_EQ(Run(body).end.note, "cannot open 'file/below' as stdout: Not a directory");
  ASSERT_TRUE(os::MakeDir(dir_.Path("gone")));
  settings_.cwd = dir_.Path("gone");
  executor_->OpenJob(JobId(2), std::make_shared<const JobSettings>(settings_));
  ASSERT_TRUE(os::RemoveEmptyDir(dir_.Path("gone")));
  StartOrder order;
  order.ref = {JobId(2), 1000, Attempt(1)};
  order.slot = 1;
  order.body = Plain({"true"});
  executor_->Start(order);
  const Ended& cwd = Await(order.ref);
  EXPECT_EQ(cwd.end.cause, Cause::kStart);
  EXPECT_EQ(cwd.end.note, fmt::format("cannot enter the job's folder '{}': No such file or "
                                      "directory",
                                      dir_.Path("gone")));
}

TEST_F(ProcessExecutorTest, LinksCommandsAndStepsAndTellsOfEach) {
  TaskBody body;
  body.steps = {{{{{"seq", "10"}}, {{"tail", "-n", "3"}}, {{"wc", "-l"}}}},
                {{{{"sh", "-c", "exit 3"}}, {{"cat"}}}},
                {{{{"echo", "never"}}}}};
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.output->out.bytes, "3\n");
  EXPECT_EQ(ended.end.cause, Cause::kExit);
  EXPECT_EQ(ended.end.status, 3);
  ASSERT_EQ(ended.end.processes.size(), 5u);
  EXPECT_EQ(ended.end.processes[3].step, 1);
  EXPECT_EQ(ended.end.processes[3].command, 0);
  EXPECT_EQ(ended.end.processes[3].status, 3);
  EXPECT_EQ(ended.end.processes[4].status, 0);
  body.steps = {{{{{"true"}}, {{"frobnicate"}}}}};
  const Ended& missing = Run(body);
  EXPECT_EQ(missing.end.cause, Cause::kStart);
  EXPECT_EQ(missing.end.status, 127);
  EXPECT_EQ(missing.end.note, "frobnicate: command not found");
  body.steps = {{{{{"true"}}}}, {{{{"echo", "second"}}}}};
  const Ended& both = Run(body);
  EXPECT_EQ(both.end.cause, Cause::kSuccess);
  EXPECT_EQ(both.output->out.bytes, "second\n");
}

TEST_F(ProcessExecutorTest, WhatIsLeftBehindIsEndedAndNamed) {
  for (const auto& [name, text] : WaysToRunAway()) {
    const Ended& ended = Run(WithMark(text, mark_));
    EXPECT_EQ(ended.end.cause, Cause::kSuccess) << name;
    EXPECT_GE(ended.end.left_behind, 1u) << name;
    EXPECT_TRUE(ended.end.note.find("sleep (pid ") != std::string::npos ||
                ended.end.note.find("sh (pid ") != std::string::npos)
        << name << ": " << ended.end.note;
    EXPECT_TRUE(ended.end.note.starts_with("left behind: ")) << ended.end.note;
    EXPECT_TRUE(ended.end.note.ends_with(", ended")) << ended.end.note;
    EXPECT_TRUE(Marked("9999." + mark_).empty()) << name;
  }
}

TEST_F(ProcessExecutorTest, WhatEndsByItselfInAMomentIsNotLeftBehind) {
  const Ended& ended = Run("(sleep 0.01; echo late) & echo first");
  EXPECT_EQ(ended.output->out.bytes, "first\nlate\n");
  EXPECT_EQ(ended.end.left_behind, 0u);
  EXPECT_EQ(ended.end.note, "");
}

// Bombs that end by themselves after a while, so that a failing test harms nobody.
// A chain: everybody forks and ends, each in a session of its own.
constexpr const char* kChain =
    "cat > chain.sh <<'X'\n[ $1 -gt 0 ] && exec setsid sh -c \"sh ./chain.sh $(($1 - 1)) "
    "9999.MARK & exit 0\"\nX\nsh ./chain.sh 1000 9999.MARK & sleep 0.05";
// A tree: everybody forks twice, one of them into a session of its own.
constexpr const char* kTree =
    "cat > tree.sh <<'X'\n[ $1 -gt 0 ] || exec sleep 9999.MARK\n"
    "setsid sh ./tree.sh $(($1 - 1)) 9999.MARK & sh ./tree.sh $(($1 - 1)) 9999.MARK & wait\nX\n"
    "sh ./tree.sh 8 9999.MARK & sleep 0.1";

TEST_F(ProcessExecutorTest, ProcessesThatForkWhileTheyAreKilledEnd) {
  const Ended& chain = Run(WithMark(kChain, mark_));
  EXPECT_EQ(chain.end.cause, Cause::kSuccess);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  const Ended& tree = Run(WithMark(kTree, mark_));
  EXPECT_EQ(tree.end.cause, Cause::kSuccess);
  EXPECT_GE(tree.end.left_behind, 2u);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
}

TEST_F(ProcessExecutorTest, NoZombiesGather) {
  for (int i = 0; i < 20; ++i) Run("(true &); true & exec true");
  for (pid_t pid : executor_->ShepherdPids()) {
    int children = 0;
    shepherd::ProcessTree(pid).Each([&](pid_t) { ++children; });
    EXPECT_EQ(children, 0);
  }
}

TEST_F(ProcessExecutorTest, EndsByTermAndByKill) {
  AttemptRef term =
      Start(Shell(WithMark("trap 'echo got it; exit 3' TERM; "
                           "echo here > ready; sleep 9999.MARK & wait",
                           mark_)));
  RunUntil([&] { return FileHas("ready", "here\n"); });
  executor_->End(term, EndHow::kTerm, Cause::kTimeLimit);
  const Ended& gentle = Await(term);
  EXPECT_EQ(gentle.end.cause, Cause::kTimeLimit);
  EXPECT_EQ(gentle.end.status, 0);
  EXPECT_EQ(gentle.output->out.bytes, "got it\n");
  EXPECT_EQ(gentle.end.left_behind, 0u);  // the order ended all of it
  AttemptRef deaf =
      Start(Shell(WithMark("trap '' TERM; echo here > deaf; "
                           "(setsid sleep 9999.MARK &); sleep 9999.MARK",
                           mark_)));
  RunUntil([&] { return FileHas("deaf", "here\n"); });
  executor_->End(deaf, EndHow::kTerm, Cause::kTimeLimit);
  executor_->End(deaf, EndHow::kKill, Cause::kTimeLimit);
  EXPECT_EQ(Await(deaf).end.cause, Cause::kTimeLimit);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  // An end that comes too late changes nothing.
  executor_->End(deaf, EndHow::kKill, Cause::kStopped);
  EXPECT_EQ(Run("exit 0").end.cause, Cause::kSuccess);
}

TEST_F(ProcessExecutorTest, HeldOrdersCanBeTakenBackAndEnded) {
  StartOrder first;
  first.body = Plain({"sleep", "9999." + mark_});
  first.tell_start = true;
  AttemptRef running = StartOf(first);
  RunUntil([&] { return started_.contains(running.index); });
  AttemptRef held = Start(Plain({"true"}));
  AttemptRef other = Start(Plain({"true"}));
  AttemptRef stopped = Start(Plain({"true"}));
  executor_->TakeBack(held);
  executor_->End(stopped, EndHow::kTerm, Cause::kStopped);
  executor_->TakeBack(running);  // too late
  RunUntil([&] { return taken_back_.contains(held.index) && ended_.contains(stopped.index); });
  EXPECT_EQ(ended_[stopped.index].end.cause, Cause::kStopped);
  EXPECT_FALSE(ended_.contains(other.index));
  executor_->End(running, EndHow::kKill, Cause::kStopped);
  EXPECT_EQ(Await(running).end.cause, Cause::kStopped);
  EXPECT_EQ(Await(other).end.cause, Cause::kSuccess);
  EXPECT_EQ(taken_back_.size(), 1u);
}

TEST_F(ProcessExecutorTest, PausesWholeTrees) {
  AttemptRef ref =
      Start(Shell("(setsid sh -c 'while :; do echo x >> ticks; sleep 0.01; done' &); "
                  "while ! test -e stop; do sleep 0.01; done; pkill -g 0 x; exit 0"));
  RunUntil([&] { return os::Exists(dir_.Path("ticks")); });
  executor_->Pause(true);
  AttemptRef held = Start(Plain({"true"}), 2);
  auto size = [&] { return os::Stat(dir_.Path("ticks"))->size; };
  // Stopped when nothing came for a while that had time for several.
  uint64_t last = 0;
  int quiet = 0;
  RunUntil([&] {
    quiet = size() == last ? quiet + 1 : 0;
    last = size();
    return quiet > 30;
  });
  EXPECT_FALSE(ended_.contains(held.index));
  executor_->Pause(false);
  RunUntil([&] { return size() > last; });
  Await(held);
  dir_.Write("stop", "");
  EXPECT_EQ(Await(ref).end.cause, Cause::kSuccess);
}

TEST_F(ProcessExecutorTest, ChecksOutputs) {
  TaskBody body = Shell("echo a > good; : > empty; printf b > cut");
  body.output_checks = {{CheckWhen::kOut, CheckKind::kLinePlus, "good"}};
  EXPECT_EQ(Run(body).end.cause, Cause::kSuccess);
  body.output_checks = {{CheckWhen::kOut, CheckKind::kExistsPlus, "empty"},
                        {CheckWhen::kOut, CheckKind::kLine, "good"},
                        {CheckWhen::kOut, CheckKind::kLine, "cut"},
                        {CheckWhen::kOut, CheckKind::kExists, "none"}};
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.end.cause, Cause::kCheck);
  EXPECT_EQ(ended.end.status, 0);
  EXPECT_EQ(ended.end.note, "empty is empty\ncut has an incomplete last line\nnone does not exist");
  // A command that failed is not checked.
  body = Shell("exit 2");
  body.output_checks = {{CheckWhen::kOut, CheckKind::kExists, "none"}};
  EXPECT_EQ(Run(body).end.note, "");
}

TEST_F(ProcessExecutorTest, TellsStartsAndMeasures) {
  StartOrder order;
  order.body = Shell("i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exit 0");
  order.tell_start = true;
  Instant before = loop_->Now();
  AttemptRef ref = StartOf(order);
  const Ended& ended = Await(ref);
  ASSERT_TRUE(started_.contains(ref.index));
  EXPECT_EQ(started_[ref.index], ended.end.start);
  EXPECT_GE(ended.end.start, before);
  EXPECT_LE(ended.end.start + ended.end.wall, loop_->Now());
  EXPECT_GT(ended.end.user.ns + ended.end.system.ns, 1'000'000);
  EXPECT_EQ(ended.end.memory_source, MemorySource::kRusage);
  EXPECT_GT(ended.end.peak_memory, 500u << 10);
  EXPECT_EQ(ended.end.read_bytes, -1);
  EXPECT_FALSE(started_.contains(Start(Plain({"true"})).index));
}

TEST_F(ProcessExecutorTest, MeasuresInputAndOutputWhenAsked) {
  settings_.measure_io = true;
  const Ended& ended =
      Run("head -c 300000 /dev/zero > big; (head -c 100000 big > /dev/null) ; true");
  EXPECT_GE(ended.end.read_bytes, 400000);
  EXPECT_GE(ended.end.written_bytes, 400000);
  EXPECT_LT(ended.end.written_bytes, 600000);
}

TEST_F(ProcessExecutorTest, SamplesMemoryOfTheWholeTree) {
  StartOrder order;
  // Two processes of 30 MB each: the largest alone is what rusage knows.
  order.body = Shell(
      "for i in 1 2; do (head -c 30000000 /dev/zero | tail -c 30000000 | "
      "sh -c 'sleep 0.7; cat' | wc -c) & done; wait");
  order.sample_memory = true;
  AttemptRef ref = StartOf(order);
  const Ended& ended = Await(ref);
  ASSERT_FALSE(samples_[ref.index].empty());
  EXPECT_EQ(ended.end.memory_source, MemorySource::kSampled);
  EXPECT_GT(ended.end.peak_memory, 55'000'000u);
}

TEST_F(ProcessExecutorTest, EndsATaskThatGoesOverItsMemory) {
  StartOrder order;
  order.body = Shell("head -c 200000000 /dev/zero | tail -c 200000000 | sleep 9999." + mark_);
  order.memory_limit = 50'000'000;
  const Ended& ended = Await(StartOf(order));
  EXPECT_EQ(ended.end.cause, Cause::kMemory);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
}

TEST_F(ProcessExecutorTest, LiveOutputComesWhileTheTaskRuns) {
  settings_.live_output = true;
  AttemptRef ref =
      Start(Shell("echo one; while ! test -e go; do sleep 0.01; done; echo two; "
                  "echo err >&2"));
  RunUntil([&] { return live_[ref.index][0] == "one\n"; });
  EXPECT_FALSE(ended_.contains(ref.index));
  dir_.Write("go", "");
  const Ended& ended = Await(ref);
  EXPECT_EQ(live_[ref.index][0], "one\ntwo\n");
  EXPECT_EQ(live_[ref.index][1], "err\n");
  EXPECT_EQ(ended.output->out.bytes, "one\ntwo\n");
}

TEST_F(ProcessExecutorTest, LiveOutputThatNobodyTakesHoldsTheTaskUp) {
  settings_.live_output = true;
  // Counts what it could write; while this thread does not read, that must stay bounded.
  AttemptRef ref = Start(Shell("dd if=/dev/zero bs=65536 count=1000 2>/dev/null; echo end > over"));
  RunUntil([&] { return !live_[ref.index][0].empty(); });
  EXPECT_FALSE(Until(Duration::Millis(300), [&] { return os::Exists(dir_.Path("over")); }));
  const Ended& ended = Await(ref);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess);
  EXPECT_EQ(live_[ref.index][0].size(), 65536000u);
  EXPECT_EQ(ended.end.stdout_total, 65536000u);
}

TEST_F(ProcessExecutorTest, AKillOrderIsObeyedWhileNobodyTakesOutput) {
  settings_.live_output = true;
  AttemptRef ref = Start(Shell("exec cat /dev/zero"));
  RunUntil([&] { return !live_[ref.index][0].empty(); });
  std::vector<pid_t> shepherds = executor_->ShepherdPids();
  executor_->End(ref, EndHow::kKill, Cause::kStopped);
  executor_->Pause(false);  // sends at once; from here on this thread reads nothing
  auto childless = [&] {
    int children = 0;
    for (pid_t pid : shepherds) shepherd::ProcessTree(pid).Each([&](pid_t) { ++children; });
    return children == 0;
  };
  EXPECT_TRUE(Until(Duration::Seconds(2), childless));
  EXPECT_EQ(Await(ref).end.cause, Cause::kStopped);
}

TEST_F(ProcessExecutorTest, AKilledShepherdIsReplacedAndNothingOfItsTaskSurvives) {
  std::string text = WithMark(
      "echo $PPID > shepherd; echo x >> runs; (setsid sleep 9999.MARK &); "
      "env -i setsid sleep 9999.MARK & sleep 9999.MARK",
      mark_);
  AttemptRef running = Start(Shell(text));
  AttemptRef held = Start(Plain({"true"}));
  RunUntil([&] { return Marked("9999." + mark_).size() >= 3; });
  pid_t pid = std::atoi(os::ReadFile(dir_.Path("shepherd"), 100)->c_str());
  ASSERT_EQ(executor_->ShepherdPids(), std::vector<pid_t>{pid});
  kill(pid, SIGKILL);
  const Ended& ended = Await(running);
  EXPECT_EQ(ended.end.cause, Cause::kNode);
  EXPECT_EQ(ended.end.note, "its shepherd was killed");
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  RunUntil([&] { return taken_back_.contains(held.index); });
  EXPECT_FALSE(ended_.contains(held.index));
  EXPECT_EQ(Run("exit 5").end.status, 5);
  EXPECT_NE(executor_->ShepherdPids(), std::vector<pid_t>{pid});
}

TEST_F(ProcessExecutorTest, EndsThatWereNotToldYetAreNotTakenForNeverStarted) {
  // The shepherd is stopped after a few tasks ran; what ran must not come back as "not started".
  std::vector<AttemptRef> refs;
  for (int i = 0; i < 300; ++i) {
    refs.push_back(Start(Shell(i == 150 ? "kill -9 $PPID; sleep 9999." + mark_
                                        : fmt::format("echo {} >> runs", i))));
  }
  RunUntil([&] { return ended_.size() + taken_back_.size() == refs.size(); });
  auto runs = os::ReadFile(dir_.Path("runs"), 1 << 20);
  ASSERT_TRUE(runs.has_value());
  for (int i = 0; i < 300; ++i) {
    bool ran = ("\n" + *runs).find(fmt::format("\n{}\n", i)) != std::string::npos || i == 150;
    EXPECT_EQ(ran, ended_.contains(refs[i].index)) << i;
  }
}

TEST_F(ProcessExecutorTest, OneSlotAfterAnother) {
  options_.slots = 40;
  for (uint16_t slot = 40; slot >= 1; --slot) Start(Plain({"true"}), slot);
  RunUntil([&] { return ended_.size() == 40; });
  EXPECT_EQ(executor_->ShepherdPids().size(), 40u);
}

TEST_F(ProcessExecutorTest, ALackOfProcessesIsWaitedFor) {
  // Root is not bound by RLIMIT_NPROC, a limit on descriptors binds everybody.
  TaskBody body;
  body.steps = {{{}}};
  for (int i = 0; i < 30; ++i) body.steps[0].commands.push_back({{"cat"}});
  AttemptRef plain = Start(Plain({"true"}));
  Await(plain);
  pid_t pid = executor_->ShepherdPids().at(0);
  rlimit before;
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, nullptr, &before), 0);
  rlimit few{24, before.rlim_max};
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &few, nullptr), 0);
  AttemptRef ref = Start(body);
  EXPECT_FALSE(Until(Duration::Millis(50), [&] { return false; }));
  loop_->At(loop_->Now() + Duration::Millis(100),
            [&] { prlimit(pid, RLIMIT_NOFILE, &before, nullptr); });
  const Ended& ended = Await(ref);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess);
  EXPECT_EQ(ended.end.note, "had to wait for the system: Too many open files");
  // While it waits it can be taken back.
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &few, nullptr), 0);
  AttemptRef second = Start(body);
  executor_->TakeBack(second);
  RunUntil([&] { return taken_back_.contains(second.index); });
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &before, nullptr), 0);
}

TEST_F(ProcessExecutorTest, ShepherdsThatCannotBeMadeAreTriedAgain) {
  std::vector<std::string> troubles;
  options_.on_trouble = [&](std::string text) { troubles.push_back(text); };
  Make();
  Run("true");
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  AttemptRef ref = Start(Plain({"true"}), 2);
  EXPECT_EQ(troubles.size(), 1u);
  loop_->At(loop_->Now() + Duration::Millis(70), [&] { setrlimit(RLIMIT_NOFILE, &before); });
  EXPECT_EQ(Await(ref).end.cause, Cause::kSuccess);
}

TEST_F(ProcessExecutorTest, AFullDiskForOutputIsSaid) {
  options_.spool_folder = "/nowhere";
  const Ended& ended = Run("seq 1 100000");
  EXPECT_EQ(ended.end.cause, Cause::kSuccess);
  EXPECT_EQ(ended.end.stdout_total, 588895u);
  EXPECT_EQ(ended.output->out.total, 65536u);
  EXPECT_EQ(ended.output->out.bytes.size(), 65536u);
  EXPECT_TRUE(ended.end.note.starts_with("output beyond the first 64 KB is lost: cannot write "))
      << ended.end.note;
}

TEST_F(ProcessExecutorTest, UsesACgroupWhereThereIsOne) {
  std::string folder;
  for (const char* top : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
    if (!os::Exists(std::string(top) + "/cgroup.procs")) continue;
    folder = fmt::format("{}/spate-executor-test-{}", top, getpid());
    if (os::MakeDir(folder)) break;
    folder.clear();
  }
  if (folder.empty()) GTEST_SKIP() << "no cgroup v2 that may be written";
  options_.cgroup = folder;
  const Ended& ended = Run("grep 0:: /proc/self/cgroup");
  EXPECT_TRUE(ended.output->out.bytes.ends_with("/slot-1\n")) << ended.output->out.bytes;
  const Ended& tree = Run(WithMark(kTree, mark_));
  EXPECT_EQ(tree.end.cause, Cause::kSuccess);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  EXPECT_EQ(Run("echo again").output->out.bytes, "again\n");
  executor_.reset();
  EXPECT_TRUE(os::RemoveEmptyDir(folder));
}

// ---- A run that is killed ----------------------------------------------------------------------

// What `__run FOLDER MARK` does: every way to run away at once, until somebody kills it.
int RunAway(const std::string& folder, const std::string& mark) {
  class Silent final : public ExecutorEvents {
    void OnStarted(const AttemptRef&, Instant) override {}
    void OnEnded(AttemptEnd, TaskOutputPtr) override {}
    void OnTakenBack(const AttemptRef&) override {}
    void OnOutput(const AttemptRef&, int, std::string_view) override {}
    void OnMemory(const AttemptRef&, uint64_t) override {}
  } silent;
  auto loop = os::RealLoop::Create();
  ProcessExecutorOptions options;
  options.slots = 20;
  options.spool_folder = folder;
  options.job_folder = folder;
  auto executor = ProcessExecutor::Create(**loop, options);
  if (!executor) return 1;
  (*executor)->SetEvents(silent);
  auto settings = std::make_shared<JobSettings>();
  settings->cwd = folder;
  (*executor)->OpenJob(JobId(1), settings);
  uint16_t slot = 0;
  for (const auto& [name, text] : WaysToRunAway()) {
    StartOrder order;
    order.ref = {JobId(1), slot, Attempt(1)};
    order.slot = ++slot;
    order.body = Shell(WithMark(text + "\n sleep 9999.MARK", mark));
    (*executor)->Start(std::move(order));
  }
  (*loop)->Run();
  return 0;
}

class KilledRunTest : public testing::Test {
 protected:
  void SetUp() override {
    mark_ = fmt::format("7{}{:02}", getpid(), ++counter_);
    pid_ = fork();
    if (pid_ == 0) {
      execl("/proc/self/exe", "run", "__run", dir_.path().c_str(), mark_.c_str(), nullptr);
      _exit(127);
    }
    // A way starts one process for its marked sleep and one at least that runs away.
    ASSERT_TRUE(Until(Duration::Seconds(20), [&] {
      return Marked("9999." + mark_).size() >= 2 * WaysToRunAway().size();
    }));
  }
  void TearDown() override {
    for (pid_t pid : Marked("9999." + mark_)) kill(pid, SIGKILL);
  }
  void KillRun() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool GoneWithin(Duration patience) {
    return Until(patience, [&] { return Marked("9999." + mark_).empty(); });
  }
  os::TempDir dir_;
  std::string mark_;
  pid_t pid_ = -1;
  static inline int counter_ = 0;
};

TEST_F(KilledRunTest, EverythingIsGoneWithinASecond) {
  KillRun();
  EXPECT_TRUE(GoneWithin(Duration::Seconds(1)));
}

TEST_F(KilledRunTest, LeftoversOfARunKilledWithItsShepherdsAreFound) {
  // Nobody may act in between: first all are stopped, then killed.
  std::vector<pid_t> shepherds;
  shepherd::ProcessTree(pid_).Each([&](pid_t pid) {
    auto info = os::InfoOf(pid);
    if (info && info->parent == pid_) shepherds.push_back(pid);
  });
  EXPECT_EQ(shepherds.size(), WaysToRunAway().size());
  kill(pid_, SIGSTOP);
  for (pid_t pid : shepherds) kill(pid, SIGSTOP);
  for (pid_t pid : shepherds) kill(pid, SIGKILL);
  KillRun();
  EXPECT_FALSE(GoneWithin(Duration::Millis(100)));
  shepherd::Leftovers leftovers = shepherd::EndLeftovers(dir_.path(), "", 5'000'000'000);
  EXPECT_GE(leftovers.ended, 5);
  EXPECT_FALSE(leftovers.notes.empty());
  // What emptied its environment and took a session of its own is the stated exception.
  for (pid_t pid : Marked("9999." + mark_)) {
    auto environment = os::ReadFile(fmt::format("/proc/{}/environ", pid), 1 << 16);
    if (environment) EXPECT_EQ(environment->find("SPATE_JOB_DIR"), std::string::npos);
  }
  EXPECT_LE(Marked("9999." + mark_).size(), 1u);
}

TEST(EndLeftovers, LeavesOthersAlone) {
  os::TempDir dir;
  pid_t other = fork();
  if (other == 0) {
    setsid();
    setenv("SPATE_JOB_DIR", "/another/job", 1);
    execl("/bin/sleep", "sleep", "100", nullptr);
    _exit(127);
  }
  ASSERT_TRUE(shepherd::RecordShepherd(dir.path(), other));
  // The same pid with another start time: somebody else's.
  std::string record = *os::ReadFile(dir.Path("shepherds"), 4096);
  record.replace(record.rfind(' '), record.npos, " 12345\n");
  dir.Write("shepherds", record + "a line of another kind\n" + record.substr(0, 7));
  EXPECT_EQ(shepherd::EndLeftovers(dir.path(), "", 1'000'000'000).ended, 0);
  EXPECT_EQ(kill(other, 0), 0);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  if (argc == 4 && std::string(argv[1]) == "__run") return spate::node::RunAway(argv[2], argv[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
