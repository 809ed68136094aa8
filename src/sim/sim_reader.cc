#include "sim/sim_reader.h"

#include <string>
#include <utility>

#include "wire/client_codec.h"

namespace spate::sim {
namespace {

constexpr size_t kEndsOfOneMessage = 5;

// A job's ended attempts, from `after` on.
wire::EndsRead EndsOf(SimDisk& disk, const wire::ReadEnds& asked) {
  wire::EndsRead read;
  uint64_t position = 0;
  bool finished = false;
  bool more = false;
  (void)store::ReplayOne(disk.db(), asked.job, [&](const engine::Record& record) {
    if (std::holds_alternative<engine::JobFinished>(record)) finished = true;
    if (std::holds_alternative<engine::TasksReopened>(record)) finished = false;
    if (std::holds_alternative<engine::JobGrown>(record)) finished = false;
    const auto* ended = std::get_if<engine::AttemptEnded>(&record);
    if (ended == nullptr || position++ < asked.after) return;
    more = read.ends.ends.size() == kEndsOfOneMessage;
    if (more) return;
    auto output = disk.outputs.find(ended->end.ref);
    read.verdicts.push_back(ended->verdict);
    read.ends.ends.push_back(ended->end);
    read.ends.outputs.push_back(output == disk.outputs.end() ? nullptr : output->second);
  });
  read.position = asked.after + read.ends.ends.size();
  read.finished = finished && !more;
  return read;
}

}  // namespace

class SimReader::Answer final : public hub::JournalAnswer {
 public:
  Answer(SimReader& reader, wire::Request request, Events events)
      : reader_(reader), request_(std::move(request)), events_(std::move(events)) {
    Wait();
  }
  ~Answer() override { *alive_ = false; }
  void Pause(bool paused) override { paused_ = paused; }

 private:
  void Wait() {
    const auto wait = static_cast<int64_t>(reader_.prng_.Below(20'000'000));
    reader_.loop_.At(reader_.loop_.Now() + Duration{wait}, [this, alive = alive_] {
      if (!*alive || !reader_.faults_.Alive()) return;
      paused_ ? Wait() : GoOn();
    });
  }
  void GoOn() {
    auto* asked = std::get_if<wire::ReadEnds>(&request_);
    auto end = events_.ended;
    if (asked == nullptr) {
      Send(wire::Failed{ErrorKind::kUnavailable, "a simulated journal has no history"});
      return end(hub::JournalReader::End{});
    }
    wire::EndsRead read = EndsOf(*reader_.disk_, *asked);
    const bool finished = read.finished;
    const bool any = !read.ends.ends.empty();
    asked->after = read.position;
    auto alive = alive_;
    if (any || finished) Send(read);
    if (!*alive) return;
    if (finished) return end(hub::JournalReader::End{});
    if (!any) return end(hub::JournalReader::End{.position = asked->after});
    Wait();
  }
  void Send(const wire::Reply& reply) {
    std::string bytes;
    wire::Append(bytes, reply);
    events_.reply(bytes);
  }

  SimReader& reader_;
  wire::Request request_;
  const Events events_;
  bool paused_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

Result<std::unique_ptr<hub::JournalAnswer>> SimReader::Start(const hub::Caller&,
                                                             const wire::Request& request,
                                                             Events events) {
  return std::make_unique<Answer>(*this, request, std::move(events));
}

}  // namespace spate::sim
