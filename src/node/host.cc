#include "node/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "os/file.h"
#include "os/process.h"

namespace spate::node {
namespace {

constexpr Duration kSweepPatience = Duration::Seconds(5);

// Node::Parts::no_room for the disk of this folder.
std::function<std::string()> RoomIn(std::string folder) {
  return [folder = std::move(folder), full = false]() mutable -> std::string {
    auto space = os::SpaceOf(folder);
    if (!space) return "";
    const uint64_t least = os::LeastRoom(*space);
    full = space->free < (full ? least + least / 8 : least);
    if (!full) return "";
    return fmt::format("no room on the disk of '{}': {} free, but tasks need at least {} to start",
                       EscapeForScreen(folder), FormatSize(space->free), FormatSize(least));
  };
}

}  // namespace

Result<std::unique_ptr<Host>> Host::Open(os::RealLoop& loop, HostOptions options) {
  std::unique_ptr<Host> host(new Host(loop, options));
  std::function<std::string()> no_room;
  bool is_node = false;
  std::vector<std::string> folders;
  if (auto* with = std::get_if<ProcessExecutorOptions>(&options.tasks)) {
    is_node = !with->node_folder.empty();
    folders = {is_node ? with->node_folder : with->spool_folder};
    no_room = RoomIn(folders.front());
    if (!with->task_folders.empty()) folders.push_back(with->task_folders);
    TRY(host->MakeShepherds(std::move(*with), options.offer));
  } else {
    host->executor_ = std::get<Executor*>(options.tasks);
  }
  if (options.cpus) host->MakeBinder(std::move(*options.cpus));
  if (!options.puts.empty()) host->files_.emplace(loop, std::move(options.puts));
  // It is made when there is something to keep.
  if (options.kept.name != nullptr) folders.push_back(os::DirName(options.kept.dir));
  Node::Parts parts{.loop = loop,
                    .executor = *host->executor_,
                    .sample_load = nullptr,
                    .files = host->files_ ? &*host->files_ : nullptr,
                    .users = options.users,
                    .tell_every = options.tell_every,
                    .kept = std::move(options.kept),
                    .umask = options.umask,
                    .dialects = std::move(options.dialects),
                    .doubt = options.doubt,
                    .first = std::move(options.first),
                    .left_running = std::move(options.left_running),
                    .no_room = std::move(no_room),
                    .watches_room = is_node,
                    .folders = std::move(folders)};
  if (host->shepherds_) {
    parts.ask_run = [shepherds = host->shepherds_.get()](auto ask, auto told) {
      shepherds->Query(std::move(ask), std::move(told));
    };
  }
  const bool has_gpus = std::ranges::count(options.offer.named, "gpus", &NamedOffer::name) > 0;
  host->processes_.emplace(loop, has_gpus, [of = host.get()] { return of->Roots(); });
  parts.list_processes = [list = &*host->processes_](auto told) { list->Read(std::move(told)); };
  if (options.machine != nullptr) {
    parts.gpu_variable = options.machine->facts().gpu_variable;
    parts.sample_load = [machine = options.machine] {
      return MachineLoad{machine->FreeMemory(), machine->LoadAverage(), machine->Pressure("cpu"),
                         machine->Pressure("memory"), machine->Pressure("io")};
    };
  }
  host->node_ = std::make_unique<Node>(options.id, std::move(options.offer), std::move(parts));
  if (host->shepherds_) host->SetEvents(*host->node_);
  if (is_node) {
    host->traffic_.emplace(
        loop, [of = host.get()] { return of->Roots(); },
        [of = host.get()](const SlowedBeside& found) { of->node_->ReportSlowed(found); });
  }
  return host;
}

// Attempts without a shepherd run inside this process.
std::vector<AttemptRoot> Host::Roots() const {
  if (shepherds_) return shepherds_->Roots();
  std::vector<AttemptRoot> roots;
  for (const agent::Run& run : node_->agent().Runs()) {
    roots.push_back({.ref = run.ref, .root = os::OwnPid(), .is_inside = true});
  }
  return roots;
}

Host::Host(os::RealLoop& loop, HostOptions& options) : loop_(loop), machine_(options.machine) {
  if (machine_ != nullptr) cgroup_places_ = machine_->cgroups();
  if (!options.cgroup.empty()) cgroup_places_.v2_dir = options.cgroup;
}

Status Host::MakeShepherds(ProcessExecutorOptions with, const Offer& offer) {
  with.slots = static_cast<uint16_t>(offer.slots);
  if (machine_ != nullptr) {
    os::SweepCgroups(cgroup_places_, kSweepPatience);
    cgroups_ = os::CgroupTree::Create(cgroup_places_, with.node_id);
    if (cgroups_) with.cgroup = (*cgroups_)->dir();
  }
  auto shepherds = TRY(ProcessExecutor::Create(loop_, std::move(with)));
  shepherds_ = std::move(shepherds);
  executor_ = shepherds_.get();
  return {};
}

// Also without binding: what an earlier process gave to its tasks comes with them.
void Host::MakeBinder(HostOptions::Cpus cpus) {
  CpuBinder::Parts parts{.loop = loop_,
                         .under = *executor_,
                         .packer = std::move(cpus.packer),
                         .variable = std::move(cpus.variable),
                         .binds = cpus.binds,
                         .on_split = std::move(cpus.on_split)};
  if (cpus.floats) {
    parts.bind_floating = [this](const AttemptRef& ref, const std::vector<int>& units) {
      return shepherds_->BindTo(ref, units);
    };
  }
  binder_ = std::make_unique<CpuBinder>(std::move(parts));
  executor_ = binder_.get();
  if (shepherds_) shepherds_->SetEvents(*binder_);
}

ExecutorEvents& Host::events() {
  if (binder_) return *binder_;
  return *node_;
}

void Host::SetEvents(ExecutorEvents& first) {
  if (binder_) return binder_->SetEvents(first);
  shepherds_->SetEvents(first);
}

Result<Host::AdoptedNow> Host::Adopt() {
  auto adopted = TRY(shepherds_->Adopt());
  AdoptedNow now{adopted.running.size() + adopted.ended.size(), std::move(adopted.problems)};
  if (binder_) binder_->Adopt(adopted);
  node_->Adopt(std::move(adopted));
  return now;
}

void Host::Connect(std::unique_ptr<link::Connection> connection, Closed closed,
                   uint64_t longest_stream) {
  channel_ = std::make_unique<link::HubChannelTcp>(
      std::move(connection),
      link::HubChannelTcp::Events{.closed = std::move(closed),
                                  .silent = [](bool) {},
                                  .backlogged =
                                      [this](bool is) {
                                        if (node_) node_->SetOutputBlocked(is);
                                      }},
      link::BacklogLimits(), longest_stream);
  node_->Connect(*channel_);
}

void Host::Disconnect() {
  if (node_) node_->Disconnect();
  // It may be in a call of its own now.
  if (channel_) loop_.Post([gone = std::shared_ptr<link::HubChannelTcp>(std::move(channel_))] {});
}

wire::Ends Host::CutOff(const std::string& why) {
  wire::Ends cut_off = node_->CutOff(why);
  node_.reset();  // it has orders for the executor
  binder_.reset();
  shepherds_.reset();  // ends what runs
  return cut_off;
}

void Host::LeaveForAdoption() {
  shepherds_->LeaveForAdoption();
  if (cgroups_) (*cgroups_)->Leave();
}

}  // namespace spate::node
