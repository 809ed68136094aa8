// The verbs, against a hub that answers what a test says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "cli/exit_code.h"
#include "cli/options/pool_options.h"
#include "command/pool/pool_text.h"
#include "command/testing_world.h"
#include "core/model/facts.h"
#include "present/json/json_fields.h"
#include "present/table/text_width.h"

namespace spate::cli::command {
namespace {

using Argv = std::vector<std::string>;
using Of = wire::ChangePools::Change;

class PoolHub final : public client::Asker {
 public:
  Status Query(wire::Question question, const AcceptAnswer& take) override {
    asked.push_back(question);
    Status status = Fail(ErrorKind::kUnavailable, "not asked here");
    question.Visit<wire::LookAtPools, wire::ReadPoolLog, wire::TryPool, wire::AddPool,
                   wire::ChangePools, wire::LookAtHub>(
        [&](const auto& one) { status = Answer(one, take); });
    return status;
  }

  std::vector<wire::Question> asked;
  std::function<std::vector<PoolFacts>()> pools = [] { return std::vector<PoolFacts>(); };
  std::function<Result<PoolTrial>(const wire::AddPool&)> add = [](const wire::AddPool& pool) {
    return PoolTrial{pool.name, "sbatch x", "#!/bin/sh\n", "fine", true};
  };
  std::vector<PoolEvent> events;
  PoolTrial trial;
  Status changed;
  Status there;  // what LookAtHub finds
  HubFacts facts;

  template <typename Q>
  std::vector<Q> All() const {
    std::vector<Q> all;
    for (const wire::Question& question : asked) {
      if (const auto one = question.As<Q>()) all.push_back(*one);
    }
    return all;
  }

 private:
  template <typename T>
  static Status Give(const T& answer, const AcceptAnswer& take) {
    return take(wire::BytesOf(answer));
  }
  Status Answer(const wire::LookAtPools& question, const AcceptAnswer& take) {
    for (const PoolFacts& pool : pools()) {
      bool meant =
          question.names.empty() ||
          std::set(question.names.begin(), question.names.end()).contains(pool.policy.name);
      if (!meant) continue;
      if (auto taken = Give(pool, take); !taken) return taken;
    }
    return {};
  }
  Status Answer(const wire::ReadPoolLog&, const AcceptAnswer& take) {
    for (const PoolEvent& event : events) {
      if (auto taken = Give(event, take); !taken) return taken;
    }
    return {};
  }
  Status Answer(const wire::TryPool&, const AcceptAnswer& take) { return Give(trial, take); }
  Status Answer(const wire::AddPool& question, const AcceptAnswer& take) {
    auto added = add(question);
    return added ? Give(*added, take) : std::unexpected(added.error());
  }
  Status Answer(const wire::ChangePools&, const AcceptAnswer& take) {
    return changed ? Give(wire::Done(), take) : changed;
  }
  Status Answer(const wire::LookAtHub&, const AcceptAnswer& take) {
    return there ? Give(facts, take) : there;
  }
};

struct Ran {
  Result<int> code = 0;
  std::string out, err;
};

struct PoolTest : testing::Test {
  PoolHub hub;
  std::string reach;
  int pauses = 0;

  Ran Run(std::string_view command, const Argv& argv) {
    Ran ran;
    auto words = ParseWords(Named(command), argv);
    EXPECT_TRUE(words) << words.error().message;
    HistoryEnvironment environment;
    FakeWorld world(environment);
    world.ask_hub = [&](const Words& typed, HubBody body) {
      HubScreen screen{hub, typed, OutputFormOf(typed).value()};
      screen.reach = reach;
      screen.write_out = [&](std::string_view text) {
        ran.out += text;
        return Status();
      };
      screen.write_err = [&](std::string_view text) { ran.err += text; };
      screen.pause = [&](Duration) { ++pauses; };
      ran.code = body(screen);
      return ran.code;
    };
    const Wiring wiring{.commands = AllCommands(), .world = &world};
    Named(command).run(Invocation{.words = *words, .argv = argv, .wiring = &wiring});
    return ran;
  }
};

PoolFacts Lab() {
  PoolFacts pool;
  pool.policy.name = "lab";
  pool.system = "slurm";
  pool.policy.user = "ann";
  pool.account = "ann";
  pool.state = "on";
  pool.policy.max_pilots = 10;
  pool.policy.backlog = 4;
  pool.queued = 1;
  pool.joined = 2;
  pool.nodes = 2;
  pool.wanted = 3;
  pool.slots = 4;
  pool.cpus = 4;
  pool.memory = uint64_t{8} << 30;
  pool.policy.time_limit = Duration::Seconds(3600);
  pool.policy.idle_exit = Duration::Seconds(300);
  pool.options = {"-p", "short", "--comment", "a b"};
  return pool;
}

TEST_F(PoolTest, AddTellsWhatIsThereAndWhatIsNext) {
  hub.pools = [] { return std::vector{Lab()}; };
  Ran ran = Run("pool add", {"slurm", "lab", "--", "-t", "1h"});
  EXPECT_EQ(ran.code, kExitSuccess);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "spate: pool lab added: up to 10 pilots when tasks wait for them, 4 in the queue "
            "at once; each ends after 1h00m or after 5m00s without work\n"
            "spate: to run tasks only there: spate submit --pool lab ...; to see its status: spate "
            "pool info "
            "lab\n");
  auto asked = hub.All<wire::AddPool>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].name, "lab");
  EXPECT_EQ(asked[0].system, "slurm");
  EXPECT_TRUE(asked[0].test);
  EXPECT_FALSE(asked[0].dry_run);
  EXPECT_EQ(asked[0].wish.values.settings.options, (Argv{"-t", "1:00:00"}));
}

TEST_F(PoolTest, AddSaysWhatIsMissing) {
  reach = " --hub --state s";
  Ran ran = Run("pool add", {"pbs", "lab", "--no-test"});
  EXPECT_EQ(ran.err,
            "spate: pool lab added\n"
            "spate: the time limit of a pilot is not known; to set it: spate pool set --state s "
            "lab --time-limit 1h\n"
            "spate: to run tasks only there: spate submit --state s --pool lab ...; to see its "
            "status: spate pool info --state s lab\n");
  EXPECT_FALSE(hub.All<wire::AddPool>().at(0).test);
}

TEST_F(PoolTest, AddFailsWithTheWordsOfTheTest) {
  hub.add = [](const wire::AddPool&) -> Result<PoolTrial> {
    return Fail(ErrorKind::kInvalid, "sbatch: error: invalid partition");
  };
  Ran ran = Run("pool add", {"slurm", "lab"});
  ASSERT_FALSE(ran.code);
  EXPECT_EQ(ran.code.error().message, "sbatch: error: invalid partition");
  EXPECT_EQ(ran.out + ran.err, "");
}

TEST_F(PoolTest, ADryRunShowsAll) {
  Ran ran = Run("pool add", {"slurm", "lab", "--dry-run"});
  EXPECT_EQ(ran.code, kExitSuccess);
  EXPECT_TRUE(hub.All<wire::AddPool>().at(0).dry_run);
  EXPECT_EQ(ran.out, "Pool lab\nCommand\n  sbatch x\nScript\n  #!/bin/sh\nTest: passed\n  fine\n");
  EXPECT_EQ(ran.err, "");
  hub.add = [](const wire::AddPool& pool) {
    return PoolTrial{pool.name, "sbatch x", "", "no\x1b such", false, "cpus = 2\nqueue\n"};
  };
  ran = Run("pool add", {"slurm", "lab", "--dry-run"});
  EXPECT_EQ(ran.code, kExitTasksFailed);
  EXPECT_EQ(ran.out,
            "Pool lab\nCommand\n  sbatch x\nDescription\n  cpus = 2\n  queue\nTest: failed\n"
            "  no\\x1b such\n");
  ran = Run("pool add", {"slurm", "lab", "--dry-run", "--json"});
  EXPECT_EQ(ran.out,
            "{\"type\":\"pool_trial\",\"v\":2,\"pool\":\"lab\",\"command\":\"sbatch x\","
            "\"script\":\"\",\"words\":\"no\\u001b such\",\"passed\":false,"
            "\"description\":\"cpus = 2\\nqueue\\n\",\"differences\":[]}\n");
}

TEST_F(PoolTest, EachHostIsAPool) {
  hub.add = [](const wire::AddPool& pool) -> Result<PoolTrial> {
    if (pool.wish.values.settings.host == "pc2")
      return Fail(ErrorKind::kInvalid, "ssh: no route to host");
    return PoolTrial{"", "ssh x", "", "", true};
  };
  Ran ran = Run("pool add", {"ssh", "lab", "--hosts", "pc1,pc2:4,pc3:2"});
  EXPECT_EQ(ran.code, kExitTasksFailed);
  auto asked = hub.All<wire::AddPool>();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[2].name, "lab-pc3");
  EXPECT_EQ(asked[2].wish.values.settings.host, "pc3");
  EXPECT_EQ(asked[2].wish.values.settings.group, "lab");
  EXPECT_EQ(asked[2].wish.values.shape.slots, 2u);
  EXPECT_FALSE(asked[0].wish.Sets(asked[0].wish.values.shape));
  EXPECT_EQ(ran.err,
            "spate: pc1: added as lab-pc1 (1 of 3)\n"
            "spate: pc2: not added: ssh: no route to host\n"
            "  when this is fixed: spate pool add ssh lab --hosts pc2:4; to add it anyway: the "
            "same with --no-test\n"
            "spate: pc3: added as lab-pc3 (3 of 3)\n"
            "spate: lab: 2 hosts added, 1 refused: pc2\n"
            "spate: to run tasks only there: spate submit --pool lab ...; to see its status: spate "
            "pool info lab\n");
  ran = Run("pool add", {"ssh", "lab", "--hosts", "pc1,pc2:4,pc3:2", "-q"});
  EXPECT_EQ(ran.out, "lab-pc1\nlab-pc3\n");
  EXPECT_EQ(ran.err, "");
}

TEST_F(PoolTest, AHubThatIsGoneIsNotAskedForEachHost) {
  hub.add = [](const wire::AddPool&) -> Result<PoolTrial> {
    return Fail(ErrorKind::kUnavailable, "the connection has ended");
  };
  Ran ran = Run("pool add", {"ssh", "lab", "--hosts", "pc1,pc2"});
  EXPECT_EQ(ran.code, kExitTasksFailed);
  EXPECT_EQ(hub.All<wire::AddPool>().size(), 2u);
  hub.there = Fail(ErrorKind::kUnavailable, "the connection has ended");
  ran = Run("pool add", {"ssh", "lab", "--hosts", "pc1,pc2"});
  ASSERT_FALSE(ran.code);
  EXPECT_EQ(hub.All<wire::AddPool>().size(), 3u);
}

TEST_F(PoolTest, ListsPools) {
  hub.pools = [] {
    PoolFacts other;
    other.policy.name = "pc";
    other.system = "ssh";
    other.policy.user = "*";
    other.state = "paused";
    other.why = "3 pilots in a row ended before they joined";
    other.trouble = "ssh: no route to host";
    other.policy.max_pilots = 1;
    return std::vector{Lab(), other};
  };
  EXPECT_EQ(Run("pool list", {}).out,
            "POOL  SYSTEM  USER  STATE   QUEUED  JOINED  MAX  NODES  WANTED  WHY\n"
            "lab   slurm   ann   on           1       2   10      2       3\n"
            "pc    ssh     all   paused       0       0    1      0       0  3 pilots in a...\n");
  EXPECT_EQ(Run("pool list", {"-q"}).out, "lab\npc\n");
  EXPECT_EQ(Run("pool list", {"lab", "-q"}).out, "lab\n");
  hub.pools = [] { return std::vector<PoolFacts>(); };
  EXPECT_EQ(
      Run("pool list", {}).err,
      "spate: no pools; to add one for Slurm: spate pool add slurm NAME -- OPTIONS OF SBATCH\n");
}

TEST_F(PoolTest, JsonHasTheFieldsOfTheDocument) {
  hub.pools = [] {
    PoolFacts pool = Lab();
    pool.pilots = {{.pilot = 1, .id = "71", .state = "queued", .why = "Priority", .nodes = 0}};
    return std::vector{pool};
  };
  std::string json = Run("pool info", {"--json"}).out;
  const char* source = std::getenv("SPATE_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "SPATE_SOURCE does not say where docs/ is";
  std::ifstream file(std::string(source) + "/docs/formats/json.md");
  std::stringstream text;
  text << file.rdbuf();
  // Each "key": of the line is documented as `key` below the title.
  size_t from = text.str().find("### `pool`");
  ASSERT_NE(from, std::string::npos);
  std::string described = text.str().substr(from, text.str().find("\n### `job`, of") - from);
  for (size_t at = json.find("\":"); at != std::string::npos; at = json.find("\":", at + 1)) {
    size_t begin = json.rfind('"', at - 1) + 1;
    std::string key = json.substr(begin, at - begin);
    if (key != "type" && key != "v") EXPECT_TRUE(described.contains("`" + key + "`")) << key;
  }
}

TEST_F(PoolTest, InfoTellsAll) {
  hub.pools = [] {
    PoolFacts pool = Lab();
    pool.state = "paused";
    pool.why = "by ann: quota";
    pool.policy.chain = true;
    pool.policy.spread = true;
    pool.avoids = {"n1", "n2"};
    pool.pilots = {{.pilot = 7,
                    .id = "71",
                    .state = "queued",
                    .why = "Priority",
                    .nodes = 0,
                    .since = Instant{1'700'000'000'000'000'000}}};
    return std::vector{pool};
  };
  std::string out = Run("pool info", {}).out;
  for (const char* part :
       {"Pool lab\n", "  state      paused\n", "  why        by ann: quota\n",
        "  system     slurm, as ann\n", "  serves     ann\n", "; a successor", "; as many as tasks",
        "4 slots, 4 cpus, 8.0 GB\n", "-p short --comment 'a b'\n", "spate pool resume lab\n",
        "  avoids     n1, n2 (pilots failed there)\n", "PILOT  ID  STATE   SINCE", "Priority\n"}) {
    EXPECT_TRUE(out.contains(part)) << part << "\n" << out;
  }
  EXPECT_TRUE(hub.All<wire::LookAtPools>().at(0).pilots);
}

TEST_F(PoolTest, TheLogIsInOrder) {
  Instant at{1'700'000'000'000'000'000};
  hub.events = {{at, "lab", 0, "", "added", ""},
                {at, "lab", 7, "71", "queued", "Priority\n"},
                {at, "lab", 7, "", "ended", ""}};
  std::string out = Run("pool log", {"lab", "-n", "3"}).out;
  std::string without_times;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) without_times += line.substr(21) + "\n";
  EXPECT_EQ(without_times, "added\npilot 7 (71) queued: Priority\\n\npilot 7 ended\n");
  EXPECT_EQ(hub.All<wire::ReadPoolLog>().at(0).most, 3u);
  EXPECT_FALSE(Run("pool log", {"lab", "-n", "1001"}).code);
  EXPECT_TRUE(Run("pool log", {"lab", "--json"})
                  .out.starts_with("{\"type\":\"pool_event\",\"v\":2,\"at\":1700000000,"
                                   "\"pool\":\"lab\",\"pilot\":0,"));
}

TEST_F(PoolTest, ATrialThatFailsIsToldByTheExitCode) {
  hub.trial = {"lab", "qsub", "", "no such queue", false};
  Ran ran = Run("pool dry-run", {"lab"});
  EXPECT_EQ(ran.code, kExitTasksFailed);
  EXPECT_TRUE(ran.out.ends_with("Test: failed\n  no such queue\n")) << ran.out;
  hub.trial = {"lab", "sbatch", "", "a notice\nJob 1 to start\x1b\n", true};
  ran = Run("pool dry-run", {"lab"});
  EXPECT_EQ(ran.code, kExitSuccess);
  EXPECT_TRUE(ran.out.ends_with("Test: passed\n  a notice\n  Job 1 to start\\x1b\n")) << ran.out;
}

TEST_F(PoolTest, PoolsAreChanged) {
  Ran ran = Run("pool pause", {"lab", "pc", "--reason", "quota"});
  EXPECT_EQ(
      ran.err,
      "spate: lab and pc: paused, no pilots are requested; to continue: spate pool resume lab "
      "pc\n");
  EXPECT_EQ(Run("pool resume", {"lab"}).err, "spate: lab: may request pilots again\n");
  EXPECT_EQ(Run("pool set", {"lab", "--max-pilots=3"}).err,
            "spate: lab: changed for future pilots\n");
  auto asked = hub.All<wire::ChangePools>();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].change, Of::kPause);
  EXPECT_EQ(asked[0].reason, "quota");
  EXPECT_EQ(asked[0].names, (Argv{"lab", "pc"}));
  EXPECT_EQ(asked[1].change, Of::kResume);
  EXPECT_EQ(asked[2].change, Of::kSet);
  EXPECT_EQ(asked[2].wish.values.max_pilots, 3u);
  hub.changed = Fail(ErrorKind::kNotFound, "there is no pool 'x'");
  EXPECT_EQ(Run("pool resume", {"x"}).code.error().message, "there is no pool 'x'");
}

TEST_F(PoolTest, OwnOptionsAreReadAsThePoolsSystemDoes) {
  hub.pools = [] { return std::vector{Lab()}; };
  EXPECT_EQ(Run("pool set", {"lab", "--", "-t", "2h"}).code, kExitSuccess);
  EXPECT_EQ(hub.All<wire::ChangePools>().at(0).wish.values.settings.options,
            (Argv{"-t", "2:00:00"}));
  hub.pools = [] {
    PoolFacts other = Lab();
    other.policy.name = "pc";
    other.system = "pbs";
    return std::vector{Lab(), other};
  };
  EXPECT_FALSE(Run("pool set", {"lab", "pc", "--", "-t", "2h"}).code);
  EXPECT_EQ(hub.All<wire::ChangePools>().size(), 1u);
}

TEST_F(PoolTest, RemoveWaitsUntilAllAreGone) {
  int looks = 0;
  hub.pools = [&looks] {
    std::vector<PoolFacts> pools;
    ++looks;
    PoolFacts stays = Lab();
    stays.policy.name = "other";
    pools.push_back(stays);
    if (looks == 4) return pools;
    PoolFacts pool = Lab();
    pool.policy.name = "lab-pc1";
    pool.group = "lab";
    pool.queued = 0;
    pool.joined = looks < 3 ? 2 : 1;
    pool.nodes = pool.joined;
    pools.push_back(pool);
    return pools;
  };
  Ran ran = Run("pool remove", {"lab", "--wait"});
  EXPECT_EQ(ran.code, kExitSuccess);
  EXPECT_EQ(
      ran.err,
      "spate: lab: being removed: queued pilots are cancelled, nodes finish their running tasks\n"
      "spate: 2 pilots of 1 pool left, with 2 nodes\n"
      "spate: 1 pilot of 1 pool left, with 1 node\n"
      "spate: lab: removed\n");
  EXPECT_EQ(pauses, 3);
  EXPECT_EQ(hub.All<wire::ChangePools>().at(0).change, Of::kRemove);
  EXPECT_TRUE(Run("pool remove", {"other"}).err.ends_with("; to check: spate pool info other\n"));
}

TEST_F(PoolTest, TheHubsStatusTellsOfPools) {
  EXPECT_FALSE(Run("hub status", {}).out.contains("pools"));
  hub.facts.pools = 2;
  hub.facts.pilots = {{"queued", 1200}, {"held", 0}, {"joined", 3}};
  hub.pools = [] {
    PoolFacts other = Lab();
    other.policy.name = "pc";
    other.state = "paused";
    other.why = "by ann";
    return std::vector{Lab(), other};
  };
  std::string out = Run("hub status", {}).out;
  EXPECT_TRUE(
      out.contains("  pools      2: pilots 1,200 queued, 3 joined\n"
                   "             pc: paused: by ann\n"))
      << out;
  EXPECT_TRUE(Run("hub status", {"--json"})
                  .out.contains("\"pools\":2,\"pilots\":[{\"name\":\"queued\",\"count\":1200},"));
}

TEST_F(PoolTest, TheHubsStatusTellsThatTheClockWasSet) {
  EXPECT_FALSE(Run("hub status", {}).out.contains("clock"));
  EXPECT_TRUE(Run("hub status", {"--json"}).out.contains("\"clock\":null"));
  const Instant to{1'600'000'000'000'000'000};
  hub.facts.clock = {to + Duration::Seconds(7200), to};
  const std::string out = Run("hub status", {}).out;
  EXPECT_TRUE(out.contains("  clock      was set back by 2h00m on 2020-09-13 ")) << out;
  EXPECT_TRUE(Run("hub status", {"--json"}).out.contains("\"clock\":{\"from\":1600007200"));
}

TEST_F(PoolTest, TheHubsStatusNamesFullNodes) {
  EXPECT_FALSE(Run("hub status", {}).out.contains("no room"));
  hub.facts.nodes = 5;
  hub.facts.full_nodes = {"n1"};
  std::string out = Run("hub status", {}).out;
  EXPECT_TRUE(
      out.contains("  nodes      5 connected\n             "
                   "1 node has no room on its disk: n1; see spate node list\n"))
      << out;
  EXPECT_TRUE(Run("hub status", {"--json"}).out.contains("\"full_nodes\":[\"n1\"]"));
  hub.facts.full_nodes = {"n1", "n2", "n3", "n4"};
  out = Run("hub status", {}).out;
  EXPECT_TRUE(out.contains("  4 nodes have no room on their disks: n1, n2, n3, ...; see ")) << out;
}

TEST_F(PoolTest, ExamplesAreUnderstood) {
  auto understood = [&](const Argv& argv) {
    auto found = FindCommand(argv, AllCommands());
    ASSERT_TRUE(found) << found.error().message;
    auto words = ParseWords(*found->command, std::span(argv).subspan(found->words));
    ASSERT_TRUE(words) << words.error().message;
    if (found->command->name == "pool add") EXPECT_TRUE(MakeNewPool(*words)) << argv.back();
    if (found->command->name == "pool set") {
      EXPECT_TRUE(MakePoolChange(*words, "slurm")) << argv.back();
    }
  };
  for (const char* command : {"pool add", "pool set"}) {
    for (const Example& example : ExamplesOf(Named(command))) {
      std::istringstream typed{std::string(example.command)};
      Argv argv;
      for (std::string word; typed >> word;) argv.push_back(word);
      argv.erase(argv.begin());
      understood(argv);
    }
  }
}

}  // namespace
}  // namespace spate::cli::command
