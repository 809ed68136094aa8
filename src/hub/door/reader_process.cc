#include "hub/door/reader_process.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "os/child.h"
#include "wire/client_codec.h"
#include "wire/field_bytes.h"
#include "wire/frame.h"

namespace spate::hub {
namespace {

// Takes the frames of a reader apart. Its last word, a Heartbeat, says that the answer is whole.
class ReaderProcess final : public JournalAnswer {
 public:
  explicit ReaderProcess(JournalReader::Events events) : events_(std::move(events)) {
    frames_.Accept();
  }
  Status Begin(os::RealLoop& loop, const std::vector<std::string>& argv, std::string input) {
    os::Child::Options options{.spawn = {.argv = argv}, .input = std::move(input)};
    child_ = TRY(os::Child::Start(loop, std::move(options),
                                  {.output = [this](int, std::string_view bytes) { PassOn(bytes); },
                                   .ended = [this](int) { Ended(); }}));
    return {};
  }
  void Pause(bool paused) override { child_->Pause(paused); }

 private:
  void PassOn(std::string_view bytes) {
    frames_.Feed(bytes);
    for (;;) {
      auto frame = frames_.Next();
      if (!frame || !*frame) return;
      if ((*frame)->type != wire::FrameType::kHeartbeat) {
        events_.reply((*frame)->message);
        continue;
      }
      end_.emplace();
      if (!(*frame)->message.empty()) end_->position = ReadNumber<uint64_t>((*frame)->message);
      return;
    }
  }
  // The owner may destroy this.
  void Ended() {
    auto ended = events_.ended;
    ended(end_);
  }

  const JournalReader::Events events_;
  wire::FrameReader frames_;
  std::optional<JournalReader::End> end_;
  std::unique_ptr<os::Child> child_;
};

}  // namespace

Result<std::unique_ptr<JournalAnswer>> ReaderProcesses::Start(const Caller& caller,
                                                              const wire::Request& request,
                                                              Events events) {
  std::string input;
  bool fits = wire::AppendFrame(input, wire::FrameType::kRequest,
                                [&](std::string& out) { wire::Append(out, request); });
  if (const auto* query = std::get_if<wire::Query>(&request)) {
    for (const JobLive& each : query->live) {
      fits &= wire::AppendFrame(input, wire::FrameType::kRequest,
                                [&](std::string& out) { AppendBytes(out, each); });
    }
  }
  if (!fits) return Fail(ErrorKind::kInvalid, "the question is too long");
  auto answer = std::make_unique<ReaderProcess>(std::move(events));
  std::vector<std::string> argv = command_;
  argv.insert(argv.end(), {caller.user, caller.is_admin ? "admin" : "user"});
  TRY(answer->Begin(loop_, argv, std::move(input)));
  return answer;
}

std::unique_ptr<JournalAnswer> ReaderProcesses::StoreState(JobId job, std::function<void()> done) {
  auto answer = std::make_unique<ReaderProcess>(
      Events{.reply = [](std::string_view) {}, .ended = [done](std::optional<End>) { done(); }});
  std::vector<std::string> argv = command_;
  argv.insert(argv.end(), {std::to_string(job.value), "keep"});
  if (!answer->Begin(loop_, argv, "")) return nullptr;
  return answer;
}

}  // namespace spate::hub
