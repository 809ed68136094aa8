#include "doors/parasol/site/site_status.h"

#include <fmt/format.h>

#include <utility>

#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "doors/parasol/row/wait_status.h"

namespace spate::parasol {
namespace {

constexpr size_t kRecentOfSlot = 4;  // ends that are remembered

// Folder and command; of a job of Parasol what it reads and writes, too, before the command.
std::string CommandLine(const node::Node::Held& held, const std::string& kept) {
  const JobSettings& settings = held.settings;
  if (settings.row_kind != RowKind::kParasol) {
    return fmt::format("{} {}", settings.cwd, settings.name);
  }
  auto row = ReadParasolRow(held.row);
  if (!row) return fmt::format("{} {}", settings.cwd, settings.name);
  static constexpr std::string_view kNone = "/dev/null";
  auto file = [](std::string_view name) { return name.empty() ? kNone : name; };
  return fmt::format("{} {} {} {} {}", row->folder.empty() ? settings.cwd : row->folder,
                     file(row->in), file(row->out), kept, ParasolCommand(row->text));
}

}  // namespace

SiteStatus::SiteStatus(node::Node& node, node::KeptStreams kept, uint32_t cpus)
    : node_(node),
      kept_(std::move(kept)),
      cpus_(cpus),
      recent_(node, kRecentOfSlot * cpus, [this](const AttemptRef& ref) { return WhatIs(ref); }) {}

std::string SiteStatus::WhatIs(const AttemptRef& ref) const {
  uint64_t id = ParasolId(ref.job, ref.index);
  auto held = node_.Find(ref);
  // Nothing is known of tasks that an earlier process started.
  if (!held) return fmt::format("{} ", id);
  return fmt::format("{} {} {}", id, held->settings.user,
                     CommandLine(*held, node::KeptPath(kept_, ref.job, ref.index)));
}

NodeReport SiteStatus::Report() const {
  NodeReport report{.slots = cpus_};
  for (const agent::Run& run : node_.agent().Runs()) report.running.push_back(WhatIs(run.ref));
  for (const RecentEnds::End& end : recent_.ends()) {
    report.ended.push_back({end.what, WaitStatusOf(end.cause, end.status), end.user, end.system});
  }
  return report;
}

void RecentEnds::OnEnded(AttemptEnd end, TaskOutputPtr output) {
  ends_.push_back({end.ref, end.cause, end.status, end.user, end.system, what_(end.ref)});
  if (ends_.size() > most_) ends_.pop_front();
  next_.OnEnded(std::move(end), std::move(output));
}

}  // namespace spate::parasol
