// One look: roots on the loop, counters on a thread; the next one begins a window later. A rate is
// the difference of two looks, over the processes and connections that both have seen: what ended
// between them is left out, which is little in a window unless a task is many short processes.
#include "node/traffic_watch.h"

#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "os/clock.h"
#include "os/process.h"
#include "os/tcp_traffic.h"
#include "shepherd/process_tree.h"

namespace spate::node {
namespace {

constexpr size_t kMostSockets = 1024;  // of one process; what is beyond is not counted

}  // namespace

// Belongs to one thread at a time.
class TrafficWatch::Reader {
 public:
  Window Read(const std::vector<AttemptRoot>& roots) {
    const int64_t now = os::MonotonicNanos();
    std::map<AttemptRef, Counters> all;
    std::unordered_map<int32_t, AttemptRef> owners;
    std::vector<int32_t> shepherds;
    for (const AttemptRoot& root : roots) {
      all[root.ref];
      if (root.is_inside) continue;
      owners[root.root] = root.ref;
      shepherds.push_back(root.root);
    }
    const auto traffic = os::TcpTraffic();
    shepherd::ProcessTree tree(shepherds.empty() ? os::OwnPid() : shepherds.front());
    tree.EachBelow(shepherds, [&](int32_t pid, int32_t parent) {
      const AttemptRef owner = owners[pid] = owners.at(parent);
      Counters& counters = all.at(owner);
      counters.whole = owners.size() <= kMostProcesses;
      if (counters.whole) Count(pid, traffic, counters);
    });
    Window window;
    for (auto& [ref, counters] : all) {
      auto before = last_.find(ref);
      agent::Slowdowns::Sample sample{ref, std::nullopt};
      const bool known = before != last_.end() && before->second.whole && counters.whole;
      if (known) sample.rates = RatesOf(before->second, counters, now - read_at_);
      window.push_back(sample);
    }
    last_ = std::move(all);
    read_at_ = now;
    return window;
  }

 private:
  struct Counters {
    bool whole = true;                               // all of its processes were counted
    std::unordered_map<uint64_t, uint64_t> sockets;  // bytes, by inode
    std::map<std::pair<int32_t, uint64_t>, uint64_t> processes;
  };

  static void Count(int32_t pid, const Result<std::unordered_map<uint64_t, uint64_t>>& traffic,
                    Counters& to) {
    if (auto moved = os::BytesMovedBy(pid)) to.processes[{pid, os::StartTimeOf(pid)}] = *moved;
    if (!traffic) return;
    for (uint64_t inode : os::SocketsOf(pid, kMostSockets)) {
      if (auto at = traffic->find(inode); at != traffic->end()) to.sockets[inode] = at->second;
    }
  }

  template <typename Map>
  static uint64_t Moved(const Map& before, const Map& now) {
    uint64_t sum = 0;
    for (const auto& [key, bytes] : now) {
      auto at = before.find(key);
      if (at != before.end() && at->second <= bytes) sum += bytes - at->second;
    }
    return sum;
  }

  static std::array<uint64_t, kCountOf<TrafficKind>> RatesOf(const Counters& before,
                                                             const Counters& now, int64_t nanos) {
    constexpr int64_t kMilli = 1'000'000;
    const auto millis = static_cast<uint64_t>(std::max<int64_t>(nanos / kMilli, 1));
    return {Moved(before.sockets, now.sockets) * 1000 / millis,
            Moved(before.processes, now.processes) * 1000 / millis};
  }

  std::map<AttemptRef, Counters> last_;
  int64_t read_at_ = 0;
};

TrafficWatch::TrafficWatch(os::RealLoop& loop, Roots roots, Found found, Duration window)
    : loop_(loop),
      roots_(std::move(roots)),
      found_(std::move(found)),
      window_(window),
      reader_(std::make_shared<Reader>()) {
  LookLater();
}

TrafficWatch::~TrafficWatch() { loop_.Cancel(timer_); }

void TrafficWatch::LookLater() {
  timer_ = loop_.At(loop_.Now() + window_, [this] { Look(); });
}

void TrafficWatch::Look() {
  auto roots = roots_();
  aside_ = std::make_unique<os::Aside<Window>>(
      loop_,
      [reader = reader_, roots = std::move(roots)]() -> Result<Window> {
        return reader->Read(roots);
      },
      [this](Result<Window> window) {
        aside_.reset();
        LookLater();
        if (!window) return;
        for (const SlowedBeside& one : slowdowns_.Add(*window)) found_(one);
      });
}

}  // namespace spate::node
