// What each question that a hub answers from memory costs its loop, beside the worst cost that the
// row of the question states (hub/answers/question.h). A hub of the size that is asked for,
// over a store in memory; the answers' bytes are written as for a client.
//
//   question_cost [NODES [JOBS [TASKS-OF-A-JOB]]]
//
// Ends with 1 when one took longer than is stated, in the median of its rounds.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "hub/answers/question.h"
#include "hub/service.h"
#include "os/fake_loop.h"
#include "store/testing_memory_store.h"
#include "wire/client_codec.h"

namespace spate::hub {
namespace {

constexpr uint32_t kSlots = 16;
constexpr int kRounds = 15;

class NoReader final : public JournalReader {
 public:
  Result<std::unique_ptr<JournalAnswer>> Start(const Caller&, const wire::Request&,
                                               Events) override {
    return Fail(ErrorKind::kUnavailable, "this hub has no journal");
  }
};

class AtOnce final : public Aside {
 public:
  explicit AtOnce(os::Loop& loop) : loop_(loop) {}
  void Do(const std::string&, Work work) override {
    loop_.Post([this, work = std::move(work)] { loop_.Post(work()); });
  }

 private:
  os::Loop& loop_;
};

// Takes what it is told to run, and tells that it runs.
class BenchNode final : public NodePort {
 public:
  void Send(wire::ToNode message) override {
    const auto* lease = std::get_if<wire::Lease>(&message);
    if (lease == nullptr) return;
    for (const TaskRange& range : lease->tasks) {
      for (uint32_t i = 0; i < range.count; ++i) {
        if (state.runs.size() == kSlots) return;
        state.runs.push_back({{lease->job, range.first + i, lease->attempt}, Instant()});
      }
    }
  }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override { say = std::move(receiver); }
  void Refuse(const wire::Refusal&) override {}
  void Close() override {}

  wire::NodeState state;
  std::function<void(wire::ToHub)> say;
};

struct Client {
  ClientPort::Events events;
  uint64_t bytes = 0;
  uint32_t last = 0;
  void Ask(const wire::Request& request, bool more = false) {
    std::string encoded;
    wire::Append(encoded, request);
    if (!more) ++last;
    events.request(last, encoded);
  }
};

class ClientEnd final : public ClientPort {
 public:
  explicit ClientEnd(Client& client) : client_(client) {}
  void Start(Events events) override { client_.events = std::move(events); }
  bool Send(uint32_t, std::string_view reply) override {
    client_.bytes += reply.size();
    return true;
  }
  void PauseReading(bool) override {}
  void Refuse(const wire::Refusal& why) override {
    fmt::print(stderr, "refused: {}\n", why.reason);
    std::exit(2);
  }
  void Close() override {}

 private:
  Client& client_;
};

class Bench final : public Watcher {
 public:
  Bench() {
    Service::Options options;
    options.dir = "/hub";
    options.owner = 1000;
    options.key = "a key";
    options.log = [](const LogText&) {};
    options.stop_asked = options.stopped = [] {};
    service_ = *Service::Open({loop_, store_, aside_, reader_, commands_, *this}, options);
    service_->Begin({});
  }

  void Fill(uint32_t nodes, uint32_t jobs, uint32_t tasks) {
    for (uint32_t i = 0; i < nodes; ++i) AddNode(i);
    loop_.RunFor(Duration::Seconds(1));
    for (uint32_t i = 0; i < jobs; ++i) AddJob(i, tasks);
    loop_.RunFor(Duration::Seconds(5));
    for (BenchNode* node : nodes_) node->say(node->state);
    loop_.RunFor(Duration::Seconds(5));
    sizes_ = {.nodes = nodes,
              .runs = service_->nodes().runs(),
              .jobs = jobs,
              .tasks = uint64_t{jobs} * tasks,
              .users = service_->engine().user_count()};
    fmt::print("{} nodes, {} running tasks, {} jobs, {} tasks, {} users\n\n", nodes, sizes_.runs,
               jobs, sizes_.tasks, sizes_.users);
    fmt::print("{:28} {:>12} {:>12} {:>12}\n", "question", "median us", "stated us", "bytes");
  }

  template <typename Q>
  void Measure(const char* name, const Q& question, const std::string& user) {
    const wire::Query query{question};
    std::vector<double> took;
    uint64_t bytes = 0;
    for (int i = 0; i < kRounds; ++i) {
      Client& client = Come(user);
      // Time enough that the user need not wait for the part of the loop that is theirs.
      loop_.RunFor(Duration::Seconds(300));
      const auto begin = std::chrono::steady_clock::now();
      client.Ask(query);
      loop_.RunFor(Duration::Millis(1));
      const std::chrono::duration<double, std::micro> time =
          std::chrono::steady_clock::now() - begin;
      took.push_back(time.count());
      bytes = client.bytes;
    }
    std::ranges::nth_element(took, took.begin() + kRounds / 2);
    const double stated =
        static_cast<double>(WorstCost(FindQuestion(Q::kNumber)->row, query.question, sizes_).ns) /
        1e3;
    const double median = took[kRounds / 2];
    fmt::print("{:28} {:12.0f} {:12.0f} {:12}{}\n", name, median, stated, bytes,
               median > stated ? "  more than stated" : "");
    worse_ |= median > stated;
  }
  bool worse() const { return worse_; }

 private:
  Client& Come(const std::string& user) {
    Guest guest;
    guest.greeting.role = wire::Role::kClient;
    guest.local_user = user == "root" ? 0 : 1;
    guest.user = user;
    clients_.push_back(std::make_unique<Client>());
    service_->ClientArrived(*service_->Who(guest), std::make_unique<ClientEnd>(*clients_.back()));
    return *clients_.back();
  }
  void AddNode(uint32_t number) {
    wire::Greeting greeting;
    greeting.role = wire::Role::kNode;
    greeting.node_name = fmt::format("node{:05}.example.org", number);
    greeting.instance = "1";
    const Caller caller{.user = "*"};
    const NodeId id = *service_->AdmitNode(greeting, caller);
    auto port = std::make_unique<BenchNode>();
    nodes_.push_back(port.get());
    service_->NodeArrived(id, {std::move(port), "10.0.0.1", "1.0", {}}, caller);
    Offer offer;
    offer.slots = kSlots;
    offer.milli_cpus = kSlots * kMilliCpu;
    nodes_.back()->say(wire::Hello{id, offer});
  }
  void AddJob(uint32_t number, uint32_t tasks) {
    Client& client = Come(fmt::format("user{}", number % 100));
    wire::Submit head;
    head.submission = fmt::format("job {}", number);
    auto settings = std::make_shared<JobSettings>();
    settings->cwd = "/";
    head.settings = std::move(settings);
    client.Ask(head);
    for (uint32_t left = tasks; left > 0; left -= std::min(left, 50'000u)) {
      client.Ask(wire::Rows{std::vector<std::string>(std::min(left, 50'000u), "true")}, true);
    }
    client.Ask(wire::SubmitEnd{tasks, {Needs()}, {{0, tasks, 0}}, {}}, true);
    loop_.RunFor(Duration::Millis(20));
  }

  void OnEnded(const engine::NoticeEnded&, const TaskOutputPtr&) override {}
  void OnHeld(const engine::NoticeHeld&) override {}
  void OnFinished(const engine::NoticeFinished&) override {}
  void OnNews(const wire::ToHub&) override {}
  void OnStoreFailed(const Error&) override {}

  os::FakeLoop loop_;
  std::shared_ptr<store::MemoryDisk> disk_ = std::make_shared<store::MemoryDisk>();
  store::MemoryStore store_{loop_, disk_, {Duration::Millis(1), Duration::Millis(1), 1, true}};
  AtOnce aside_{loop_};
  NoReader reader_;
  NoCommands commands_{loop_};
  std::unique_ptr<Service> service_;
  std::vector<BenchNode*> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  wire::AnswerSizes sizes_;
  bool worse_ = false;
};

int Main(int argc, char** argv) {
  auto number = [&](int at, uint32_t usual) {
    return argc > at ? static_cast<uint32_t>(std::strtoul(argv[at], nullptr, 10)) : usual;
  };
  Bench bench;
  bench.Fill(number(1, 1'000), number(2, 5'000), number(3, 500));
  const std::string somebody = "user1", stranger = "mallory";
  bench.Measure("LookAtHub", wire::LookAtHub(), stranger);
  bench.Measure("LookAtAll", wire::LookAtAll{.most = 1'000}, stranger);
  bench.Measure("ListNodes", wire::ListNodes(), stranger);
  bench.Measure("ListNodes, root", wire::ListNodes(), "root");
  bench.Measure("ListUsers", wire::ListUsers(), stranger);
  bench.Measure("LookAtWork", wire::LookAtWork{.tasks = true, .reset = true}, stranger);
  bench.Measure("LookAtWork, root", wire::LookAtWork{.tasks = true, .reset = true}, "root");
  bench.Measure("LookAtWork, one job", wire::LookAtWork{.submission = "job 1", .tasks = true},
                somebody);
  wire::ExplainTasks tasks;
  for (uint32_t i = 1; i <= 500; ++i) tasks.tasks.push_back({.job = 2, .ranges = {{i, i}}});
  bench.Measure("ExplainTasks, 500 tasks", tasks, somebody);
  JobSelector all;
  all.all = true;
  bench.Measure("LookAtJobs, all", wire::LookAtJobs{.jobs = all}, "root");
  bench.Measure("LookAtPools", wire::LookAtPools(), stranger);
  bench.Measure("ChangeJobs, all",
                wire::ChangeJobs{.jobs = all, .set = JobChange().With<&JobTerms::weight>(7u)},
                "root");
  return bench.worse() ? 1 : 0;
}

}  // namespace
}  // namespace spate::hub

int main(int argc, char** argv) { return spate::hub::Main(argc, argv); }
