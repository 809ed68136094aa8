// No node is oversold: what runs there at one time fits its slots, processors, memory and named
// resources, and no index of a named resource has two users. A part of a gang uses one slot and
// what its processes need together.
#include <fmt/format.h>

#include <set>
#include <string_view>

#include "sim/check.h"

namespace spate::sim {
namespace {

struct User {
  AttemptRef ref;
  Needs needs;
  std::vector<std::pair<std::string, std::string>> indices;  // name and label
  bool whole = false;
};
struct SimNode {
  Offer offer;
  std::map<uint16_t, User> slots;
};

// The indices that an attempt was given, as its environment tells them to the task.
std::vector<std::pair<std::string, std::string>> IndicesOf(const node::StartOrder& order) {
  constexpr std::pair<std::string_view, const char*> kVariables[] = {
      {"SPATE_GPUS=", "gpus"}, {"SPATE_RESOURCE_LICENCE=", "licence"}};
  std::vector<std::pair<std::string, std::string>> indices;
  std::vector<std::string> variables = order.body.environment;
  if (order.part) {
    for (const Command& each : order.body.steps.front().commands) {
      variables.insert(variables.end(), each.environment.begin(), each.environment.end());
    }
  }
  for (const std::string& each : variables) {
    for (const auto& [prefix, name] : kVariables) {
      if (!each.starts_with(prefix)) continue;
      std::string list = each.substr(prefix.size()) + ",";
      for (size_t at = 0, comma = 0; (comma = list.find(',', at)) != std::string::npos;
           at = comma + 1) {
        indices.emplace_back(name, list.substr(at, comma - at));
      }
    }
  }
  return indices;
}

class ResourcesCheck final : public Checker {
 public:
  const char* name() const override { return "resources"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* up = std::get_if<NodeUp>(&fact)) {
      nodes_[up->node] = {*up->offer, {}};
    } else if (const auto* executed = std::get_if<Executed>(&fact)) {
      Begin(scene, *executed, findings);
    } else if (const auto* changed = std::get_if<AttemptChanged>(&fact)) {
      SimNode& node = nodes_[changed->node];
      auto user = node.slots.find(changed->slot);
      if (user == node.slots.end() || user->second.ref != changed->ref) return;
      user->second.needs.milli_cpus = changed->needs->milli_cpus;
      user->second.needs.memory = changed->needs->memory;
      CheckNode(node, changed->ref, findings);
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      nodes_[over->node].slots.erase(over->slot);
    }
  }

 private:
  void Begin(const Scene& scene, const Executed& executed, Findings& findings) {
    const node::StartOrder& order = *executed.order;
    SimNode& node = nodes_[executed.node];
    BookedJob* job = scene.book.FindJob(order.ref.job);
    if (job == nullptr) return;
    const TaskClass& of_task = job->ClassOf(order.ref.index);
    User user{order.ref, of_task.needs, IndicesOf(order), of_task.gang.whole};
    // The newest request may not have reached the node yet.
    user.needs.milli_cpus = order.needs.milli_cpus;
    user.needs.memory = order.needs.memory;
    if (order.part) user.needs = NeedsOfPart(of_task.needs, order.part->host().procs);
    uint64_t asked = 0;
    for (const NamedNeed& need : user.needs.named) asked += need.count;
    if (asked != user.indices.size()) {
      findings.Add(name(), NameOf(order.ref) + " was given other resources than it requested");
    }
    if (!node.slots.emplace(order.slot, std::move(user)).second) {
      findings.Add(name(), fmt::format("slot {} runs two at once, {} is the second", order.slot,
                                       NameOf(order.ref)));
    }
    CheckNode(node, order.ref, findings);
  }

  void CheckNode(const SimNode& node, const AttemptRef& last, Findings& findings) {
    uint64_t cpus = 0;
    uint64_t memory = 0;
    std::set<std::pair<std::string, std::string>> taken;
    bool shared = false;
    bool whole = false;
    for (const auto& [slot, user] : node.slots) {
      cpus += user.needs.milli_cpus;
      memory += user.needs.memory;
      whole |= user.whole;
      for (const auto& index : user.indices) shared |= !taken.insert(index).second;
    }
    const char* what = nullptr;
    if (node.slots.size() > node.offer.slots) what = "slots";
    if (cpus > node.offer.milli_cpus) what = "processors";
    if (node.offer.memory > 0 && memory > node.offer.memory) what = "memory";
    if (shared) what = "named resources";
    if (whole && node.slots.size() > 1) what = "whole nodes";
    if (what == nullptr) return;
    findings.Add(name(), fmt::format("{} has not so many {} as are used once {} runs",
                                     node.offer.node_name, what, NameOf(last)));
  }

  std::map<NodeId, SimNode> nodes_;
};

}  // namespace

std::unique_ptr<Checker> MakeResourcesCheck() { return std::make_unique<ResourcesCheck>(); }

}  // namespace spate::sim
