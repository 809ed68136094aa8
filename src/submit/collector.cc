#include "submit/collector.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/units.h"
#include "cli/report.h"
#include "client/follower.h"
#include "client/surroundings.h"
#include "forward/shared_files.h"
#include "os/fd.h"
#include "os/file.h"
#include "view/task_text.h"

namespace spate::submit {
namespace {

using ForwardWhat = ForwardFacts::What;

constexpr size_t kInMemory = 1u << 20;  // of a pack
constexpr Duration kLockPatience = Duration::Seconds(10);
constexpr size_t kLooks = 256;  // at places of jobs that may be gone

// ForwardWhat a hub is known by: its key, or its socket.
std::string KeyOf(const client::HubTarget& target) {
  std::string text;
  if (target.target.access) {
    const auto& pin = target.target.access->pin;
    text.assign(pin.begin(), pin.end());
  } else {
    for (const os::Address& address : target.target.hubs) text += os::FormatAddress(address) + "\n";
  }
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

class Collector {
 public:
  Collector(client::HubCall& call, const std::string& root, const std::string& key, JobId job,
            const std::string& folder)
      : call_(call),
        job_(job),
        root_(root),
        prefix_(key + "-"),
        path_(os::JoinPath(root, fmt::format("{}{}", prefix_, job.value))),
        files_(path_ + ".log", folder, forward::MostOpen(), forward::SharedFiles::Where::kBelow) {}
  Status Run();
  const Collected& collected() const { return collected_; }

 private:
  Status Recover();
  Status Take(const ForwardFacts& facts, client::Position& place);
  Status Keep(std::string_view bytes);
  Status Deliver(const ForwardFacts& facts);
  void Drop();
  void ForgetGone(Instant now);

  client::HubCall& call_;
  const JobId job_;
  const std::string root_, prefix_, path_;
  forward::SharedFiles files_;
  std::set<std::string, std::less<>> done_;
  OutputStream pack_;  // of the task that comes now
  os::Fd spool_;
  Collected collected_;
};

// ForwardWhat a killed process was appending goes; what it had appended is not asked for again.
Status Collector::Recover() {
  const std::string log = path_ + ".log";
  auto tell = [](const std::string& text) { cli::PrintMessage(text); };
  auto none = [](std::string_view) { return false; };
  TRY(forward::SharedFiles::Recover(log, none, tell, /*keep=*/true));
  auto done = TRY(forward::SharedFiles::Done(log));
  done_ = std::move(done);
  return {};
}

Status Collector::Run() {
  TRY(os::MakeDirs(root_));
  auto follower = TRY(client::Follower::Open(call_, path_, path_ + ".lock", kLockPatience));
  TRY(Recover());
  auto collected = follower.CatchUp(
      call_, wire::ReadForwards{.job = job_},
      [this](const ForwardFacts& facts, client::Position& place) { return Take(facts, place); },
      [] { return Status(); });
  Drop();
  if (!collected) return collected;
  (void)os::RemoveFile(path_ + ".log");
  ForgetGone(call_.loop().Now());
  return {};
}

Status Collector::Take(const ForwardFacts& facts, client::Position& place) {
  switch (facts.what) {
    case ForwardWhat::kBytes:
      return Keep(facts.text);
    case ForwardWhat::kTask:
      return Deliver(facts);
    case ForwardWhat::kDamaged:
      ++collected_.damaged;
      fmt::print(stderr, "spate: {}: {}\n", cli::TaskId(job_, facts.index), facts.text);
      Drop();
      return {};
    case ForwardWhat::kEnd:
      place = {.position = facts.position, .created = facts.created.ns};
      return {};
  }
  return {};
}

Status Collector::Keep(std::string_view bytes) {
  pack_.total += bytes.size();
  if (!spool_ && pack_.total <= kInMemory) {
    pack_.bytes += bytes;
    return {};
  }
  if (!spool_) {
    pack_.spool = path_ + ".data";
    auto spool = TRY(os::OpenWrite(pack_.spool, os::OpenHow::kTruncate, 0600));
    spool_ = std::move(spool);
    auto put = os::WriteAll(spool_.get(), std::exchange(pack_.bytes, {}), pack_.spool);
    if (!put) return put;
  }
  return os::WriteAll(spool_.get(), bytes, pack_.spool);
}

Status Collector::Deliver(const ForwardFacts& facts) {
  // Names this end alone, also when a job has the number of one that is gone with its journal.
  const std::string name =
      fmt::format("{}:{}:{}", facts.created.ns, facts.position, uint64_t{facts.index} + 1);
  Status done;
  if (pack_.total > 0 && !done_.contains(name)) {
    done = files_.Deliver(name, pack_);
    if (done) done = files_.MarkDone(name);
    if (done) ++collected_.tasks;
  }
  Drop();
  return done;
}

void Collector::Drop() {
  if (spool_) (void)os::RemoveFile(pack_.spool);
  spool_.Reset();
  pack_ = {};
}

// Places of jobs that the hub does not have any more.
void Collector::ForgetGone(Instant now) {
  auto entries = os::ListDir(root_);
  if (!entries) return;
  std::set<uint32_t> numbers;
  // From another one each time: jobs that stay must not hide those that have gone.
  if (!entries->empty()) {
    auto first = static_cast<size_t>(now.ns) % entries->size();
    std::ranges::rotate(*entries, entries->begin() + static_cast<std::ptrdiff_t>(first));
  }
  for (const os::DirEntry& entry : *entries) {
    if (!entry.name.starts_with(prefix_)) continue;
    auto number = ReadNumber<uint32_t>(std::string_view(entry.name).substr(prefix_.size()));
    if (number && *number != job_.value && numbers.size() < kLooks) numbers.insert(*number);
  }
  if (numbers.empty()) return;
  wire::SumJobs question;
  for (uint32_t number : numbers) question.jobs.emplace_back(number);
  auto told = client::Query(call_, std::move(question), [&](const JobSums& sums) -> Status {
    numbers.erase(sums.job.value);
    return {};
  });
  if (!told) return;
  for (uint32_t number : numbers) {
    std::string path = os::JoinPath(root_, fmt::format("{}{}", prefix_, number));
    for (const char* suffix : {"", ".log", ".lock", ".data"}) (void)os::RemoveFile(path + suffix);
  }
}

}  // namespace

Result<Collected> CollectForwards(client::HubCall& call, const client::HubSetting& setting,
                                  JobId job, const std::string& folder) {
  const std::string root = os::JoinPath(client::StateDirOf("", setting.here), "forwards");
  Collector collector(call, root, KeyOf(setting.target), job, folder);
  TRY(collector.Run());
  return collector.collected();
}

}  // namespace spate::submit
