// Many nodes in one process, for a hub to bear. They speak to it as nodes do, over connections of
// their own, and run nothing: a leased task has succeeded at once, or after a while.
//
//   node_swarm ACCESS PREFIX NODES SLOTS [TASK_MS [PROCESSES]]
//
// Each running task lists PROCESSES made-up processes, and is frozen as soon as the hub asks for
// it; its time goes on.
//
// Says "all N connected" on standard output whenever that has become true, and "N away" at the
// first that it loses after that. Ends with its standard input.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "access/access_file.h"
#include "base/prng.h"
#include "core/model/processes.h"
#include "link/channels.h"
#include "link/reconnector.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "wire/field_bytes.h"

namespace {

using spate::Duration;
using spate::Instant;
namespace link = spate::link;
namespace wire = spate::wire;

// The shortest task that a real node could report.
constexpr Duration kInstant = Duration::Micros(100);

// What the nodes of this process share.
struct Swarm {
  spate::os::RealLoop& loop;
  link::Target target;
  uint32_t nodes = 0;
  uint32_t slots = 0;
  Duration task;
  uint32_t processes = 0;  // of each task
  uint32_t connected = 0;
  bool complete = false;

  void Changed(int by) {
    connected += static_cast<uint32_t>(by);
    if (connected == nodes && !complete) std::printf("all %u connected\n", nodes);
    if (connected < nodes && complete) std::printf("%u away\n", nodes - connected);
    complete = connected == nodes;
    std::fflush(stdout);
  }
};

class SwarmNode {
 public:
  SwarmNode(Swarm& swarm, std::string name, uint64_t seed) : swarm_(swarm), name_(std::move(name)) {
    std::string instance = name_;
    instance.resize(wire::kInstanceBytes, '\0');
    link::Self self{"bench", wire::Role::kNode, name_, std::move(instance)};
    reconnector_ = std::make_unique<link::Reconnector>(
        swarm_.loop,
        link::NodeOptions(std::move(self),
                          [this]() -> spate::Result<link::Target> { return swarm_.target; }),
        spate::Prng(seed),
        link::Reconnector::Events{[this](link::Connector::Met met) { Connected(std::move(met)); },
                                  [](const spate::Error&, Duration) {},
                                  [](const auto& failure) { Complain(failure.error); }});
    reconnector_->Call();
  }

 private:
  struct Held {
    spate::AttemptRef ref;
    Instant start;
  };

  static void Complain(const spate::Error& error) {
    std::fprintf(stderr, "node_swarm: %s\n", error.message.c_str());
  }
  void Connected(link::Connector::Met met) {
    channel_ = std::make_unique<link::HubChannelTcp>(
        std::move(met.connection),
        link::HubChannelTcp::Events{[this](const link::Ended&) { Lost(); }, [](bool) {},
                                    [](bool) {}});
    channel_->OnMessage([this](wire::ToNode message) {
      if (auto* lease = std::get_if<wire::Lease>(&message)) Take(*lease);
      if (auto* taken = std::get_if<wire::ReportsTaken>(&message)) Forget(taken->number);
      if (auto* ask = std::get_if<wire::Ask>(&message)) Answer(*ask);
      if (auto* freeze = std::get_if<wire::Freeze>(&message)) Confirm(*freeze);
    });
    wire::Hello hello;
    hello.node = spate::NodeId(1);  // the hub knows which one we are
    hello.offer.node_name = name_;
    hello.offer.slots = swarm_.slots;
    hello.offer.milli_cpus = swarm_.slots * 1000;
    for (const Held& held : held_) Hold(hello, held.ref);
    for (const Held& held : running_) Hold(hello, held.ref);
    for (const wire::Ends& ends : untaken_) {
      for (const spate::AttemptEnd& end : ends.ends) Hold(hello, end.ref);
    }
    channel_->Send(std::move(hello));
    for (const wire::Ends& ends : untaken_) channel_->Send(ends);
    swarm_.Changed(1);
  }

  static void Hold(wire::Hello& hello, const spate::AttemptRef& ref) {
    hello.holds.push_back({ref.job, ref.attempt, {{ref.index, 1}}});
  }
  void Forget(uint64_t up_to) {
    while (!untaken_.empty() && untaken_.front().number <= up_to) untaken_.pop_front();
  }

  // Its processes, in one go: they fit the window.
  void Answer(const wire::Ask& ask) {
    wire::AnswerPiece rest{ask.id, wire::AnswerKind::kUnknown, 0, {}};
    if (ask.question == spate::ReadProcesses::kNumber) {
      rest.kind = wire::AnswerKind::kDone;
      rest.bytes = wire::BytesOf(Processes());
    }
    for (bool more = true; more;) {
      wire::AnswerPiece piece = wire::CutPiece(rest);
      more = piece.kind == wire::AnswerKind::kMore;
      channel_->Send(std::move(piece));
    }
  }

  spate::NodeProcesses Processes() const {
    spate::NodeProcesses all;
    all.boot = "bench";
    uint32_t pid = 1;
    for (const Held& held : running_) {
      spate::AttemptProcesses& of = all.attempts.emplace_back();
      of.job = held.ref.job;
      of.task = held.ref.index + 1;
      of.attempt = held.ref.attempt.value;
      for (uint32_t i = 0; i < swarm_.processes; ++i) {
        of.processes.push_back(
            {.pid = ++pid,
             .parent = pid - 1,
             .start = pid,
             .state = spate::ProcessState::kSleeping,
             .cpu = Duration::Millis(10 * i),
             .memory = 4096 * uint64_t{i + 1},
             .threads = 1,
             .elapsed = Duration::Seconds(1),
             .command = "worker --of " + name_ + " --number " + std::to_string(i)});
      }
    }
    return all;
  }

  void Confirm(const wire::Freeze& freeze) {
    for (const Held& held : running_) {
      auto has_it = [&](const spate::TaskRange& range) {
        return held.ref.index - range.first < range.count;
      };
      if (held.ref.job != freeze.job || std::ranges::none_of(freeze.tasks, has_it)) continue;
      channel_->Send(wire::Frozen{held.ref, freeze.frozen, freeze.stop});
    }
  }

  void Lost() {
    swarm_.loop.Post([gone = std::shared_ptr<link::HubChannelTcp>(std::move(channel_))] {});
    reconnector_->Call();
    swarm_.Changed(-1);
  }

  void Take(const wire::Lease& lease) {
    Instant now = swarm_.loop.Now();
    if (swarm_.task.ns == 0) return Report(lease, now);
    for (spate::TaskRange range : lease.tasks) {
      for (uint32_t i = 0; i < range.count; ++i) {
        held_.push_back({{lease.job, range.first + i, lease.attempt}, {}});
      }
    }
    StartMore();
  }

  void Report(const wire::Lease& lease, Instant now) {
    wire::Ends ends;
    for (spate::TaskRange range : lease.tasks) {
      for (uint32_t i = 0; i < range.count; ++i) {
        spate::AttemptRef ref{lease.job, range.first + i, lease.attempt};
        ends.ends.push_back(EndOf({ref, now}, kInstant + Duration::Micros(i % 97)));
      }
    }
    Send(std::move(ends));
  }

  void StartMore() {
    while (running_.size() < swarm_.slots && !held_.empty()) {
      Held next = held_.front();
      held_.pop_front();
      next.start = swarm_.loop.Now();
      running_.push_back(next);
      swarm_.loop.At(next.start + swarm_.task, [this] { EndOldest(); });
    }
  }

  void EndOldest() {
    wire::Ends ends;
    ends.ends.push_back(EndOf(running_.front(), swarm_.loop.Now() - running_.front().start));
    running_.pop_front();
    Send(std::move(ends));
    StartMore();
  }

  static spate::AttemptEnd EndOf(const Held& held, Duration wall) {
    spate::AttemptEnd end;
    end.ref = held.ref;
    end.slot = 1;
    end.start = held.start;
    end.wall = wall;
    end.user = wall;
    end.peak_memory = (1024 + held.ref.index % 61) << 10;
    end.memory_source = spate::MemorySource::kRusage;
    return end;
  }

  void Send(wire::Ends ends) {
    ends.number = ++reports_;
    ends.outputs.resize(ends.ends.size());
    untaken_.push_back(std::move(ends));
    if (channel_) channel_->Send(untaken_.back());
  }

  Swarm& swarm_;
  const std::string name_;
  std::unique_ptr<link::Reconnector> reconnector_;
  std::unique_ptr<link::HubChannelTcp> channel_;
  uint64_t reports_ = 0;
  std::deque<Held> held_;
  std::deque<Held> running_;
  std::deque<wire::Ends> untaken_;  // reports that the hub may not have
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: node_swarm ACCESS PREFIX NODES SLOTS [TASK_MS [PROCESSES]]\n");
    return 2;
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  spate::os::IgnoreSignal(spate::os::kSignalPipe);
  auto access = spate::access::LoadAccess(argv[1]);
  auto loop = spate::os::RealLoop::Create();
  if (!access || !loop) {
    std::fprintf(stderr, "node_swarm: %s\n",
                 (access ? loop.error() : access.error()).message.c_str());
    return 1;
  }
  Swarm swarm{**loop, link::Target::Of(*access)};
  swarm.nodes = static_cast<uint32_t>(std::atoi(argv[3]));
  swarm.slots = static_cast<uint32_t>(std::atoi(argv[4]));
  swarm.task = Duration::Millis(argc > 5 ? std::atoi(argv[5]) : 0);
  swarm.processes = argc > 6 ? static_cast<uint32_t>(std::atoi(argv[6])) : 0;
  std::deque<SwarmNode> nodes;
  for (uint32_t i = 0; i < swarm.nodes; ++i) {
    nodes.emplace_back(swarm, argv[2] + std::to_string(i), i);
  }
  (*loop)->WatchRead(0, [&] { (*loop)->Stop(); });
  (*loop)->Run();
  return 0;
}
