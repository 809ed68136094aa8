// Tasks that outlive their node's process. The node is a process of its own (this program again,
// as `__node FOLDER PATIENCE-MS`), told by lines on its standard input what to do; it answers with
// a line for each event, and is killed like any other process: by SIGKILL, at any instruction.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/prng.h"
#include "node/node.h"
#include "node/testing_executor.h"
#include "node/testing_other_shepherd.h"
#include "os/affinity.h"
#include "os/cgroup.h"
#include "os/process.h"
#include "shepherd/launch.h"
#include "shepherd/rendezvous.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

// ---- The node's process ------------------------------------------------------------------------

std::string WordOf(const std::string& folder) { return os::BaseName(os::DirName(folder)); }

class NodeProgram final : public ExecutorEvents {
 public:
  // Lines in:  start|give INDEX ATTEMPT SLOT SHELL-TEXT   taken INDEX ATTEMPT   term|kill INDEX
  // ATTEMPT
  //            freeze|thaw INDEX ATTEMPT   bind INDEX ATTEMPT CPU   leave   stop
  // Lines out: ready   adopted INDEX ATTEMPT ...   kept|ended INDEX ATTEMPT ...   back INDEX bound
  // INDEX IS-BOUND
  int Run(const std::string& folder, int64_t patience_ms) {
    ProcessExecutorOptions options;
    options.slots = 8;
    options.node_folder = folder;
    options.adopt_patience = Duration::Millis(patience_ms);
    if (auto tree = os::CgroupTree::Create(os::FindCgroups(), WordOf(folder))) {
      tree_ = std::move(*tree);
      options.cgroup = tree_->dir();
    }
    auto executor = ProcessExecutor::Create(*loop_, options);
    if (!executor) return Say("refused " + executor.error().message), 1;
    executor_ = std::move(*executor);
    executor_->SetEvents(*this);
    JobSettings settings;
    settings.cwd = folder;
    settings.leftovers = Leftovers::kEnd;
    settings.time_limit = Duration::Seconds(77);
    settings.kill_grace = Duration::Millis(300);
    settings.environment = {"WORK=" + os::DirName(folder)};
    executor_->OpenJob(JobId(1), std::make_shared<const JobSettings>(settings), false);
    auto adopted = executor_->Adopt(Duration::Seconds(2));
    if (!adopted) return Say("refused " + adopted.error().message), 1;
    for (const agent::AttemptAdopted& one : adopted->running) {
      Say(fmt::format("adopted {} {} slot={} cpus={} gpus={} limit={} grace={}{}", one.ref.index,
                      one.ref.attempt.value, one.slot, one.needs.milli_cpus,
                      one.given.empty() ? "" : one.given[0].indices.at(0),
                      one.settings->time_limit.ns / 1'000'000'000,
                      one.settings->kill_grace.ns / 1'000'000,
                      one.is_frozen ? " frozen" : (one.frozen.ns > 0 ? " was-frozen" : "")));
    }
    for (const AdoptedEnd& one : adopted->ended) Tell("kept", one.end, one.output);
    for (const std::string& problem : adopted->problems) Say("problem " + problem);
    Say("ready");
    loop_->WatchRead(0, [this] { Read(); });
    loop_->Run();
    executor_.reset();
    Say("gone");
    return 0;
  }

 private:
  static void Say(const std::string& line) {
    (void)!write(1, (line + "\n").data(), line.size() + 1);
  }

  static void Tell(const char* what, const AttemptEnd& end, const TaskOutputPtr& output) {
    std::string text = output->out.bytes;
    if (!output->out.spool.empty()) {
      auto spool = os::ReadFile(output->out.spool, 1 << 24);
      text = spool ? fmt::format("<{} bytes in a file>", spool->size()) : "<nothing>";
    }
    for (char& c : text) c = c == '\n' ? '|' : c;
    Say(fmt::format("{} {} {} {} status={} slot={} out={} note={}", what, end.ref.index,
                    end.ref.attempt.value, WordOf(end.cause), end.status, end.slot, text,
                    end.note));
  }

  void Read() {
    char buffer[4096];
    ssize_t got = read(0, buffer, sizeof buffer);
    if (got <= 0) return loop_->Unwatch(0);
    in_.append(buffer, static_cast<size_t>(got));
    for (size_t end; (end = in_.find('\n')) != in_.npos; in_.erase(0, end + 1)) {
      Obey(in_.substr(0, end));
    }
  }

  void Obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    uint32_t index = 0;
    uint16_t attempt = 0;
    words >> verb >> index >> attempt;
    AttemptRef ref{JobId(1), index, Attempt(attempt)};
    if (verb == "start" || verb == "give") {
      StartOrder order;
      order.ref = ref;
      words >> order.slot;
      std::string text;
      std::getline(words, text);
      order.body = verb == "start" ? Shell(text) : Given(text);
      order.needs.milli_cpus = 500;
      order.given = {{"gpus", {fmt::format("g{}", index)}}};
      executor_->Start(std::move(order));
    } else if (verb == "taken") {
      outputs_.erase(ref);
      executor_->Taken(ref);
    } else if (verb == "freeze" || verb == "thaw") {
      executor_->Freeze(ref, verb == "freeze", Instant{1});
    } else if (verb == "bind") {
      int cpu = 0;
      words >> cpu;
      Say(fmt::format("bound {} {}", index, executor_->BindTo(ref, {cpu})));
    } else if (verb == "look") {
      LookAt(*executor_, ref, 0, {.most = 100}, [index](const RunLook& look) {
        std::string text = look.standing == RunLook::Standing::kRunning ? look.out.bytes : look.why;
        for (char& c : text) c = c == '\n' ? '|' : c;
        Say(fmt::format("look {} {}", index, text));
      });
    } else if (verb == "term" || verb == "kill") {
      executor_->End(ref, verb == "kill" ? EndHow::kKill : EndHow::kTerm, Cause::kStopped);
    } else {
      if (verb == "leave") {
        executor_->LeaveForAdoption();
        if (tree_) tree_->Leave();
      }
      loop_->Stop();
    }
  }

  void OnStarted(const AttemptRef&, Instant) override {}
  void OnEnded(AttemptEnd end, TaskOutputPtr output) override {
    Tell("ended", end, output);
    outputs_[end.ref] = std::move(output);
  }
  void OnTakenBack(const AttemptRef& ref) override { Say(fmt::format("back {}", ref.index)); }
  void OnOutput(const AttemptRef&, int, std::string_view) override {}
  void OnMemory(const AttemptRef&, uint64_t) override {}

  std::unique_ptr<os::RealLoop> loop_ = std::move(*os::RealLoop::Create());
  std::map<AttemptRef, TaskOutputPtr> outputs_;  // until they are taken, as Node has them
  std::unique_ptr<os::CgroupTree> tree_;
  std::unique_ptr<ProcessExecutor> executor_;
  std::string in_;
};

// ---- The test's side ---------------------------------------------------------------------------

class AdoptionTest : public testing::Test {
 protected:
  void SetUp() override {
    mark_ = fmt::format("8{}{:02}", getpid(), ++counter_);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  }
  void TearDown() override {
    Kill();
    for (pid_t pid : Shepherds()) kill(pid, SIGKILL);
    for (pid_t pid : Marked("9999." + mark_)) kill(pid, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
    if (auto tree = os::CgroupTree::Create(os::FindCgroups(), WordOf(folder()))) {
      os::SweepNodeCgroups((*tree)->dir(), {}, Duration::Seconds(5));
    }
  }

  // A node's process; returns when it has adopted what there was.
  void Begin(int64_t patience_ms = 60'000) {
    int in[2];
    int out[2];
    ASSERT_EQ(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    node_ = fork();
    if (node_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      std::string patience = fmt::format("{}", patience_ms);
      execl("/proc/self/exe", "node", "__node", folder().c_str(), patience.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    orders_.Reset(in[1]);
    news_.Reset(out[0]);
    lines_.clear();
    partial_.clear();
    Await("ready");
  }
  void Kill() {
    if (node_ <= 0) return;
    kill(node_, SIGKILL);
    waitpid(node_, nullptr, 0);
    Hear();
    node_ = -1;
  }
  void Order(const std::string& line) {
    ASSERT_EQ(write(orders_.get(), (line + "\n").data(), line.size() + 1),
              static_cast<ssize_t>(line.size() + 1));
  }
  // The node's end by `verb`; all that it said until then is heard.
  void End(const std::string& verb) {
    Order(verb);
    Await("gone");
    waitpid(node_, nullptr, 0);
    node_ = -1;
  }
  // Reads what is there; false when nothing came for so long.
  bool Hear(int wait_ms = 0) {
    pollfd wanted{news_.get(), POLLIN, 0};
    bool heard = false;
    while (poll(&wanted, 1, heard ? 0 : wait_ms) > 0) {
      char buffer[4096];
      ssize_t got = read(news_.get(), buffer, sizeof buffer);
      if (got <= 0) return heard;
      heard = true;
      partial_.append(buffer, static_cast<size_t>(got));
      for (size_t end; (end = partial_.find('\n')) != partial_.npos; partial_.erase(0, end + 1)) {
        lines_.push_back(partial_.substr(0, end));
      }
    }
    return heard;
  }
  std::string Find(const std::string& beginning) const {
    for (const std::string& line : lines_) {
      if (line.starts_with(beginning)) return line;
    }
    return "";
  }
  std::string Await(const std::string& beginning) {
    while (Find(beginning).empty()) {
      if (!Hear(20'000)) {
        ADD_FAILURE() << "no '" << beginning
                      << "' among: " << fmt::format("{}", fmt::join(lines_, "; "));
        return "";
      }
    }
    return Find(beginning);
  }
  std::vector<pid_t> Shepherds() {
    std::vector<pid_t> pids;
    auto names = shepherd::ShepherdsIn(folder());
    for (const shepherd::ShepherdName& name : *names) {
      if (os::IsAlive(name.pid, name.start)) pids.push_back(name.pid);
    }
    return pids;
  }
  bool ShepherdsLeave() {
    return Until(Duration::Seconds(20), [&] { return Shepherds().empty(); });
  }
  std::string folder() { return dir_.Path("node"); }
  // A task that says it runs, and ends when the test writes `go`.
  std::string Long() {
    return "echo begun; echo > $WORK/runs; until test -e $WORK/go; do sleep 0.01; done; echo over";
  }
  void AwaitFile(const std::string& name) {
    EXPECT_TRUE(Until(Duration::Seconds(20), [&] { return os::Exists(dir_.Path(name)); }));
  }

  os::TempDir dir_;
  std::string mark_;
  pid_t node_ = -1;
  os::Fd orders_;
  os::Fd news_;
  std::string partial_;
  std::vector<std::string> lines_;
  static inline int counter_ = 0;
};

TEST_F(AdoptionTest, WhatRunsIsTakenOverWithAllThatANodeMustKnow) {
  Begin();
  Order("start 3 2 5 " + Long());
  AwaitFile("runs");
  Kill();
  Begin();
  EXPECT_EQ(Find("adopted"), "adopted 3 2 slot=5 cpus=500 gpus=g3 limit=77 grace=300");
  // Once more, and while the adopted one is in its slot others start beside it.
  Kill();
  Begin();
  EXPECT_EQ(Find("adopted"), "adopted 3 2 slot=5 cpus=500 gpus=g3 limit=77 grace=300");
  Order("start 4 1 1 echo new");
  EXPECT_EQ(Await("ended 4"), "ended 4 1 success status=0 slot=1 out=new| note=");
  dir_.Write("go", "");
  EXPECT_EQ(Await("ended 3"), "ended 3 2 success status=0 slot=5 out=begun|over| note=");
  Order("taken 3 2");
  Order("taken 4 1");
  End("leave");
  EXPECT_TRUE(ShepherdsLeave());
  Begin();
  EXPECT_EQ(lines_, std::vector<std::string>{"ready"});
}

TEST_F(AdoptionTest, WhatIsAdoptedIsBoundAnew) {
  std::vector<int> cpus = os::AllowedCpus().Cpus();
  Begin();
  Order("start 3 2 5 " + Long() + "; sed -n s/^Cpus_allowed_list:.//p /proc/self/status");
  AwaitFile("runs");
  Kill();
  Begin();
  Order(fmt::format("bind 3 1 {}", cpus.front()));
  EXPECT_EQ(Await("bound"), "bound 3 false");
  lines_.clear();
  Order(fmt::format("bind 3 2 {}", cpus.back()));
  EXPECT_EQ(Await("bound"), "bound 3 true");
  dir_.Write("go", "");
  EXPECT_EQ(Await("ended 3"),
            fmt::format("ended 3 2 success status=0 slot=5 out=begun|over|{}| note=", cpus.back()));
}

TEST_F(AdoptionTest, WhatIsFrozenStaysSoUntilSomebodyLetsItGo) {
  Begin();
  Order("start 3 2 5 " + Long());
  AwaitFile("runs");
  Order("freeze 3 2");
  Order("start 4 1 1 echo after");  // what was ordered before has been sent, then
  Await("ended 4");
  for (int times = 0; times < 2; ++times) {
    Kill();
    Begin();
    EXPECT_EQ(Find("adopted"), "adopted 3 2 slot=5 cpus=500 gpus=g3 limit=77 grace=300 frozen");
    dir_.Write("go", "");
  }
  Order("thaw 3 2");
  EXPECT_EQ(Await("ended 3"), "ended 3 2 success status=0 slot=5 out=begun|over| note=");
}

TEST_F(AdoptionTest, AProcessThatTakesTaskAfterTaskEndsWithItsLastOne) {
  Begin();
  Order("give 1 1 1 echo $$ > $WORK/pid; answer 0 one");
  EXPECT_EQ(Await("ended 1"), "ended 1 1 success status=0 slot=1 out=one note=");
  Order("give 2 1 1 " + Long() + "; answer 0 $$");
  AwaitFile("runs");
  Kill();
  Begin();
  EXPECT_TRUE(Find("adopted").starts_with("adopted 2 1 slot=1")) << Find("adopted");
  EXPECT_EQ(Find("kept 1"), "kept 1 1 success status=0 slot=1 out=one note=");
  dir_.Write("go", "");
  std::string pid = *os::ReadFile(dir_.Path("pid"), 100);
  pid.pop_back();
  EXPECT_EQ(Await("ended 2"), "ended 2 1 success status=0 slot=1 out=begun|over|" + pid + " note=");
  Order("taken 1 1");
  Order("taken 2 1");
  EXPECT_TRUE(Until(Duration::Seconds(20), [&] { return kill(std::atoi(pid.c_str()), 0) != 0; }));
  Order("give 3 1 1 answer 0 three");
  EXPECT_EQ(Await("ended 3"), "ended 3 1 success status=0 slot=1 out=three note=");
}

TEST_F(AdoptionTest, AProcessThatWaitsForATaskEndsWithItsNode) {
  Begin();
  Order("give 1 1 1 echo $$ > $WORK/pid; answer 0 one");
  Await("ended 1");
  Kill();
  pid_t pid = std::atoi(os::ReadFile(dir_.Path("pid"), 100)->c_str());
  EXPECT_TRUE(Until(Duration::Seconds(20), [&] { return kill(pid, 0) != 0; }));
  Begin();
  EXPECT_EQ(Find("kept 1"), "kept 1 1 success status=0 slot=1 out=one note=");
  EXPECT_EQ(Find("adopted"), "");
}

// Such a shepherd is ended with its task, and its file of ends is dropped; the hub, which has heard
// of neither, runs those tasks again.
TEST_F(AdoptionTest, ShepherdsOfAnEarlierProtocolAreEnded) {
  Begin();
  End("stop");
  OtherShepherd old(folder(), OtherShepherd::AdoptedOf0());
  ASSERT_EQ(shepherd::ShepherdsIn(folder())->size(), 1u);
  shepherd::ShepherdName gone{4'000'000, 1};
  dir_.Write("node/shepherds/4000000-1.ends",
             OtherShepherd::Frame("E"));  // of a type that no shepherd has
  ASSERT_EQ(shepherd::ShepherdsIn(folder())->size(), 2u);
  Begin();
  EXPECT_EQ(
      lines_,
      (std::vector<std::string>{
          fmt::format(
              "problem the shepherd with pid {} and its task are ended: it speaks version 0 of "
              "the shepherds' protocol, and this program knows versions 1 to 1",
              old.pid),
          "ready"}));
  int status = 0;
  EXPECT_EQ(waitpid(old.pid, &status, 0), old.pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  auto left = shepherd::ShepherdsIn(folder());
  for (const shepherd::ShepherdName& name : *left) EXPECT_NE(name.pid, old.pid);
  EXPECT_FALSE(os::Exists(shepherd::PathOfEnds(folder(), gone)));
  Order("start 4 1 1 echo new");
  EXPECT_EQ(Await("ended 4"), "ended 4 1 success status=0 slot=1 out=new| note=");
}

// The way back from a release: its shepherds state which programs can adopt them.
TEST_F(AdoptionTest, ShepherdsOfALaterProtocolAreAdoptedWhereTheyPermitIt) {
  Begin();
  End("stop");
  OtherShepherd later(folder(), OtherShepherd::AdoptedOf(2, 1));
  Begin();
  EXPECT_TRUE(Find("adopted 3").starts_with("adopted 3 2 slot=2")) << Find("adopted");
  Order("look 3 2");  // it does not state that it can be asked, and would take one for damage
  EXPECT_EQ(Await("look 3"),
            "look 3 the task was started by an older release of the node, which cannot show it");
  End("stop");
  int status = 0;
  EXPECT_EQ(waitpid(later.pid, &status, 0), later.pid);
  for (uint32_t adopters : {2, 0}) {
    OtherShepherd stranger(folder(), OtherShepherd::AdoptedOf(2, adopters));
    Begin();
    EXPECT_EQ(Find("adopted"), "");
    EXPECT_NE(Find("problem").find("speaks version 2"), std::string::npos);
    EXPECT_EQ(waitpid(stranger.pid, &status, 0), stranger.pid);
    End("stop");
  }
}

TEST_F(AdoptionTest, AnAdoptedTaskCanBeLookedAt) {
  Begin();
  Order(
      "start 1 1 1 echo one; touch $WORK/wrote; until test -e $WORK/more; do sleep 0.01; done; "
      "echo two; until test -e $WORK/end; do sleep 0.01; done");
  ASSERT_TRUE(Until(kDeadline, [&] { return os::Exists(dir_.Path("wrote")); }));
  Kill();
  Begin();
  Order("look 1 1");
  EXPECT_EQ(Await("look 1"), "look 1 one|");
  dir_.Write("end", "");
  dir_.Write("more", "");
  EXPECT_NE(Await("ended 1").find("out=one|two|"), std::string::npos);
  End("stop");
}

TEST_F(AdoptionTest, AnEndIsToldAgainUntilItIsTaken) {
  Begin();
  Order("start 1 1 1 echo one; exit 3");
  std::string rest = " 1 1 exit status=3 slot=1 out=one| note=";
  EXPECT_EQ(Await("ended 1"), "ended" + rest);
  for (int times = 0; times < 3; ++times) {
    Kill();
    EXPECT_TRUE(ShepherdsLeave());  // it has nothing to wait for
    Begin();
    EXPECT_EQ(Find("kept"), "kept" + rest);
  }
  Order("taken 1 1");
  End("stop");
  Begin();
  EXPECT_EQ(lines_, std::vector<std::string>{"ready"});
}

TEST_F(AdoptionTest, AnEndWithoutANodeIsKept) {
  Begin();
  Order("start 1 1 1 " + Long() + "; seq 50000");
  AwaitFile("runs");
  Kill();
  dir_.Write("go", "");
  EXPECT_TRUE(ShepherdsLeave());
  Begin();
  EXPECT_EQ(Find("kept"), "kept 1 1 success status=0 slot=1 out=<288905 bytes in a file> note=");
  Kill();
  Begin();  // the output is still there
  EXPECT_EQ(Find("kept"), "kept 1 1 success status=0 slot=1 out=<288905 bytes in a file> note=");
  Order("taken 1 1");
  End("stop");
  Begin();
  EXPECT_EQ(lines_, std::vector<std::string>{"ready"});
  EXPECT_TRUE(os::ListDir(folder() + "/spool")->empty());
}

TEST_F(AdoptionTest, EndsBeforeTheRunningOneAreKeptToo) {
  Begin();
  Order("start 1 1 1 echo first");
  Order("start 2 1 1 " + Long());
  Order("start 3 1 1 echo never > $WORK/never");
  AwaitFile("runs");
  Await("ended 1");
  Kill();
  Begin();
  EXPECT_EQ(Find("kept"), "kept 1 1 success status=0 slot=1 out=first| note=");
  EXPECT_TRUE(Find("adopted 2 1").starts_with("adopted 2 1 slot=1"));
  EXPECT_EQ(lines_.size(), 3u);
  dir_.Write("go", "");
  Await("ended 2");
  Order("taken 1 1");
  Order("taken 2 1");
  // Its shepherd has left when all is taken; what it held ahead was not started.
  EXPECT_TRUE(Until(Duration::Seconds(20), [&] { return Shepherds().size() <= 2; }));
  EXPECT_FALSE(os::Exists(dir_.Path("never")));
}

TEST_F(AdoptionTest, AdoptedAttemptsAreEndedByOrder) {
  Begin();
  Order("start 1 1 1 trap '' TERM; echo > $WORK/runs; while :; do sleep 9999." + mark_ + "; done");
  Order("start 2 1 2 echo > $WORK/two; exec sleep 9999." + mark_);
  AwaitFile("runs");
  AwaitFile("two");
  Kill();
  Begin();
  Order("term 2 1");
  EXPECT_EQ(Await("ended 2"), "ended 2 1 stopped status=0 slot=2 out= note=");
  Order("term 1 1");
  Order("kill 1 1");
  EXPECT_EQ(Await("ended 1"), "ended 1 1 stopped status=0 slot=1 out= note=");
  EXPECT_TRUE(Marked("9999." + mark_).empty());
}

TEST_F(AdoptionTest, PatienceEndsWithTermThenKill) {
  Begin(200);
  Order(
      "start 1 1 1 trap 'echo term; exit 0' TERM; echo > $WORK/runs; while :; do sleep 0.01; done");
  Order("start 2 1 2 trap '' TERM; echo > $WORK/two; while :; do sleep 9999." + mark_ + "; done");
  AwaitFile("runs");
  AwaitFile("two");
  Kill();
  EXPECT_TRUE(ShepherdsLeave());
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  Begin();
  std::string note = "note=its node did not come back, so it was ended";
  EXPECT_EQ(Find("kept 1"), "kept 1 1 node status=0 slot=1 out=term| " + note);
  EXPECT_EQ(Find("kept 2"), "kept 2 1 node status=0 slot=2 out= " + note);
}

TEST_F(AdoptionTest, WithoutItsFolderAShepherdEndsItself) {
  Begin();
  Order("start 1 1 1 echo > $WORK/runs; exec sleep 9999." + mark_);
  AwaitFile("runs");
  std::vector<pid_t> shepherds = Shepherds();
  Kill();
  // The shepherds may be leaving a file there in this moment.
  auto removed = [&] { return os::RemoveTree(folder()).has_value(); };
  ASSERT_TRUE(Until(Duration::Seconds(20), removed));
  auto gone = [&] {
    for (pid_t pid : shepherds) {
      auto info = os::InfoOf(pid);
      if (info && info->state != 'Z') return false;
    }
    return true;
  };
  EXPECT_TRUE(Until(Duration::Seconds(20), gone));
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  EXPECT_FALSE(os::Exists(folder()));
}

TEST_F(AdoptionTest, WhatAKilledShepherdLeftIsEndedAndOthersAreNot) {
  Begin();
  Order("start 1 1 1 setsid sleep 9999." + mark_ + "1 & setsid sleep 9999." + mark_ +
        "1 & echo > $WORK/runs; wait");
  Order("start 2 1 2 echo > $WORK/two; exec sleep 9999." + mark_ + "2");
  AwaitFile("runs");
  AwaitFile("two");
  pid_t first = 0;
  for (pid_t pid : Shepherds()) {
    if (os::DescendantsOf(pid).size() >= 3) first = pid;
  }
  ASSERT_GT(first, 0);
  Kill();
  kill(first, SIGKILL);
  Begin();
  EXPECT_TRUE(Marked("9999." + mark_ + "1").empty());
  EXPECT_TRUE(OneIsMarked("9999." + mark_ + "2"));
  EXPECT_EQ(Find("adopted 1"), "");
  EXPECT_NE(Find("adopted 2"), "");
  // And when it is killed after it was adopted.
  for (pid_t pid : Shepherds()) {
    if (!os::DescendantsOf(pid).empty()) kill(pid, SIGKILL);
  }
  EXPECT_EQ(Await("ended 2"), "ended 2 1 node status=0 slot=2 out= note=its shepherd was killed");
  EXPECT_TRUE(Marked("9999." + mark_).empty());
}

TEST_F(AdoptionTest, WithACgroupEvenWhatEmptiedItsEnvironmentIsEnded) {
  if (!os::CgroupTree::Create(os::FindCgroups())) GTEST_SKIP() << "no cgroup here";
  Begin();
  Order("start 1 1 1 env -i setsid sleep 9999." + mark_ + "& echo > $WORK/runs; wait");
  AwaitFile("runs");
  EXPECT_TRUE(Until(Duration::Seconds(20), [&] { return !Marked("9999." + mark_).empty(); }));
  std::vector<pid_t> shepherds = Shepherds();
  Kill();
  for (pid_t pid : shepherds) kill(pid, SIGKILL);
  // While it becomes another program, it has no words for a moment.
  EXPECT_TRUE(Until(Duration::Seconds(20), [&] { return !Marked("9999." + mark_).empty(); }));
  Begin();
  EXPECT_TRUE(Until(Duration::Seconds(20), [&] { return Marked("9999." + mark_).empty(); }));
}

TEST_F(AdoptionTest, AShepherdThatDoesNotAnswerIsEnded) {
  Begin();
  Order("start 1 1 1 echo > $WORK/runs; exec sleep 9999." + mark_);
  AwaitFile("runs");
  std::vector<pid_t> shepherds = Shepherds();
  for (pid_t pid : shepherds) kill(pid, SIGSTOP);
  Kill();
  Begin();
  for (pid_t pid : shepherds) {
    const std::string problem =
        fmt::format("problem the shepherd with pid {} and its task are ended", pid);
    EXPECT_TRUE(Find(problem).ends_with("it does not answer"));
  }
  EXPECT_EQ(Find("adopted"), "");
  EXPECT_TRUE(Marked("9999." + mark_).empty());
}

TEST_F(AdoptionTest, AnOrderlyEndLeavesTasksOrStopsThem) {
  Begin();
  Order("start 1 1 1 echo > $WORK/runs; exec sleep 9999." + mark_);
  Order("start 2 1 2 echo two");
  AwaitFile("runs");
  Await("ended 2");
  End("leave");
  EXPECT_TRUE(OneIsMarked("9999." + mark_));
  Begin();
  EXPECT_NE(Find("adopted 1"), "");
  EXPECT_NE(Find("kept 2"), "");
  End("stop");  // an end that was not taken is not lost by that
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  Begin();
  EXPECT_EQ(lines_.size(), 2u);
  EXPECT_NE(Find("kept 2"), "");
}

TEST_F(AdoptionTest, OneProcessOwnsTheFolder) {
  Begin();
  auto loop = os::RealLoop::Create();
  ProcessExecutorOptions options;
  options.node_folder = folder();
  auto second = ProcessExecutor::Create(**loop, options);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
  EXPECT_NE(second.error().message.find(fmt::format("pid {}", node_)), std::string::npos);
}

TEST_F(AdoptionTest, WhatAnEarlierBootLeftMeansNothing) {
  Begin();
  Order("start 1 1 1 echo one");
  Await("ended 1");
  Kill();
  EXPECT_TRUE(ShepherdsLeave());
  dir_.Write("node/shepherds/boot", "another");
  Begin();
  EXPECT_EQ(lines_, std::vector<std::string>{"ready"});
}

// Many short tasks while the process is killed again and again at any moment. Each attempt writes
// a line when it runs. No attempt runs twice, each one that ran has an end, and each end is always
// the same.
TEST_F(AdoptionTest, KilledAtAnyMoment) {
  Prng prng(20'241'121);
  constexpr uint32_t kTasks = 150;
  std::map<uint32_t, uint32_t> attempt;  // of a task that has no end yet
  std::map<std::string, std::string> ends;
  std::set<std::string> held;
  std::map<std::string, int> seen;
  for (uint32_t task = 0; task < kTasks; ++task) attempt[task] = 0;
  auto hear = [&] {
    for (const std::string& line : std::exchange(lines_, {})) {
      std::istringstream words(line);
      std::string what;
      uint32_t task = 0;
      uint32_t number = 0;
      words >> what >> task >> number;
      std::string name = fmt::format("{} {}", task, number);
      ++seen[what];
      if (what == "adopted") held.insert(name);
      if (what != "ended" && what != "kept") continue;
      std::string end = line.substr(line.find(' '));
      auto [known, fresh] = ends.try_emplace(name, end);
      EXPECT_EQ(known->second, end);
      // An attempt that was not named at a beginning does not run any more.
      if (fresh) EXPECT_EQ(number, attempt[task]) << line;
      attempt.erase(task);
      if (node_ > 0 && prng.Chance(60)) Order("taken " + name);
    }
  };
  int kills = 0;
  uint64_t longest = 30'000'000;  // nanoseconds until a kill; more where processes start slowly
  while (!attempt.empty() && kills < 400) {
    Begin();
    held.clear();
    hear();
    size_t before = attempt.size();
    uint32_t given = 0;
    for (auto& [task, number] : attempt) {
      if (held.contains(fmt::format("{} {}", task, number)) || ++given > 24) continue;
      ++number;
      Order(fmt::format("start {} {} {} echo {}.{} >> $WORK/log; sleep 0.{}; exit {}", task, number,
                        1 + task % 8, task, number, task % 5 == 4 ? "3" : "01", task % 3));
    }
    int64_t until = os::MonotonicNanos() + static_cast<int64_t>(prng.Below(longest));
    while (os::MonotonicNanos() < until) {
      Hear(1);
      hear();
    }
    Kill();
    ++kills;
    hear();
    if (attempt.size() == before) longest = std::min<uint64_t>(longest * 2, 1'000'000'000);
  }
  EXPECT_GT(kills, 3);
  EXPECT_GT(seen["adopted"], 0);
  EXPECT_GT(seen["kept"], 0);
  Begin();
  hear();
  auto log = os::ReadFile(dir_.Path("log"), 1 << 24);
  ASSERT_TRUE(log.has_value());
  std::istringstream lines(*log);
  std::set<std::string> ran;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(ran.insert(line).second) << line << " ran twice";
    line.replace(line.find('.'), 1, " ");
    EXPECT_TRUE(ends.contains(line)) << line << " has no end";
  }
  EXPECT_EQ(ran.size(), ends.size());
}

// ---- The node's side ---------------------------------------------------------------------------

class QuietExecutor final : public Executor {
 public:
  void OpenJob(JobId, std::shared_ptr<const JobSettings>, bool) override {}
  void CloseJob(JobId) override {}
  void Start(StartOrder) override {}
  void Withdraw(const AttemptRef&) override {}
  void End(const AttemptRef& ref, EndHow, Cause) override { ended.push_back(ref.index); }
  void Pause(bool) override {}
  void Taken(const AttemptRef& ref) override { taken.push_back(ref.index); }
  std::vector<uint32_t> ended;
  std::vector<uint32_t> taken;
};

class Heard final : public transport::Channel<wire::ToHub, wire::ToNode> {
 public:
  void Send(wire::ToHub message) override { sent.push_back(std::move(message)); }
  void OnMessage(std::function<void(wire::ToNode)> receiver) override {
    tell = std::move(receiver);
  }
  std::vector<wire::ToHub> sent;
  std::function<void(wire::ToNode)> tell;
};

TEST(NodeAdopt, HelloNamesWhatWasAdoptedAndEndsFollow) {
  auto loop = std::move(*os::RealLoop::Create());
  QuietExecutor executor;
  Node node(NodeId(4), {.node_name = "n", .slots = 2, .milli_cpus = 2000}, {*loop, executor, {}});
  auto settings = std::make_shared<JobSettings>();
  Adopted adopted;
  adopted.running.push_back({{JobId(1), 7, Attempt(2)}, 2, loop->Now(), {}, {}, settings});
  AttemptEnd end;
  end.ref = {JobId(1), 5, Attempt(1)};
  adopted.ended.push_back({end, nullptr});
  node.Adopt(std::move(adopted));
  Heard hub;
  node.Connect(hub);
  ASSERT_EQ(hub.sent.size(), 2u);
  std::vector<HeldTasks> wanted = {{JobId(1), Attempt(2), {{7, 1}}},
                                   {JobId(1), Attempt(1), {{5, 1}}}};
  EXPECT_EQ(std::get<wire::Hello>(hub.sent[0]).holds, wanted);
  const auto& ends = std::get<wire::Ends>(hub.sent[1]);
  ASSERT_EQ(ends.ends.size(), 1u);
  EXPECT_EQ(ends.ends[0].ref.index, 5u);
  // An order of the hub reaches it before its job was opened again.
  hub.tell(wire::Drop{Epoch(1), JobId(1), Attempt(2), {{7, 1}}});
  hub.tell(wire::ReportsTaken{ends.number});
  loop->Post([&] { loop->Stop(); });
  loop->Run();
  EXPECT_EQ(executor.ended, std::vector<uint32_t>{7});
  EXPECT_EQ(executor.taken, std::vector<uint32_t>{5});
}

}  // namespace

int RunNodeProgram(const char* folder, const char* patience) {
  return NodeProgram().Run(folder, std::strtoll(patience, nullptr, 10));
}

}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  if (argc == 4 && std::string(argv[1]) == "__node") {
    return spate::node::RunNodeProgram(argv[2], argv[3]);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
