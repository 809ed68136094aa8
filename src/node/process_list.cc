// One look: roots on the loop, /proc on a thread, nvidia-smi as a command beside it; then the roots
// again. A shepherd that has taken another attempt in hand meanwhile has shown that one's
// processes, so the attempt is left out.
//
// A process' words and rank are read once for each program that it executes.
#include "node/process_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/number.h"
#include "os/environment.h"
#include "os/process.h"
#include "shepherd/process_tree.h"

namespace spate::node {
namespace {

using std::string_view_literals::operator""sv;

constexpr Duration kNoGpusFor = Duration::Seconds(60);
constexpr std::string_view kGpuProgram = "nvidia-smi";
constexpr size_t kMostGpuText = 1 << 20;
constexpr uint64_t kMebi = 1 << 20;

constexpr std::array kOwnRank = {"SPATE_RANK"sv};
constexpr std::array kLauncherRanks = {"OMPI_COMM_WORLD_RANK"sv, "PMIX_RANK"sv, "PMI_RANK"sv};

ProcessState StateOf(char letter) {
  switch (letter) {
    case 'R':
      return ProcessState::kRunning;
    case 'S':
    case 'I':
      return ProcessState::kSleeping;
    case 'D':
      return ProcessState::kDisk;
    case 'T':
    case 't':
      return ProcessState::kStopped;
    case 'Z':
    case 'X':
      return ProcessState::kZombie;
    default:
      return ProcessState::kOther;
  }
}

std::optional<uint32_t> RankIn(int32_t pid, std::span<const std::string_view> names) {
  auto value = shepherd::FirstVariable(pid, names);
  return value ? ReadNumber<uint32_t>(*value) : std::nullopt;
}

// "1234, 512" with MiB, a line for each process and GPU.
std::map<uint32_t, uint64_t> ParseGpus(std::string_view text) {
  std::map<uint32_t, uint64_t> used;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t comma = line.find(", ");
    if (comma == line.npos) continue;
    const auto pid = ReadNumber<uint32_t>(line.substr(0, comma));
    const auto size = ReadNumber<uint64_t>(line.substr(comma + 2));
    if (pid && size && *size < UINT64_MAX / kMebi) used[*pid] += *size * kMebi;
  }
  return used;
}

}  // namespace

// Belongs to one thread at a time.
class ProcessList::Reader {
 public:
  ListedProcesses Read(const std::vector<AttemptRoot>& roots) {
    ListedProcesses found;
    std::unordered_map<int32_t, Place> places;
    std::vector<int32_t> shepherds;
    for (const AttemptRoot& root : roots) {
      std::vector<ProcessFacts>& of = found[root.ref];
      if (root.is_inside) {
        Add(root.root, {.of = &of});
        continue;
      }
      places[root.root] = {.of = &of, .is_part = root.is_part, .is_shepherd = true};
      shepherds.push_back(root.root);
    }
    shepherd::ProcessTree tree(shepherds.empty() ? os::OwnPid() : shepherds.front());
    tree.EachBelow(shepherds, [&](int32_t pid, int32_t parent) {
      places[pid] = Add(pid, places.at(parent), parent);
    });
    // A launcher of a gang has Spate's rank of the part, which is that of a process below it.
    for (const auto& [of, at] : own_ranks_) {
      if (launched_.contains(of)) (*of)[at].rank.reset();
    }
    own_ranks_.clear();
    launched_.clear();
    std::erase_if(known_, [this](const auto& each) { return each.second.seen != looks_; });
    ++looks_;
    return found;
  }

 private:
  // A process in the tree of its attempt.
  struct Place {
    std::vector<ProcessFacts>* of = nullptr;
    bool is_part = false;
    bool is_shepherd = false;
    // A launcher may give ranks to what is below it: the attempt's first process has none.
    bool launched = false;
  };
  struct Known {
    uint64_t start = 0, stack = 0;
    std::string name, command;
    std::optional<uint32_t> launched, own;  // ranks
    uint64_t seen = 0;
  };

  Place Add(int32_t pid, const Place& parent, int32_t parent_pid = 0) {
    auto info = os::InfoOf(pid);
    Place place{.of = parent.of, .is_part = parent.is_part, .launched = parent.launched};
    if (!info) return place;
    const Known& known = KnownOf(*info);
    if (parent.is_shepherd) {
      place.launched = !known.launched;
      // A helper that the shepherd has forked of itself is no process of the task.
      if (known.command == CommandOf(parent_pid)) return place;
    }
    ProcessFacts facts{.pid = static_cast<uint32_t>(pid),
                       .parent = static_cast<uint32_t>(info->parent),
                       .start = info->start_time,
                       .state = StateOf(info->state),
                       .cpu = info->own,
                       .memory = info->resident,
                       .threads = info->threads,
                       .elapsed = os::AgeOf(info->start_time),
                       .command = known.command};
    if (!parent.is_shepherd && place.launched) facts.rank = known.launched;
    if (facts.rank) {
      launched_.insert(place.of);
    } else if (place.is_part && known.own) {
      facts.rank = known.own;
      own_ranks_.emplace_back(place.of, place.of->size());
    }
    place.of->push_back(std::move(facts));
    return place;
  }

  const Known& KnownOf(const os::ProcessInfo& info) {
    Known& known = known_[info.pid];
    known.seen = looks_;
    const bool same =
        known.start == info.start_time &&
        (info.state == 'Z' || (known.stack == info.stack && known.name == info.command));
    if (same) return known;
    known = {.start = info.start_time, .stack = info.stack, .name = info.command, .seen = looks_};
    known.command = shepherd::CommandLineOf(info.pid, ProcessFacts::kMostCommand);
    if (known.command.empty()) known.command = fmt::format("[{}]", info.command);
    known.launched = RankIn(info.pid, kLauncherRanks);
    known.own = RankIn(info.pid, kOwnRank);
    return known;
  }

  const std::string& CommandOf(int32_t shepherd) {
    if (auto info = os::InfoOf(shepherd)) return KnownOf(*info).command;
    static const std::string kNone;
    return kNone;
  }

  std::unordered_map<int32_t, Known> known_;
  std::vector<std::pair<std::vector<ProcessFacts>*, size_t>> own_ranks_;  // in this look
  std::set<std::vector<ProcessFacts>*> launched_;                         // have launched ranks
  uint64_t looks_ = 1;
};

ProcessList::~ProcessList() { loop_.Cancel(gpus_timer_); }

void ProcessList::Read(Told told) {
  const bool fresh = read_at_ && loop_.Now() - *read_at_ < kFresh;
  if (fresh && !aside_ && !gpus_) return told(found_);
  waiting_.push_back(std::move(told));
  if (waiting_.size() == 1) Start();
}

void ProcessList::Start() {
  if (!reader_) reader_ = std::make_shared<Reader>();
  asked_ = roots_();
  read_at_ = loop_.Now();
  AskGpus();
  aside_ = std::make_unique<os::Aside<ListedProcesses>>(
      loop_,
      [reader = reader_, roots = asked_]() -> Result<ListedProcesses> {
        return reader->Read(roots);
      },
      [this](Result<ListedProcesses> found) {
        found_ = found ? std::move(*found) : ListedProcesses();
        aside_.reset();
        Finish();
      });
}

// Most machines have no such program; where it takes long, or fails, it is left alone for a while.
void ProcessList::AskGpus() {
  gpu_memory_.clear();
  if (!has_gpus_ || asked_.empty() || (no_gpus_until_ && loop_.Now() < *no_gpus_until_)) return;
  no_gpus_until_ = loop_.Now() + kNoGpusFor;
  os::Command::Options options{
      .argv = {std::string(kGpuProgram), "--query-compute-apps=pid,used_memory",
               "--format=csv,noheader,nounits"},
      .environment = os::Environment::OfProcess(),
      .patience = kGpuPatience,
      .most_out = kMostGpuText};
  auto started = os::Command::Start(loop_, std::move(options), [this](os::Command::Ended ended) {
    loop_.Cancel(std::exchange(gpus_timer_, 0));
    if (!ended.timed_out && ended.exit_code == 0) {
      no_gpus_until_.reset();
      gpu_memory_ = ParseGpus(ended.out);
    }
    gpus_.reset();
    Finish();
  });
  if (!started) return;
  gpus_ = std::move(*started);
  // It may hang where no signal ends it.
  gpus_timer_ = loop_.At(loop_.Now() + kGpuPatience * 5 / 4, [this] {
    gpus_timer_ = 0;
    gpus_.reset();
    Finish();
  });
}

void ProcessList::Finish() {
  if (aside_ || gpus_) return;
  const std::vector<AttemptRoot> now = roots_();
  for (const AttemptRoot& root : asked_) {
    if (std::ranges::find(now, root) == now.end()) found_.erase(root.ref);
  }
  for (auto& [ref, processes] : found_) {
    for (ProcessFacts& process : processes) {
      auto used = gpu_memory_.find(process.pid);
      if (used != gpu_memory_.end()) process.gpu_memory = used->second;
    }
  }
  for (Told& told : std::exchange(waiting_, {})) told(found_);
}

}  // namespace spate::node
