// Memory that the hub keeps for each message of a client or node: a table with every kind of
// message, and the weights of a sample compared with the memory that is allocated.
#include "hub/peer_memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "core/model/packed_edges.h"
#include "hub/pools/pool_change.h"
#include "hub/testing_node.h"
#include "hub/testing_service.h"
#include "wire/messages.h"

namespace {

std::atomic<int64_t> allocated = 0;

}  // namespace

void* operator new(size_t size) {
  void* at = std::malloc(size);
  if (at == nullptr) throw std::bad_alloc();
  allocated += static_cast<int64_t>(malloc_usable_size(at) + sizeof(size_t));
  return at;
}
void operator delete(void* at) noexcept {
  if (at == nullptr) return;
  allocated -= static_cast<int64_t>(malloc_usable_size(at) + sizeof(size_t));
  std::free(at);
}
void operator delete(void* at, size_t) noexcept { operator delete(at); }

namespace spate::hub {
namespace {

// ---- The table ---------------------------------------------------------------------------------

template <typename T>
struct Row {
  const char* message;
  const char* keeps;   // after the turn of the loop in which it came
  const char* weight;  // "": none
  const char* bound;
};

constexpr const char* kNothing = "nothing";
constexpr const char* kRequest = "the request until its last reply";
constexpr const char* kRequestWeight = "2,560 bytes, and its texts and lists with their capacity";
constexpr const char* kOfUser = "112 MB of a user, 256 MB of all";

constexpr std::tuple kNodeRows{
    Row<wire::Hello>{"Hello", "the offer, and what the engine knows of the node",
                     "4,096 bytes, and texts and lists with their capacity",
                     "256 KB an offer, 1,000 names and 112 MB of a user"},
    Row<wire::Ends>{"Ends", "ends and outputs of leases until they are durable", "",
                    "leases that the node holds"},
    Row<wire::Returned>{"Returned", kNothing, "", "-"},
    Row<wire::Running>{"Running", "a task that runs, as of NodeState", "", "as of NodeState"},
    Row<wire::Live>{"Live", kNothing, "", "-"},
    Row<wire::Slow>{"Slow", kNothing, "", "-"},
    Row<wire::Paused>{"Paused", kNothing, "", "-"},
    Row<wire::Leaving>{"Leaving", kNothing, "", "-"},
    Row<wire::WantPiece>{"WantPiece", "the newest until the next turn", "", "one of a node"},
    Row<wire::NodeState>{"NodeState", "tasks that the node holds and that run or wait there",
                         "128 bytes each, and texts and lists with their capacity",
                         "4,096 tasks of a node; 112 MB of a user, 256 MB of all"},
    Row<wire::RoomTaken>{"RoomTaken", kNothing, "", "-"},
    Row<wire::AnswerPiece>{"AnswerPiece", "the answer until it is whole", "",
                           "2 MB, 16 MB of a user, 64 MB of all; 16 questions of a user to a node "
                           "at once"},
    Row<wire::Frozen>{"Frozen", "which tasks have stopped, until they continue", "",
                      "tasks that the node holds"},
    Row<wire::Slowed>{"Slowed", "the pair of jobs, once", "", "4,096 pairs of all; 16 of a job"},
    Row<wire::Exceeded>{"Exceeded", "which tasks have used more, until they end", "",
                        "3 for each task that the node holds"},
    Row<wire::Resized>{"Resized", kNothing, "", "-"},
};

constexpr std::tuple kClientRows{
    Row<wire::Submit>{"Submit", "the upload until it is accepted, and its job", kRequestWeight,
                      kOfUser},
    Row<wire::Rows>{"Rows", "rows until they are written", "",
                    "32 MB for the store, then it waits"},
    Row<wire::PutPieces>{"PutPieces", "pieces until they are written", "",
                         "32 MB for the store, then it waits"},
    Row<wire::Edges>{"Edges", "the edges until the upload is accepted", "2 to 10 bytes an edge",
                     kOfUser},
    Row<wire::SubmitEnd>{"SubmitEnd", "the message while it waits for what it needs",
                         "its bytes, and 48", kOfUser},
    Row<wire::Watch>{"Watch", kRequest, kRequestWeight, kOfUser},
    Row<wire::ReadEnds>{"ReadEnds", kRequest, kRequestWeight, kOfUser},
    Row<wire::Query>{"Query", kRequest, kRequestWeight, kOfUser},
    Row<wire::DropRequest>{"DropRequest", kNothing, "", "-"},
    Row<wire::RepliesTaken>{"RepliesTaken", kNothing, "", "-"},
};

// Each kind of message has a row, or this does not compile.
template <typename... T, typename... R>
std::string Lines(const std::tuple<R...>& rows, const std::variant<T...>&) {
  static_assert(sizeof...(T) == sizeof...(R), "a row without a message");
  std::ostringstream text;
  auto line = [&](const auto& row) {
    text << "| " << row.message << " | " << row.keeps << " | "
         << (*row.weight == '\0' ? "-" : row.weight) << " | " << row.bound << " |\n";
  };
  (line(std::get<Row<T>>(rows)), ...);
  return text.str();
}

TEST(PeerMemoryTable, ThePageOnLimitsHasIt) {
  const std::string table = Lines(kNodeRows, wire::ToHub()) + Lines(kClientRows, wire::Request());
  const char* source = std::getenv("SPATE_SOURCE");
  if (!source) GTEST_SKIP() << "needs SPATE_SOURCE";
  std::ifstream file(std::string(source) + "/docs/formats/limits.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str().contains(table)) << table;
}

// ---- Weights -----------------------------------------------------------------------------------

Offer OfferWith(size_t labels, size_t bytes) {
  Offer offer;
  offer.slots = 100;
  offer.milli_cpus = 100 * kMilliCpu;
  for (size_t i = 0; i < labels; ++i) {
    offer.labels.push_back(std::to_string(1'000'000 + i) + std::string(bytes, 'x'));
  }
  return offer;
}

class PeerMemoryOfHub : public ServiceTest {
 protected:
  NodeEnd& Join(const std::string& name) {
    NodeEnd& node = nodes_.emplace_back();
    const Caller caller{.user = "ann"};
    wire::Greeting greeting;
    greeting.node_name = name;
    greeting.instance = name;
    auto id = service_->AdmitNode(greeting, caller);
    EXPECT_TRUE(id.has_value());
    service_->NodeArrived(*id, {std::make_unique<NodeEndPort>(node), "there", "1", {}}, caller);
    return node;
  }
  uint64_t kept() { return service_->hub().peer_memory().of("ann"); }
  // Compares the memory that the hub allocates for `work` with its weight: at most a quarter more,
  // and not so little that users would be refused for nothing.
  template <typename Work>
  void Compare(const char* what, Work work) {
    loop_.RunFor(Duration::Seconds(1));
    const uint64_t weight_before = kept();
    const int64_t before = allocated;
    work();
    loop_.RunFor(Duration::Millis(1));
    const auto real = static_cast<double>(allocated - before);
    const auto weight = static_cast<double>(kept() - weight_before);
    EXPECT_LT(real, 1.25 * weight) << what;
    EXPECT_GT(real, 0.2 * weight) << what;
    RecordProperty(what, std::to_string(static_cast<int64_t>(real / 1024)) + " KB weigh " +
                             std::to_string(static_cast<int64_t>(weight / 1024)) + " KB");
  }

  std::deque<NodeEnd> nodes_;
};

std::shared_ptr<const JobSettings> SettingsWith(size_t variables, const std::string& each) {
  auto settings = std::make_shared<JobSettings>();
  settings->cwd = "/";
  settings->environment.assign(variables, each);
  return settings;
}

TEST_F(PeerMemoryOfHub, WeightsAreWhatIsAllocated) {
  Compare("offers of nodes", [&] {
    for (int i = 0; i < 20; ++i) {
      const std::string name = "n" + std::to_string(i);
      Join(name).say(wire::Hello{NodeId(1), OfferWith(100 * static_cast<size_t>(i % 2), 1'000)});
    }
  });
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 1);
  Compare("uploads with settings", [&] {
    for (uint32_t i = 0; i < 10; ++i) {
      wire::Submit head = Head("with settings " + std::to_string(i));
      head.settings = SettingsWith(20'000, "");
      head.argv.assign(1'000, std::string(100, 'a'));
      ann.Ask(head);
    }
  });
  Compare("uploads with edges", [&] {
    for (uint32_t i = 0; i < 10; ++i) {
      ann.Ask(Head("with edges " + std::to_string(i)));
      for (uint32_t n = 0; n < 10; ++n) {
        wire::Edges edges;
        for (uint32_t k = 0; k < 10'000; ++k) edges.edges.push_back({k / 2, k % 2 * 99'999'999});
        ann.Ask(edges);
      }
      for (uint32_t n = 0; n < 1'000; ++n) ann.Ask(wire::Edges{{{n, n + 1}}});
    }
  });
  Compare("small questions that wait", [&] {
    for (int i = 0; i < 2'000; ++i)
      ann.Ask(wire::Query{wire::ListTasks{.tasks = {wire::TaskPick()}}});
  });
  Compare("large questions that wait", [&] {
    for (int i = 0; i < 50; ++i) {
      wire::ListTasks asked;
      asked.tasks.assign(5'000, wire::TaskPick());
      ann.Ask(wire::Query{asked});
    }
  });
  Dialogue& watcher = Come("ann", 1);
  Compare("watches", [&] {
    for (int i = 0; i < 200; ++i) watcher.Ask(wire::Watch{job});
    watcher.replies.clear();
    watcher.of.clear();
  });
  // All memory is freed with its connection, except the offers of nodes.
  const uint64_t all = kept();
  ann.events.closed();
  watcher.events.closed();
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_GT(all, 10u << 20);
  EXPECT_LT(kept(), 2u << 20);
}

TEST_F(PeerMemoryOfHub, ANodeThatOffersTooMuchIsToldWhy) {
  NodeEnd& node = Join("large");
  node.say(wire::Hello{NodeId(1), OfferWith(300, 1'000)});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_TRUE(node.refused.contains("labels, resources and names of the node take"))
      << node.refused;
  for (const engine::NodeInfo& each : service_->engine().Nodes()) {
    EXPECT_TRUE(each.offer.labels.empty());
  }
}

TEST_F(PeerMemoryOfHub, NodesOfOneUserTakeSoMuchTogether) {
  size_t taken = 0;
  std::string refused;
  for (int i = 0; i < 700 && refused.empty(); ++i) {
    NodeEnd& node = Join("n" + std::to_string(i));
    node.say(wire::Hello{NodeId(1), OfferWith(200, 1'000)});
    refused = node.refused;
    ++taken;
  }
  EXPECT_TRUE(refused.contains("of the hub's memory")) << refused;
  EXPECT_GT(taken, 400u);
  EXPECT_LE(kept(), kPeerLimits.of_user);
}

TEST_F(PeerMemoryOfHub, UploadsOfOneUserTakeSoMuchTogether) {
  Dialogue& ann = Come("ann", 1);
  wire::Edges edges;
  for (uint32_t k = 0; k < 65'536; ++k) edges.edges.push_back({k / 2, k % 2 * 99'999'999});
  for (uint32_t i = 0; i < 3; ++i) {
    ann.Ask(Head(std::to_string(i)));
    for (uint32_t n = 0; n < 140; ++n) ann.Ask(edges);
  }
  // The refused upload keeps nothing, and its later messages are dropped.
  ASSERT_FALSE(ann.replies.empty());
  const auto* failed = std::get_if<wire::Failed>(&ann.replies.back());
  ASSERT_NE(failed, nullptr);
  EXPECT_TRUE(failed->text.contains("of the hub's memory")) << failed->text;
  EXPECT_EQ(ann.replies.size(), 1u);
  EXPECT_LT(kept(), kPeerLimits.of_user);
  ann.Ask(End(1));
  loop_.RunFor(Duration::Seconds(1));
  // Other users are not affected.
  EXPECT_NE(Submit(Come("bob", 2), 1), JobId());
  ann.events.closed();
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(kept(), 0u);
  EXPECT_NE(Upload(Come("ann", 1), "again", 1, JobId()).job, JobId());
}

// Settings that are not kept are read from the journal again for the next node.
TEST_F(PeerMemoryOfHub, FewLongSettingsAreKeptForNodes) {
  Dialogue& ann = Come("ann", 1);
  const auto settings = SettingsWith(12, std::string(1 << 20, 'x'));
  for (uint32_t i = 0; i < 8; ++i) {
    ann.Ask(wire::Submit{.submission = std::to_string(i), .settings = settings});
    ann.Ask(wire::Rows{{"true"}});
    ann.Ask(End(1));
    loop_.RunFor(Duration::Seconds(1));
  }
  ASSERT_EQ(ann.replies.size(), 8u);
  const int64_t before = allocated;
  Join("n1").say(wire::Hello{NodeId(1), OfferWith(0, 0)});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(service_->engine().Nodes().front().leased, 8u);
  EXPECT_LT(allocated - before, 40 << 20);
}

TEST(PeerMemoryTest, SettingsOfPoolsHaveABound) {
  PoolPolicy policy;
  policy.settings.system = "slurm";
  policy.name = "p";
  PoolChange change;
  change.Set(change.values.settings.prologue, std::string(100'000, 'x'));
  EXPECT_TRUE(Change(policy, change));
  change.Set(change.values.settings.options,
             std::vector<std::string>(20, std::string(50'000, 'x')));
  auto changed = Change(policy, change);
  ASSERT_FALSE(changed);
  EXPECT_TRUE(changed.error().message.contains("settings of the pool take"))
      << changed.error().message;
}

TEST(PeerMemoryTest, AllTogetherHaveABoundAndEachUserTheLeast) {
  PeerMemory memory;
  size_t many[3] = {}, few = 0;
  for (int i = 0; i < 3; ++i) memory.Set("user " + std::to_string(i), many[i], 100u << 20);
  memory.Set("ann", few, kPeerLimits.least);
  EXPECT_TRUE(memory.Check("ann"));
  memory.Set("ann", few, kPeerLimits.least + 1);
  ASSERT_FALSE(memory.Check("ann"));
  EXPECT_TRUE(memory.Check("ann").error().message.contains("of all users"));
  EXPECT_TRUE(memory.Check("*"));
  memory.Set("user 1", many[1], 0);
  EXPECT_TRUE(memory.Check("ann"));
  memory.Set("ann", few, kPeerLimits.of_user + 1);
  EXPECT_TRUE(memory.Check("ann").error().message.contains("of user ann"));
}

}  // namespace
}  // namespace spate::hub
