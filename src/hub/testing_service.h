// For tests of the service: it runs over a loop without a clock, a store in memory and ports of the
// test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hub/service.h"
#include "os/fake_loop.h"
#include "store/testing_memory_store.h"
#include "wire/client_codec.h"

namespace spate::hub {

inline constexpr Duration kCommitTime = Duration::Millis(5);

// A journal with so many ends of a job, each with some output; a position is the number of ends
// before it. A question is answered by one answer, after a while.
class EndsJournal final : public JournalReader {
 public:
  explicit EndsJournal(os::Loop& loop) : loop_(loop) {}
  Result<std::unique_ptr<JournalAnswer>> Start(const Caller&, const wire::Request& request,
                                               Events events) override {
    ++started;
    return std::make_unique<Answer>(*this, request, std::move(events));
  }

  uint64_t ends = 0;
  bool finished = false;  // the job has
  int started = 0;
  int at_work = 0;

 private:
  class Answer final : public JournalAnswer {
   public:
    Answer(EndsJournal& journal, wire::Request request, Events events)
        : journal_(journal), request_(std::move(request)), events_(std::move(events)) {
      ++journal_.at_work;
      Wait();
    }
    ~Answer() override {
      journal_.loop_.Cancel(timer_);
      --journal_.at_work;
    }
    void Pause(bool paused) override { paused_ = paused; }

   private:
    void Wait() {
      timer_ = journal_.loop_.At(journal_.loop_.Now() + Duration::Millis(1),
                                 [this] { paused_ ? Wait() : GoOn(); });
    }
    void GoOn() {
      auto ended = events_.ended;
      auto* read = std::get_if<wire::ReadEnds>(&request_);
      if (read == nullptr) {
        Send(wire::QueryAnswer{"an answer"});
        Send(wire::QueryDone());
        return ended(End{});
      }
      if (read->after == journal_.ends) {
        if (journal_.finished) Send(wire::EndsRead{.position = read->after, .finished = true});
        return ended(journal_.finished ? End{} : End{read->after});
      }
      auto output = std::make_shared<TaskOutput>();
      output->out.bytes = std::string(1000, 'x');
      output->out.total = output->out.bytes.size();
      wire::EndsRead next{.position = ++read->after};
      next.ends.ends.push_back(
          {.ref = {read->job, static_cast<TaskIndex>(read->after - 1), Attempt(1)}});
      next.ends.outputs.push_back(std::move(output));
      next.verdicts.push_back(Verdict::kSucceeded);
      Wait();
      Send(next);
    }
    void Send(const wire::Reply& reply) {
      std::string bytes;
      wire::Append(bytes, reply);
      events_.reply(bytes);
    }

    EndsJournal& journal_;
    wire::Request request_;
    const Events events_;
    bool paused_ = false;
    os::TimerId timer_ = 0;
  };

  os::Loop& loop_;
};

class PostedAside final : public Aside {
 public:
  explicit PostedAside(os::Loop& loop) : loop_(loop) {}
  void Do(const std::string&, Work work) override {
    loop_.Post([this, work = std::move(work)] { loop_.Post(work()); });
  }

 private:
  os::Loop& loop_;
};

// Requests sent and replies received by a client.
struct Dialogue {
  std::deque<wire::Reply> replies;
  std::map<uint32_t, std::vector<wire::Reply>> of;  // the same, by the ids of their requests
  ClientPort::Events events;
  bool full = false;  // it reads nothing

  // Sends the next request, or more of an upload.
  void Ask(const wire::Request& request) const {
    const bool more = wire::KindOf(request) == wire::RequestKind::kUpload &&
                      !std::holds_alternative<wire::Submit>(request);
    Give(more ? last : ++last, request);
  }
  void Give(uint32_t id, const wire::Request& request) const {
    std::string bytes;
    wire::Append(bytes, request);
    events.request(id, bytes);
  }
  mutable uint32_t last = 0;  // the id of the newest request
  // The replies to a request that were not looked at before, taken.
  std::vector<wire::Reply> Take(uint32_t id) {
    auto taken = std::exchange(of[id], {});
    uint32_t bytes = 0;
    for (const wire::Reply& reply : taken) {
      std::string encoded;
      wire::Append(encoded, reply);
      bytes += static_cast<uint32_t>(encoded.size());
    }
    if (bytes > 0) Give(id, wire::RepliesTaken{bytes});
    return taken;
  }
  bool Done() const {
    return !replies.empty() && std::holds_alternative<wire::QueryDone>(replies.back());
  }
};

class DialoguePort final : public ClientPort {
 public:
  explicit DialoguePort(Dialogue& dialogue) : dialogue_(dialogue) {}
  void Start(Events events) override { dialogue_.events = std::move(events); }
  bool Send(uint32_t id, std::string_view reply) override {
    dialogue_.replies.push_back(*wire::DecodeReply(reply));
    dialogue_.of[id].push_back(dialogue_.replies.back());
    return !dialogue_.full;
  }
  void PauseReading(bool) override {}
  void Refuse(const wire::Refusal& why) override { ADD_FAILURE() << why.reason; }
  void Close() override {}

 private:
  Dialogue& dialogue_;
};

class ServiceTest : public testing::Test, public Watcher {
 protected:
  explicit ServiceTest(bool one_job = false, Duration commit = kCommitTime,
                       Service::Options options = {})
      : store_(loop_, disk_, {commit, commit, 1, /*is_hub=*/true}) {
    options.one_job = one_job;
    if (one_job) {
      options.allows = [](const wire::Query& query) -> Status {
        if (!query.question.Is<wire::SetUser>()) return {};
        return Fail(ErrorKind::kInvalid, "not here");
      };
    }
    options.dir = "/hub";
    options.owner = 1000;
    options.key = "a key";
    options.log = [](const LogText&) {};
    options.stop_asked = [this] { ++stops_; };
    options.stopped = [] {};
    auto service = Service::Open({loop_, store_, aside_, reader_, commands_, *this}, options);
    EXPECT_TRUE(service.has_value());
    service_ = std::move(*service);
    service_->Begin({});
  }
  Dialogue& Come(const std::string& user, uint32_t number) {
    Guest guest;
    guest.greeting.role = wire::Role::kClient;
    guest.local_user = number;
    guest.user = user;
    auto caller = service_->Who(guest);
    EXPECT_TRUE(caller.has_value());
    Dialogue& dialogue = dialogues_.emplace_back();
    service_->ClientArrived(*caller, std::make_unique<DialoguePort>(dialogue));
    return dialogue;
  }
  // The first message of an upload of an open job.
  static wire::Submit Head(const std::string& key) {
    wire::Submit head;
    head.submission = key;
    auto settings = std::make_shared<JobSettings>();
    settings->cwd = "/";
    head.settings = std::move(settings);
    head.open = true;
    return head;
  }
  // The last message of an upload of this number of tasks.
  static wire::SubmitEnd End(uint32_t count) { return {count, {Needs()}, {{0, count, 0}}, {}}; }
  JobId Submit(const Dialogue& dialogue, uint32_t count) {
    return Upload(dialogue, "one", count, JobId()).job;
  }
  wire::Accepted Upload(const Dialogue& dialogue, const std::string& key, uint32_t count,
                        JobId add_to) {
    wire::Submit head = Head(key);
    head.add_to = add_to;
    dialogue.Ask(head);
    for (uint32_t left = count; left > 0; left -= std::min(left, 50'000u)) {
      dialogue.Ask(wire::Rows{std::vector<std::string>(std::min(left, 50'000u), "true")});
    }
    dialogue.Ask(End(count));
    loop_.RunFor(Duration::Seconds(1));
    EXPECT_FALSE(dialogue.replies.empty());
    if (dialogue.replies.empty()) return {};
    return std::get<wire::Accepted>(dialogue.replies.back());
  }

  void OnEnded(const engine::NoticeEnded&, const TaskOutputPtr&) override {}
  void OnHeld(const engine::NoticeHeld&) override {}
  void OnFinished(const engine::NoticeFinished&) override {}
  void OnNews(const wire::ToHub&) override {}
  void OnStoreFailed(const Error& error) override { ADD_FAILURE() << error.message; }

  int stops_ = 0;
  os::FakeLoop loop_;
  std::shared_ptr<store::MemoryDisk> disk_ = std::make_shared<store::MemoryDisk>();
  store::MemoryStore store_;
  PostedAside aside_{loop_};
  EndsJournal reader_{loop_};
  NoCommands commands_{loop_};
  std::unique_ptr<Service> service_;
  std::deque<Dialogue> dialogues_;
};

}  // namespace spate::hub
