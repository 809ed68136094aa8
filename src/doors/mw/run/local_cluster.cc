#include <spate/mw_local.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "doors/mw/formats/options.h"
#include "doors/mw/run/algorithms.h"
#include "doors/mw/run/master_impl.h"
#include "doors/mw/run/slave_impl.h"
#include "os/file.h"
#include "os/temp_dir.h"
#include "os/thread.h"

namespace spate::mw {
inline namespace v1 {
namespace {

constexpr std::chrono::seconds kConnectMost{60};

void Report(const std::string& text) {
  (void)os::WriteAll(os::kStderr, "spate::mw::local_cluster: " + text + "\n", "standard error");
}

}  // namespace

class local_cluster::impl {
 public:
  impl(const std::vector<std::string>& options, std::function<int(slave&)> as_slave)
      : as_slave_(std::move(as_slave)) {
    for (size_t i = 0; i < options.size(); ++i) {
      std::vector<std::string>& whose = IsOffer(options[i]) ? offers_ : extra_;
      whose.push_back(options[i]);
      if (i + 1 < options.size()) whose.push_back(options[++i]);
    }
    if (auto sound = Algorithms::Get().Check(); !sound) throw error(sound.error().message);
    StartMaster();
  }
  ~impl() {
    if (master_) inside_->hub->Finish(/*failed=*/false);
    slaves_.clear();
  }

  mw::master& master() { return *master_; }
  void StartMaster();
  slave_id Add(const std::vector<std::string>& offers);
  const std::vector<std::string>& offers() const { return offers_; }
  bool Kill(slave_id id);
  void Restart();

 private:
  struct Slave {
    explicit Slave(uint16_t slots) : inside(slots) {}
    slave::impl inside;  // the node: with the mutex
    std::mutex mutex;
    std::thread thread;
    bool killed = false;
    bool is_there() const { return !killed && !inside.bench.Status().done(); }
    ~Slave() {
      if (is_there()) inside.bench.End(Workbench::Over::kMasterLost, "the cluster has ended");
      if (thread.joinable()) thread.join();
    }
  };
  Options Read(const char* role, std::vector<std::string> args) const;
  void Await(Slave& slave, uint64_t lives) const;

  // The last one goes first.
  os::TempDir dir_;
  std::vector<std::string> extra_;   // of each master
  std::vector<std::string> offers_;  // of slaves
  const std::function<int(slave&)> as_slave_;
  std::unique_ptr<mw::master::impl> inside_;
  std::unique_ptr<mw::master> master_;
  std::vector<std::unique_ptr<Slave>> slaves_;
};

Options local_cluster::impl::Read(const char* role, std::vector<std::string> args) const {
  args.insert(args.begin(), {"local_cluster", role, "--mw-resource-file", dir_.Path("resources"),
                             "--mw-audit-file", dir_.Path(std::string("audit") + role)});
  auto read = ReadOptions(args, SPATE_VERSION);
  if (!read) throw error(read.error().text);
  read->in_process = true;
  return *read;
}

void local_cluster::impl::StartMaster() {
  std::vector<std::string> args = {"--mw-master-host", "127.0.0.1", "--mw-state",
                                   dir_.Path("state")};
  args.insert(args.end(), extra_.begin(), extra_.end());
  auto opened = mw::master::impl::Open(Read("--mw-master", std::move(args)));
  if (!opened) throw error(opened.error().message);
  inside_ = std::move(*opened);
  master_ = std::make_unique<mw::master>(*inside_);
}

void local_cluster::impl::Await(Slave& slave, uint64_t lives) const {
  if (!slave.inside.bench.AwaitLife(lives, kConnectMost)) {
    throw error("a slave of a local_cluster does not connect");
  }
  // Behind the news of it, which the master counts; and what it offers.
  const auto until = std::chrono::steady_clock::now() + kConnectMost;
  auto is_known = [&] {
    for (const slave_info& each : inside_->hub->ListSlaves()) {
      if (each.id == slave.inside.bench.id()) return each.slots == slave.inside.bench.slots();
    }
    return !slave.is_there();
  };
  // Each look waits for a turn of the hub's loop; its first message is under way.
  while (!is_known()) {
    if (std::chrono::steady_clock::now() > until) throw error("a slave of a local_cluster is mute");
  }
}

slave_id local_cluster::impl::Add(const std::vector<std::string>& offers) {
  const Options options = Read("--mw-slave", offers);
  auto made = std::make_unique<Slave>(static_cast<uint16_t>(options.slots));
  auto node = SlaveNode::Open(options, made->inside.bench, Report);
  if (!node) throw error(node.error().message);
  made->inside.node = std::move(*node);
  Slave& added = *slaves_.emplace_back(std::move(made));
  added.thread = os::ThreadWithoutSignals([this, &added] {
    slave self(added.inside);
    try {
      (void)as_slave_(self);
    } catch (const std::exception& thrown) {
      Report(fmt::format("a slave's function threw: {}", thrown.what()));
    } catch (...) {
      Report("a slave's function threw");
    }
    added.inside.Close();
    std::lock_guard lock(added.mutex);
    added.inside.node.reset();
  });
  Await(added, 0);
  return added.inside.bench.id();
}

bool local_cluster::impl::Kill(slave_id id) {
  auto at = std::ranges::find_if(slaves_, [id](const auto& each) {
    return each->is_there() && each->inside.bench.id() == id;
  });
  if (at == slaves_.end()) return false;
  (*at)->killed = true;
  std::lock_guard lock((*at)->mutex);
  if ((*at)->inside.node) (*at)->inside.node->Kill();
  return true;
}

void local_cluster::impl::Restart() {
  std::vector<std::pair<Slave*, uint64_t>> all;
  for (const auto& each : slaves_) {
    if (each->is_there()) all.emplace_back(each.get(), each->inside.bench.lives());
  }
  master_.reset();
  inside_.reset();
  StartMaster();
  for (auto [slave, lives] : all) Await(*slave, lives);
}

local_cluster::local_cluster(std::size_t slaves, const std::vector<std::string>& options,
                             std::function<int(slave&)> as_slave)
    : impl_(std::make_unique<impl>(options, std::move(as_slave))) {
  for (std::size_t i = 0; i < slaves; ++i) add_slave();
}

local_cluster::~local_cluster() = default;

master& local_cluster::master() { return impl_->master(); }
slave_id local_cluster::add_slave() { return impl_->Add(impl_->offers()); }
slave_id local_cluster::add_slave(const std::vector<std::string>& offers) {
  for (size_t i = 0; i < offers.size(); i += 2) {
    if (!IsOffer(offers[i])) throw error(offers[i] + " is not an option for what a slave offers");
  }
  return impl_->Add(offers);
}
bool local_cluster::kill_slave(slave_id slave) { return impl_->Kill(slave); }

master& local_cluster::restart_master() {
  impl_->Restart();
  return impl_->master();
}

}  // namespace v1
}  // namespace spate::mw
