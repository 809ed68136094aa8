#include "history/reader_end.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/number.h"
#include "history/reader.h"
#include "history/task_texts.h"
#include "os/affinity.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "wire/client_codec.h"
#include "wire/field_bytes.h"
#include "wire/frame.h"

namespace spate::history {
namespace {

constexpr size_t kQuestionMost = 4 * wire::kMaxFrame;  // with what the hub adds
constexpr size_t kPieceBytes = 256 << 10;
constexpr size_t kEndsAtOnce = 64;
constexpr Duration kFirstReaderPause = Duration::Millis(5);
constexpr Duration kLongestReaderPause = Duration::Millis(100);
// Readers are few: who follows a job gives its place to others, and comes back.
constexpr Duration kTurn = Duration::Seconds(2);

// The hub is gone, or does not want the answer any more.
[[noreturn]] void GiveUp() { os::DieOfSignal(os::kSignalKill); }

void WriteFrame(wire::FrameType type, std::string_view message) {
  std::string frame;
  bool fits = wire::AppendFrame(frame, type, [&](std::string& out) { out += message; });
  if (!fits || !os::WriteAll(os::kStdout, frame, "the hub")) GiveUp();
}

void Send(const wire::Reply& reply) {
  std::string bytes;
  wire::Append(bytes, reply);
  WriteFrame(wire::FrameType::kReply, bytes);
}

void SendFailed(const Error& error) { Send(wire::Failed{error.kind, error.message, error.remedy}); }

void Print(int stream, std::string_view text) {
  while (!text.empty()) {
    std::string_view piece = text.substr(0, kPieceBytes);
    Send(wire::Printed{static_cast<uint8_t>(stream), std::string(piece)});
    text.remove_prefix(piece.size());
  }
}

Result<wire::Request> ReadQuestion() {
  auto bytes = TRY(os::ReadToEnd(os::kStdin, kQuestionMost, "the question"));
  wire::FrameReader frames;
  frames.Accept();
  frames.Feed(bytes);
  auto frame = TRY(frames.Next());
  if (!frame) return Fail(ErrorKind::kIo, "the question is not whole");
  auto request = TRY(wire::DecodeRequest(frame->message));
  auto* query = std::get_if<wire::Query>(&request);
  while (query != nullptr) {
    auto live = TRY(frames.Next());
    if (!live) break;
    query->live.push_back(TRY(wire::FromBytes<JobLive>("live", live->message)));
  }
  return request;
}

// Passes the ends of one job on, as they become durable.
class EndsSender {
 public:
  EndsSender(std::unique_ptr<store::Tail> tail, uint64_t after)
      : tail_(std::move(tail)), position_(after) {}
  // Until the job has finished, or nothing more is there after kTurn. Where to go on; nullopt: it
  // has finished.
  Result<std::optional<uint64_t>> Run();

 private:
  Status Add(const store::Tail::End& end);
  Result<OutputStream> ReadStream(const store::AttemptEntry& attempt, store::Stream stream);
  void Flush(bool finished);

  std::unique_ptr<store::Tail> tail_;
  uint64_t position_;
  wire::EndsRead message_;
  bool apart_ = false;  // of the newest end: some output went before it
};

// A long stream goes in pieces, ahead of the end that it belongs to.
Result<OutputStream> EndsSender::ReadStream(const store::AttemptEntry& attempt,
                                            store::Stream stream) {
  OutputStream out;
  TRY(tail_->ReadOutput(attempt, stream, [&](std::string_view bytes, uint64_t skipped) {
    if (skipped > 0) out.bytes += fmt::format("\n[{} bytes were not kept]\n", skipped);
    out.bytes += bytes;
    if (out.bytes.size() <= kInlineOutput) return;
    if (!apart_) Flush(false);
    apart_ = true;
    out.total += out.bytes.size();
    Print(static_cast<int>(stream), std::exchange(out.bytes, {}));
  }));
  if (out.total > 0 && !out.bytes.empty()) {
    out.total += out.bytes.size();
    Print(static_cast<int>(stream), std::exchange(out.bytes, {}));
  }
  out.total = std::max<uint64_t>(out.total, out.bytes.size());
  return out;
}

Status EndsSender::Add(const store::Tail::End& end) {
  TaskOutput output;
  bool damaged = false;
  apart_ = false;
  for (auto [stream, to] :
       {std::pair{store::Stream::kStdout, &output.out}, {store::Stream::kStderr, &output.err}}) {
    auto read = ReadStream(end.attempt, stream);
    if (read) *to = std::move(*read);
    if (!read && read.error().kind != ErrorKind::kCorrupt) return std::unexpected(read.error());
    damaged |= !read;
  }
  bool empty = output.out.total + output.err.total == 0;
  message_.verdicts.push_back(end.attempt.record.verdict);
  message_.ends.ends.push_back(end.attempt.record.end);
  if (damaged) message_.ends.ends.back().not_kept = NotKept::kDamaged;
  message_.ends.outputs.push_back(empty ? nullptr
                                        : std::make_shared<const TaskOutput>(std::move(output)));
  position_ = end.seq;
  if (apart_) Flush(false);
  return {};
}

void EndsSender::Flush(bool finished) {
  if (message_.ends.ends.empty() && !finished) return;
  message_.position = position_;
  message_.finished = finished;
  Send(std::exchange(message_, {}));
}

Result<std::optional<uint64_t>> EndsSender::Run() {
  auto loop = TRY(os::RealLoop::Create());
  const Instant until = loop->Now() + kTurn;
  Duration pause = kFirstReaderPause;
  for (;;) {
    auto news = TRY(tail_->Read(position_, kEndsAtOnce));
    for (const store::Tail::End& end : news.ends) {
      TRY(Add(end));
    }
    position_ = std::max(position_, news.seq);
    Flush(news.finished && !news.more);
    if (news.finished && !news.more) return std::nullopt;
    if (!news.ends.empty()) pause = kFirstReaderPause;
    if (loop->Now() >= until) return position_;
    if (news.more) continue;
    loop->At(loop->Now() + pause, [&] { loop->Stop(); });
    loop->Run();
    pause = std::min(pause + pause, kLongestReaderPause);
  }
}

Result<std::optional<uint64_t>> SendEnds(const store::History& history,
                                         const wire::ReadEnds& read) {
  auto tail = TRY(history.stream().Follow(read.job.value));
  return EndsSender(std::move(tail), read.after).Run();
}

void AnswerQuestion(const Source& source, const wire::Question& question) {
  auto give = [](std::string_view bytes) -> Status {
    Send(wire::QueryAnswer{std::string(bytes)});
    return {};
  };
  auto told = Answer(source, question, give);
  if (told) {
    Send(wire::QueryDone());
  } else {
    SendFailed(told.error());
  }
}

}  // namespace

void AnswerOnce(const Source& source) {
  os::IgnoreSignal(os::kSignalPipe);
  std::string last_word;
  auto question = ReadQuestion();
  if (!question) {
    SendFailed(question.error());
  } else if (auto* query = std::get_if<wire::Query>(&*question)) {
    Source now = source;
    for (JobLive& each : query->live) now.live.insert_or_assign(each.job.value, std::move(each));
    AnswerQuestion(now, query->question);
  } else if (const auto* read = std::get_if<wire::ReadEnds>(&*question)) {
    auto sent = SendEnds(*source.history, *read);
    if (!sent) SendFailed(sent.error());
    if (sent && *sent) last_word = fmt::format("{}", **sent);
  }
  WriteFrame(wire::FrameType::kHeartbeat, last_word);
}

bool KeepIfAsked(const Source& source, std::string_view job, std::string_view word) {
  const auto number = ReadNumber<uint32_t>(job);
  if (word != kKeepWord || !number) return false;
  os::GiveWay();
  if (auto journal = source.history->Open(*number)) {
    (void)(*journal)->Replayed();
    (void)TaskTexts(source, **journal).CalledAsOthers();
  }
  return true;
}

}  // namespace spate::history
