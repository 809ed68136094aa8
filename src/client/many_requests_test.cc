// A client of a real hub over a real door: the service on its loop, a socket, and a session with
// many requests and subscriptions at once.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/hub_call.h"
#include "client/submission.h"
#include "hub/door/door.h"
#include "hub/service.h"
#include "os/account.h"
#include "os/temp_dir.h"
#include "store/testing_memory_store.h"
#include "transport/tcp/identity.h"
#include "wire/client_codec.h"

namespace spate::client {
namespace {

constexpr Duration kCommit = Duration::Millis(2);

class DirectAside final : public hub::Aside {
 public:
  explicit DirectAside(os::Loop& loop) : loop_(loop) {}
  void Do(const std::string&, Work work) override {
    loop_.Post([this, work = std::move(work)] { loop_.Post(work()); });
  }

 private:
  os::Loop& loop_;
};

// Each question of the journal is answered by one kilobyte; ends come without end.
class LongJournal final : public hub::JournalReader {
 public:
  explicit LongJournal(os::Loop& loop) : loop_(loop) {}
  Result<std::unique_ptr<hub::JournalAnswer>> Start(const hub::Caller&,
                                                    const wire::Request& request,
                                                    Events events) override {
    return std::make_unique<Answer>(loop_, request, std::move(events));
  }

 private:
  class Answer final : public hub::JournalAnswer {
   public:
    Answer(os::Loop& loop, wire::Request request, Events events)
        : loop_(loop), request_(std::move(request)), events_(std::move(events)) {
      Wait();
    }
    ~Answer() override { *alive_ = false; }
    void Pause(bool paused) override {
      const bool went_on = paused_ && !paused;
      paused_ = paused;
      if (went_on) Wait();
    }

   private:
    void Wait() {
      loop_.Post([this, alive = alive_] {
        if (*alive && !paused_) GoOn();
      });
    }
    void GoOn() {
      auto* read = std::get_if<wire::ReadEnds>(&request_);
      if (read == nullptr) {
        Send(wire::QueryAnswer{std::string(1000, 'x')});
        Send(wire::QueryDone());
        auto ended = events_.ended;
        return ended(End{});
      }
      wire::EndsRead next{.position = ++read->after};
      next.ends.ends.push_back({.ref = {read->job, 0, Attempt(1)}});
      next.ends.outputs.push_back(nullptr);
      next.verdicts.push_back(Verdict::kSucceeded);
      Wait();
      Send(next);
    }
    void Send(const wire::Reply& reply) {
      std::string bytes;
      wire::Append(bytes, reply);
      events_.reply(bytes);
    }

    os::Loop& loop_;
    wire::Request request_;
    const Events events_;
    bool paused_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  };

  os::Loop& loop_;
};

class RealHubTest : public ::testing::Test, public hub::Watcher {
 protected:
  RealHubTest()
      : loop_(std::move(os::RealLoop::Create().value())),
        store_(*loop_, disk_, {kCommit, kCommit, 1, /*is_hub=*/true}),
        aside_(*loop_),
        reader_(*loop_),
        commands_(*loop_) {
    hub::Service::Options options;
    options.dir = dir_.path();
    options.owner = os::EffectiveUser();
    options.key = "a key";
    options.log = [](const LogText&) {};
    options.stop_asked = [] {};
    options.stopped = [] {};
    auto service = hub::Service::Open({*loop_, store_, aside_, reader_, commands_, *this}, options);
    EXPECT_TRUE(service);
    service_ = std::move(*service);
    service_->Begin({});
    auto door = hub::Door::Open(*loop_, *service_, &identity_,
                                {.dir = dir_.path(),
                                 .listen = {},
                                 .host = "here",
                                 .product = "1.0",
                                 .suspect_after = Duration::Seconds(60),
                                 .peers = {},
                                 .log = [](const std::string&) {}});
    EXPECT_TRUE(door) << door.error().message;
    door_ = std::move(*door);
    call_ = std::make_unique<HubCall>(
        *loop_, HubTarget{link::Target::Of(SocketOf(dir_.path())), "the hub"});
  }
  ~RealHubTest() override {
    call_.reset();
    door_.reset();
  }
  Result<wire::Accepted> SubmitJob(const std::string& name) {
    Submission job;
    auto settings = std::make_shared<JobSettings>();
    settings->cwd = "/";
    job.head.settings = std::move(settings);
    job.head.submission = name;
    job.rows = [](const Submission::RowVisitor& visit) { visit("true"); };
    job.end = {1, {Needs()}, {{0, 1, 0}}, {}};
    return Submit(*call_, job);
  }
  std::unique_ptr<Exchange> Begin(const wire::Request& request) {
    auto begun = call_->Begin(request);
    EXPECT_TRUE(begun) << begun.error().message;
    return std::move(*begun);
  }

  void OnEnded(const engine::NoticeEnded&, const TaskOutputPtr&) override {}
  void OnHeld(const engine::NoticeHeld&) override {}
  void OnFinished(const engine::NoticeFinished&) override {}
  void OnNews(const wire::ToHub&) override {}
  void OnStoreFailed(const Error& error) override { ADD_FAILURE() << error.message; }

  os::TempDir dir_;
  transport::Identity identity_ = std::move(transport::Identity::Make().value());
  std::unique_ptr<os::RealLoop> loop_;
  std::shared_ptr<store::MemoryDisk> disk_ = std::make_shared<store::MemoryDisk>();
  store::MemoryStore store_;
  DirectAside aside_;
  LongJournal reader_;
  hub::NoCommands commands_;
  std::unique_ptr<hub::Service> service_;
  std::unique_ptr<hub::Door> door_;
  std::unique_ptr<HubCall> call_;
};

TEST_F(RealHubTest, AThousandRequestsAndAHundredSubscriptionsOverOneConnection) {
  constexpr size_t kRequests = 1000, kSubscriptions = 100, kEnds = 20'000;
  auto accepted = SubmitJob("one");
  ASSERT_TRUE(accepted) << accepted.error().message;
  const JobId job = accepted->job;
  auto idle = Begin(wire::ReadEnds{job, 0});  // nobody ever reads it
  auto reads = Begin(wire::ReadEnds{job, 0});
  std::vector<std::unique_ptr<Exchange>> watches, requests;
  while (watches.size() + 2 < kSubscriptions) watches.push_back(Begin(wire::Watch{job}));
  for (size_t i = 0; i < kRequests; ++i) {
    requests.push_back(i % 2 == 0 ? Begin(wire::Query{wire::LookAtWork()})
                                  : Begin(wire::Query{wire::ListEnds{.job = job}}));
  }
  for (auto& each : requests) {
    size_t answers = 0;
    for (bool over = false; !over;) {
      auto reply = call_->Next(*each);
      ASSERT_TRUE(reply) << reply.error().message;
      answers += std::holds_alternative<wire::QueryAnswer>(*reply) ? 1 : 0;
      over = wire::IsLast(wire::RequestKind::kQuery, *reply);
      EXPECT_EQ(over, std::holds_alternative<wire::QueryDone>(*reply));
    }
    EXPECT_EQ(answers, 1u);
  }
  EXPECT_EQ(service_->clients(), 1u);
  // More than any buffer holds, while the other one waits.
  for (uint64_t position = 0; position < kEnds;) {
    auto reply = call_->Next(*reads);
    ASSERT_TRUE(reply) << reply.error().message;
    const auto* read = std::get_if<wire::EndsRead>(&*reply);
    if (read == nullptr) continue;
    ASSERT_EQ(read->position, ++position);
  }
  const size_t window = wire::WindowOf(wire::RequestKind::kReadEnds);
  EXPECT_GE(idle->waiting(), window / 2);
  EXPECT_LT(idle->waiting(), 2 * window) << "a bounded buffer";
  // All watches hear of a change.
  for (auto& watch : watches) ASSERT_TRUE(call_->NextNews(*watch));
  service_->hub().Post(engine::CancelJob{job});
  for (auto& watch : watches) {
    for (bool finished = false; !finished;) {
      auto news = call_->NextNews(*watch);
      ASSERT_TRUE(news) << news.error().message;
      finished = news->finished;
    }
  }
  // And the idle one misses nothing.
  for (uint64_t position = 0; position < kEnds;) {
    auto reply = call_->Next(*idle);
    ASSERT_TRUE(reply) << reply.error().message;
    const auto* read = std::get_if<wire::EndsRead>(&*reply);
    if (read == nullptr) continue;
    ASSERT_EQ(read->position, ++position);
  }
}

}  // namespace
}  // namespace spate::client
