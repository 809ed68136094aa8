// Starts real processes, by the scripts that hosts of ssh run, too.
#include "pool/local/local.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <thread>

#include "pool/process.h"
#include "pool/process_testing.h"
#include "pool/testing.h"

namespace spate::pool {
namespace {

using Kind = SubmitFailure::Kind;

class LocalTest : public testing::TestWithParam<std::string> {
 protected:
  std::string Start(const PilotSpec& spec) {
    auto call = driver_->Submit(spec);
    EXPECT_TRUE(call) << call.error().message;
    Outcome outcome = host_.Run(*call);
    auto id = driver_->ReadSubmit(outcome);
    EXPECT_TRUE(id) << id.error().message << outcome.err;
    return id.value_or("");
  }
  ListedPilot One(const std::string& prefix = "p-") {
    return TheOnly(*driver_, host_, {.prefix = prefix, .ids = {}});
  }
  std::vector<ListedPilot> All(const PilotQuery& query) {
    auto pilots = driver_->ReadQuery(query, host_.Run(driver_->Query(query)));
    EXPECT_TRUE(pilots) << pilots.error().message;
    return pilots.value_or(std::vector<ListedPilot>{});
  }
  bool AwaitEndOf(const std::string& prefix = "p-") {
    return AwaitEnd(*driver_, host_, {.prefix = prefix, .ids = {}});
  }
  mode_t Mode(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(stat(host_.Path(path).c_str(), &info), 0) << path;
    return info.st_mode & 0777;
  }
  bool AwaitOutput(const std::string& tag, const std::string& text) {
    return Await([&] { return host_.Read("logs/" + tag).contains(text); });
  }

  TestHost host_{GetParam()};
  std::unique_ptr<PoolDriver> driver_ = MakeLocal({});
};

TEST_P(LocalTest, ALife) {
  std::string id = Start(host_.Spec("p-1"));
  EXPECT_TRUE(IsProcessId(id)) << id;
  ASSERT_TRUE(AwaitOutput("p-1", "some words"));
  EXPECT_EQ(host_.Started(), id + "\n");
  ListedPilot pilot = One();
  EXPECT_EQ(pilot.id, id);
  EXPECT_EQ(pilot.tag, "p-1");
  EXPECT_EQ(pilot.state, PilotState::kRunning);
  EXPECT_EQ(pilot.reason, "");
  // It has a session of its own.
  EXPECT_EQ(getsid(std::stoi(id)), std::stoi(id));
  EXPECT_TRUE(All({.prefix = "q-", .ids = {}}).empty());
  EXPECT_EQ(All({.prefix = "q-", .ids = {id}}).size(), 1U);
  host_.Release();
  ASSERT_TRUE(AwaitEndOf());
  pilot = One();
  EXPECT_EQ(pilot.id, id);
  EXPECT_EQ(pilot.reason, "exit status 3; some words; last words");
}

TEST_P(LocalTest, OthersReadNothing) {
  PilotSpec spec = host_.Spec("p-1");
  spec.command[2] = "umask; " + spec.command[2];
  umask(022);
  Start(spec);
  EXPECT_EQ(Mode("logs/p-1"), 0600U);
  EXPECT_EQ(Mode("logs"), 0700U);
  EXPECT_EQ(Mode(host_.Pilots()), 0700U);
  EXPECT_EQ(Mode(host_.Folder("p-1")), 0700U);
  // The pilot's own is the user's.
  EXPECT_TRUE(AwaitOutput("p-1", "0022\n"));
}

TEST_P(LocalTest, AFailureIsToldWithItsWords) {
  PilotSpec spec = host_.Spec("p-1");
  spec.command = {"sh", "-c", "echo 'spate: the hub does not know us' >&2; exit 7"};
  Start(spec);
  ASSERT_TRUE(AwaitEndOf());
  EXPECT_EQ(One().reason, "exit status 7; spate: the hub does not know us");
  spec.tag = "q-1";
  spec.command = {"no-such-command"};
  Start(spec);
  ASSERT_TRUE(AwaitEndOf("q-"));
  EXPECT_TRUE(One("q-").reason.starts_with("exit status 127; ")) << One("q-").reason;
  EXPECT_TRUE(One("q-").reason.contains("no-such-command")) << One("q-").reason;
}

TEST_P(LocalTest, ATagStartsOnce) {
  PilotSpec spec = host_.Spec("p-1");
  std::string id = Start(spec);
  EXPECT_EQ(Start(spec), id);
  host_.Release();
  ASSERT_TRUE(AwaitEndOf());
  EXPECT_EQ(Start(spec), id);
  EXPECT_EQ(host_.Started(), id + "\n");
}

TEST_P(LocalTest, ATagStartsOnceWhenManyTry) {
  CommandLine call = *driver_->Submit(host_.Spec("p-1"));
  std::vector<std::thread> threads;
  std::vector<Outcome> outcomes(8);
  for (size_t k = 0; k < outcomes.size(); ++k) {
    threads.emplace_back([&, k] { outcomes[k] = host_.Run(call, "call" + std::to_string(k)); });
  }
  for (std::thread& thread : threads) thread.join();
  std::string id = One().id;
  for (const Outcome& outcome : outcomes) {
    auto started = driver_->ReadSubmit(outcome);
    if (started) {
      EXPECT_EQ(*started, id);
    } else {
      EXPECT_TRUE(started.error().perhaps_there) << started.error().message;
      EXPECT_EQ(started.error().kind, Kind::kUnavailable);
    }
  }
  ASSERT_TRUE(AwaitOutput("p-1", "some words"));
  EXPECT_EQ(host_.Started(), id + "\n");
}

TEST_P(LocalTest, Cancel) {
  std::string id = Start(host_.Spec("p-1"));
  ASSERT_TRUE(AwaitOutput("p-1", "some words"));
  CommandLine call =
      driver_->Cancel(std::vector<std::string>{"1", "all", id, "$(touch x).1.0123abcd"});
  EXPECT_TRUE(CheckOutcome(call, host_.Run(call)));
  ASSERT_TRUE(AwaitEndOf());
  EXPECT_EQ(One().reason, "exit status 5; some words; told");
  // It has gone, which does no harm.
  EXPECT_TRUE(CheckOutcome(call, host_.Run(call)));
}

// The same pid, but another start of the process, or of the host.
TEST_P(LocalTest, ARecycledPidIsNotThePilot) {
  std::string id = Start(host_.Spec("p-1"));
  ASSERT_TRUE(AwaitOutput("p-1", "some words"));
  std::string pid = id.substr(0, id.find('.')), boot = id.substr(id.rfind('.') + 1);
  std::string start = id.substr(pid.size() + 1, id.size() - pid.size() - boot.size() - 2);
  std::string record = host_.Folder("p-1") + "/id";
  struct Case {
    std::string id, reason;
  };
  for (const Case& c : std::vector<Case>{
           {pid + "." + start + "0." + boot, "killed; some words"},
           {pid + "." + start + ".0badb007", "the host was started again; some words"},
       }) {
    CommandLine call = driver_->Cancel(std::vector<std::string>{c.id});
    EXPECT_TRUE(CheckOutcome(call, host_.Run(call)));
    host_.Write(record, c.id + "\n");
    EXPECT_EQ(One().state, PilotState::kEnded);
    EXPECT_EQ(One().reason, c.reason);
    // Nothing is said of an id alone that does not run: the host may be another one.
    EXPECT_EQ(All({.prefix = "q-", .ids = {c.id}}).size(), 1U);
    std::filesystem::remove_all(host_.Path(host_.Folder("p-1")));
    EXPECT_TRUE(All({.prefix = "p-", .ids = {c.id}}).empty());
    std::filesystem::create_directory(host_.Path(host_.Folder("p-1")));
    std::filesystem::create_symlink(host_.Path("logs/p-1"),
                                    host_.Path(host_.Folder("p-1") + "/output"));
  }
  std::filesystem::remove_all(host_.Path(host_.Folder("p-1")));
  auto pilots = All({.prefix = "p-", .ids = {id}});
  ASSERT_EQ(pilots.size(), 1U);
  EXPECT_EQ(pilots[0].state, PilotState::kRunning);
  EXPECT_FALSE(host_.Read("logs/p-1").contains("told"));
}

TEST_P(LocalTest, AKilledPilotHasEnded) {
  std::string id = Start(host_.Spec("p-1"));
  ASSERT_TRUE(AwaitOutput("p-1", "some words"));
  ASSERT_EQ(kill(std::stoi(id), SIGKILL), 0);
  ASSERT_TRUE(AwaitEndOf());
  EXPECT_EQ(One().reason, "killed; some words");
}

TEST_P(LocalTest, EndsAreForgotten) {
  std::string id = Start(host_.Spec("p-1"));
  std::filesystem::create_directory(host_.Path(host_.Folder("q-1")));  // a start that broke off
  auto make_old = [this](const std::string& path) {
    auto hours = std::chrono::hours(2);
    std::filesystem::last_write_time(host_.Path(path),
                                     std::filesystem::file_time_type::clock::now() - hours);
  };
  make_old(host_.Folder("p-1"));
  make_old(host_.Folder("q-1"));
  EXPECT_EQ(One().state, PilotState::kRunning);
  EXPECT_FALSE(host_.Has(host_.Folder("q-1")));
  host_.Release();
  ASSERT_TRUE(AwaitEndOf());
  EXPECT_EQ(All({.prefix = "p-", .ids = {}}).size(), 1U);
  make_old(host_.Folder("p-1") + "/ended");
  EXPECT_TRUE(All({.prefix = "p-", .ids = {id}}).empty());
  EXPECT_FALSE(host_.Has(host_.Folder("p-1")));
}

TEST_P(LocalTest, AScriptThatIsCutOffDoesNothing) {
  CommandLine call = *driver_->Submit(host_.Spec("p-1"));
  std::string whole = call.input;
  for (size_t size = 0; size + 1 < whole.size();
       size += whole.size() - size > 30 ? std::min<size_t>(211, whole.size() - size - 29) : 1) {
    call.input = whole.substr(0, size);
    auto id = driver_->ReadSubmit(host_.Run(call));
    ASSERT_FALSE(id) << size;
    ASSERT_FALSE(host_.Has("home/.local")) << size;
  }
}

TEST_P(LocalTest, RefusalsLeaveNothing) {
  auto refused = [this](const PilotSpec& spec, const std::string& text) {
    auto id = driver_->ReadSubmit(host_.Run(*driver_->Submit(spec)));
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().kind, Kind::kRefused) << id.error().message;
    EXPECT_FALSE(id.error().perhaps_there);
    EXPECT_TRUE(id.error().message.contains(text)) << id.error().message;
    EXPECT_FALSE(host_.Has(host_.Folder("p-1")));
  };
  PilotSpec spec = host_.Spec("p-1");
  spec.output_file = host_.Path("hold/out");
  refused(spec, "output file");
  host_.Program("bin/setsid", "echo no sessions here >&2; exit 1\n");
  refused(host_.Spec("p-1"), "no sessions here");
  std::filesystem::remove_all(host_.Path("home"));
  host_.Write("home", "");
  refused(host_.Spec("p-1"), "no folder for pilots");
}

INSTANTIATE_TEST_SUITE_P(Shells, LocalTest, testing::ValuesIn(Shells()),
                         [](const auto& shell) { return shell.param.substr(5); });

TEST(LocalDriverTest, Calls) {
  auto driver = MakeLocal({});
  auto call = driver->Submit(PlainSpec());
  ASSERT_TRUE(call);
  EXPECT_EQ(call->argv, (std::vector<std::string>{"sh", "-s"}));
  EXPECT_TRUE(call->environment.empty());
  EXPECT_FALSE(driver->Test(PlainSpec()));
  // Files of this host are where they are.
  PilotSpec spec = PlainSpec();
  spec.files = {"/a/x", "/b/x"};
  spec.shared_files = false;
  ASSERT_TRUE(driver->Submit(spec));
  EXPECT_EQ(driver->Submit(spec)->input, call->input);
  spec.nodes = 2;
  EXPECT_FALSE(driver->Submit(spec));
}

}  // namespace
}  // namespace spate::pool
