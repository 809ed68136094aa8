#include "cli/job/output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "os/real_loop.h"
#include "store/sqlite/tail.h"

namespace spate::cli {
namespace {

using store::Stream;

constexpr size_t kEndsAtOnce = 64;
constexpr Duration kPause = Duration::Millis(100);

}  // namespace

Result<Which> WhichOf(const Words& words) {
  auto value = words.Last(Opt::kStream);
  if (!value || *value == "both") return Which::kBoth;
  if (*value == "stdout") return Which::kStdout;
  if (*value == "stderr") return Which::kStderr;
  return Fail(ErrorKind::kInvalid,
              fmt::format("--stream: '{}' is not one of: {}", EscapeForScreen(*value),
                          Definition(Opt::kStream).words));
}

bool Wants(Which which, Stream stream) {
  return which != (stream == Stream::kStdout ? Which::kStderr : Which::kStdout);
}

void PutOutput(HistoryCall& call, Which which, Stream stream, std::string_view bytes) {
  if (stream == Stream::kStdout || which == Which::kStderr) {
    call.Put(bytes);
  } else {
    (void)call.Flush();
    call.environment().write_err(bytes);
  }
}

Result<uint32_t> PickOneJob(HistoryCall& call) {
  auto jobs = PickJobs(call, call.words().words);
  if (!jobs) return std::unexpected(std::move(jobs.error()));
  if (jobs->size() == 1) return jobs->front();
  return Fail(ErrorKind::kInvalid, fmt::format("name one job, as in: spate {} 12",
                                               Definition(call.words().command).name));
}

Result<int> FollowOutput(HistoryCall& call, uint32_t job, uint64_t after) {
  if (!call.on_hub()) {
    return Fail(ErrorKind::kInvalid,
                "--follow: a run on this machine shows its output where it was started; only a "
                "hub's job is followed");
  }
  auto which = WhichOf(call.words());
  if (!which) return std::unexpected(std::move(which.error()));
  auto tail = store::Tail::Open(call.place().dir, JobId(job));
  if (!tail) return std::unexpected(std::move(tail.error()));
  auto loop = os::RealLoop::Create();
  if (!loop) return std::unexpected(std::move(loop.error()));
  // Whoever waits for what cannot come now is told at once.
  auto why = call.environment().waits.find(job);
  if (auto flushed = call.Flush(); !flushed) return std::unexpected(std::move(flushed.error()));
  if (why != call.environment().waits.end()) call.Say(why->second);
  for (;;) {
    auto news = tail->Read(after, kEndsAtOnce);
    if (!news) return std::unexpected(std::move(news.error()));
    for (const store::Tail::End& end : news->ends) {
      for (Stream stream : {Stream::kStdout, Stream::kStderr}) {
        if (!Wants(*which, stream)) continue;
        auto read = tail->ReadOutput(end.attempt, stream, [&](std::string_view bytes, uint64_t) {
          PutOutput(call, *which, stream, bytes);
        });
        if (!read) return std::unexpected(std::move(read.error()));
      }
    }
    after = std::max(after, news->seq);
    if (auto flushed = call.Flush(); !flushed) return std::unexpected(std::move(flushed.error()));
    if (news->more) continue;
    if (news->finished) return kExitSuccess;
    (*loop)->At((*loop)->Now() + kPause, [&] { (*loop)->Stop(); });
    (*loop)->Run();
  }
}

}  // namespace spate::cli
