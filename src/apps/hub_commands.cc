#include "apps/hub_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "access/proof.h"
#include "apps/hub_look.h"
#include "apps/hub_verbs.h"
#include "base/units.h"
#include "base/utc.h"
#include "cli/exit_code.h"
#include "cli/history/job_facts.h"
#include "cli/options/hub_options.h"
#include "cli/options/run_options.h"
#include "cli/options/submit_options.h"
#include "cli/options/values.h"
#include "cli/options/words.h"
#include "cli/table/table.h"
#include "cli/table/time_text.h"
#include "cli/text/end_text.h"
#include "cli/view/json_line.h"

namespace spate::apps {
namespace {

using cli::Command;
using cli::JsonLine;

using Call = CommandCall;

Status NeedAdmin(const Call& call) {
  if (call.caller().is_admin) return {};
  return Fail(ErrorKind::kPermission,
              "only the hub's administrators may do that: whoever runs it, root on its machine, "
              "and access files with the role admin");
}

// ---- Nodes -------------------------------------------------------------------------------------

Result<std::vector<NodeId>> PickNodes(const Call& call) {
  std::vector<NodeId> picked;
  for (const std::string& word : call.words.words) {
    if (word == "all") {
      for (const NodeFacts& each : FactsOfNodes(call.service)) picked.push_back(each.node->row.id);
      continue;
    }
    const hub::Nodes::Node* node = call.service.nodes().FindByName(word);
    if (node == nullptr) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("the hub knows no node '{}'; see: spate node list{}",
                              EscapeForScreen(word), call.asked.reach));
    }
    picked.push_back(node->row.id);
  }
  return picked;
}

std::string MemoryText(uint64_t bytes) { return bytes == 0 ? "" : FormatSize(bytes); }

Status NodeList(Call& call) {
  auto chosen = PickNodes(call);
  if (!chosen) return std::unexpected(chosen.error());
  std::string text;
  cli::Table table({{"NODE", cli::Align::kLeft, 8},
                    {"STATE"},
                    {"USER", cli::Align::kLeft, 6},
                    {"SLOTS", cli::Align::kRight},
                    {"CPUS", cli::Align::kRight},
                    {"MEMORY", cli::Align::kRight},
                    {"TASKS", cli::Align::kRight},
                    {"LOAD", cli::Align::kRight},
                    {"ENDED", cli::Align::kRight},
                    {"FAILED", cli::Align::kRight},
                    {"NOTE", cli::Align::kLeft, 8}},
                   call.asked.width, call.asked.colour,
                   [&](std::string_view bytes) { text += bytes; });
  for (const NodeFacts& each : FactsOfNodes(call.service)) {
    bool wanted = chosen->empty() ||
                  std::find(chosen->begin(), chosen->end(), each.node->row.id) != chosen->end();
    if (!wanted) continue;
    if (!call.human()) {
      bool names = call.form == cli::OutputForm::kQuiet;
      text += names ? EscapeForScreen(each.node->row.name) + "\n" : JsonOf(each).Finish();
      continue;
    }
    const Offer& offer = each.info.offer;
    std::string standing = StandingOf(each);
    bool good = standing == "ready";
    table.Add({{each.node->row.name},
               {standing, good ? cli::Tone::kGood : cli::Tone::kDoubtful},
               {each.node->row.user == "*" ? "all" : each.node->row.user},
               {fmt::format("{}", offer.slots)},
               {fmt::format("{:g}", offer.milli_cpus / 1000.0)},
               {MemoryText(offer.memory)},
               {fmt::format("{}", each.info.leased)},
               {each.node->state ? fmt::format("{:.1f}", each.node->state->machine.load) : ""},
               {fmt::format("{}", each.info.ended)},
               {fmt::format("{}", each.info.failed)},
               {each.info.text}});
  }
  table.Finish();
  call.Put(text);
  if (text.empty() && call.human()) {
    call.Say("no node has joined; start one, here or elsewhere: spate node start --daemon");
  }
  call.client.Exit(cli::kExitSuccess);
  return {};
}

Status NodeInfo(Call& call) {
  auto chosen = PickNodes(call);
  if (!chosen) return std::unexpected(chosen.error());
  for (const NodeFacts& each : FactsOfNodes(call.service)) {
    bool wanted = chosen->empty() ||
                  std::find(chosen->begin(), chosen->end(), each.node->row.id) != chosen->end();
    if (!wanted) continue;
    if (!call.human()) {
      call.Put(JsonOf(each).Finish());
      continue;
    }
    const Offer& offer = each.info.offer;
    std::string text = fmt::format("Node {}\n", EscapeForScreen(each.node->row.name));
    auto add = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) text += fmt::format("  {:<10} {}\n", name, EscapeForScreen(value));
    };
    add("state", StandingOf(each) + ", since " + cli::DateAndTime(each.node->since));
    add("why", each.info.text);
    add("address", each.node->peer);
    add("program", "spate " + each.node->product);
    add("serves", each.node->row.user == "*" ? "all users" : each.node->row.user);
    add("offers", fmt::format("{} slots, {:g} cpus{}", offer.slots, offer.milli_cpus / 1000.0,
                              offer.memory > 0 ? ", " + FormatSize(offer.memory) : ""));
    for (const NamedOffer& named : offer.named) {
      add("", fmt::format("{}: {}", named.name, fmt::join(named.indices, ",")));
    }
    add("labels", fmt::format("{}", fmt::join(offer.labels, " ")));
    if (offer.end_of_life != Instant::Never()) {
      add("until", cli::DateAndTime(offer.end_of_life));
    }
    add("tasks", fmt::format("{} now, {} ended, {} of them failed", each.info.leased,
                             each.info.ended, each.info.failed));
    if (const auto& state = each.node->state) {
      const MachineLoad& machine = state->machine;
      add("machine",
          fmt::format("load {:.1f}, {} free; tasks wait for cpu {:.0f} %, memory {:.0f} "
                      "%, disks {:.0f} % of the time",
                      machine.load, FormatSize(machine.free_memory), machine.cpu_pressure,
                      machine.memory_pressure, machine.io_pressure));
      for (const wire::NodeState::Run& run : state->runs) {
        add("runs", fmt::format("{}.{} since {}", run.ref.job.value, run.ref.index + 1,
                                cli::DateAndTime(run.since)));
      }
    }
    call.Put(text);
  }
  call.client.Exit(cli::kExitSuccess);
  return {};
}

Status ChangeNodes(Call& call) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  auto chosen = PickNodes(call);
  if (!chosen) return std::unexpected(chosen.error());
  std::string_view done;
  for (NodeId node : *chosen) {
    switch (call.words.command) {
      case Command::kNodeDrain:
        call.service.hub().Post(engine::DrainNode{node});
        done = "drained, nothing more starts there";
        break;
      case Command::kNodeResume:
        call.service.nodes().Remove(node, hub::Nodes::Removal::kNone);
        call.service.hub().Post(engine::UndrainNode{node});
        call.service.hub().Post(engine::ClearSick{node, JobId()});
        done = "in use again";
        break;
      default:
        call.service.nodes().Remove(node, hub::Nodes::Removal::kEnds);
        done = "removed";
    }
  }
  call.Done(fmt::format("{}: {}", fmt::join(call.words.words, ", "), done));
  return {};
}

// ---- The hub itself ----------------------------------------------------------------------------

Status HubStatus(Call& call) {
  hub::Service& service = call.service;
  HubFigures figures = FiguresOf(service);
  std::vector<std::string> addresses;
  for (const os::SocketAddress& address : service.door().addresses()) {
    addresses.push_back(address.Text());
  }
  if (!call.human()) {
    call.Put(JsonOf(service, figures).Finish());
  } else {
    std::string text = fmt::format("Hub of spate {}\n", SPATE_VERSION);
    auto add = [&](std::string_view name, const std::string& value) {
      text += fmt::format("  {:<10} {}\n", name, value);
    };
    add("since",
        fmt::format("{} (life {})", cli::DateAndTime(service.since()), service.epoch().value));
    add("folder", EscapeForScreen(service.dir()));
    add("listens", fmt::format("{}", fmt::join(addresses, ", ")));
    add("nodes", fmt::format("{} connected", service.nodes_joined()));
    add("jobs", fmt::format("{} not ended: {} running, {} queued", FormatCount(figures.jobs),
                            cli::CountOf(figures.running, "task"), FormatCount(figures.queued)));
    add("peers", fmt::format("{} accepted, {} refused, {} cut off for a breach of the protocol",
                             figures.accepted, figures.refused, figures.breaches));
    if (!call.extras.metrics.empty()) add("metrics", call.extras.metrics);
    call.Put(text);
    if (service.nodes_joined() == 0) {
      call.Say("no node is connected; start one, here or elsewhere: spate node start --daemon");
    }
  }
  call.client.Exit(cli::kExitSuccess);
  return {};
}

std::string BoundText(uint32_t bound) { return bound == 0 ? "any" : fmt::format("{}", bound); }

std::string SizeBoundText(uint64_t bound) { return bound == 0 ? "any" : FormatSize(bound); }

Status Top(Call& call) {
  call.Put(TopLines(call.service, call.caller()));
  call.client.Exit(cli::kExitSuccess);
  return {};
}

Status HubStop(Call& call) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  call.Say("the hub stops; nodes go on with what they have");
  call.client.Exit(cli::kExitSuccess);
  call.service.loop().Post([service = &call.service] { service->Stop(); });
  return {};
}

Status AddAccess(Call& call, const cli::AccessOptions& options) {
  access::Access access;
  access.hubs = call.service.reached_at();
  if (access.hubs.empty()) {
    return Fail(ErrorKind::kUnavailable,
                "the hub listens only at its socket on this machine, where no access file is "
                "needed; start it with --listen HOST to be reached by others");
  }
  auto secret = access::MakeRandom();
  if (!secret) return std::unexpected(secret.error());
  access.pin = call.service.identity().pin();
  access.secret = *secret;
  access.role = static_cast<access::Role>(options.role);
  access.user = options.user.empty() ? call.caller().user : options.user;
  if (access.user == access::kEveryUser && access.role != access::Role::kNode) {
    return Fail(ErrorKind::kInvalid, "--user '*' is for nodes only (--role node)");
  }
  if (options.lifetime) access.expires = call.service.loop().Now() + *options.lifetime;
  // The access that is being added gets its serial before it is written down.
  call.service.access().Add(access, [](Status) {});
  call.service.jobs().WhenSettled(
      call.client.Guarded([client = &call.client, text = access::FormatAccess(access)] {
        client->Print(1, text);
        client->Exit(cli::kExitSuccess);
      }));
  return {};
}

Status ListAccess(Call& call) {
  std::string text;
  cli::Table table({{"SERIAL", cli::Align::kRight},
                    {"ROLE"},
                    {"USER", cli::Align::kLeft, 6},
                    {"MADE"},
                    {"EXPIRES"},
                    {"STATE"}},
                   call.asked.width, call.asked.colour,
                   [&](std::string_view bytes) { text += bytes; });
  Instant now = call.service.loop().Now();
  for (const auto& [serial, row] : call.service.access().all()) {
    bool expired = row.expires && *row.expires <= now;
    std::string state = row.revoked ? "revoked" : expired ? "expired" : "good";
    if (call.human()) {
      table.Add({{fmt::format("{}", serial)},
                 {row.role},
                 {row.user},
                 {cli::DateAndMinute(row.created)},
                 {row.expires ? cli::DateAndMinute(*row.expires) : "never"},
                 {state, state == "good" ? cli::Tone::kGood : cli::Tone::kBad}});
      continue;
    }
    JsonLine line = cli::TypedLine("access");
    line.Number("serial", static_cast<int64_t>(serial));
    line.Text("role", row.role).Text("user", row.user).Text("state", state);
    text += line.Finish();
  }
  table.Finish();
  call.Put(text);
  call.client.Exit(cli::kExitSuccess);
  return {};
}

Status RevokeAccess(Call& call, const cli::AccessOptions& options) {
  for (uint64_t serial : options.serials) {
    if (!call.service.access().Revoke(serial, [](Status) {})) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("there is no access {} that could be revoked; see: spate hub access "
                              "list{}",
                              serial, call.asked.reach));
    }
    call.service.DropClientsOf(serial, "this access was revoked");
  }
  call.Done(fmt::format("{} revoked", options.serials.size() == 1
                                          ? fmt::format("access {}", options.serials.front())
                                          : fmt::format("{} accesses", options.serials.size())));
  return {};
}

Status HubAccessVerb(Call& call) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  auto options = cli::MakeAccessOptions(call.words);
  if (!options) return std::unexpected(options.error());
  switch (options->verb) {
    case cli::AccessOptions::Verb::kAdd:
      return AddAccess(call, *options);
    case cli::AccessOptions::Verb::kList:
      return ListAccess(call);
    default:
      return RevokeAccess(call, *options);
  }
}

Status HubUser(Call& call) {
  auto options = cli::MakeUserOptions(call.words);
  if (!options) return std::unexpected(options.error());
  auto users = call.service.hub().engine().Users();
  if (options->changes()) {
    if (auto admin = NeedAdmin(call); !admin) return admin;
    UserRule rule;
    for (const engine::UserInfo& info : users) {
      if (info.user == options->user) rule = info.rule;
    }
    rule.weight = options->weight.value_or(rule.weight);
    rule.max_running = options->max_running.value_or(rule.max_running);
    rule.max_queued = options->max_queued.value_or(rule.max_queued);
    rule.max_output = options->max_output.value_or(rule.max_output);
    call.service.hub().Post(engine::SetUser{options->user, rule});
    call.Done(fmt::format("{}: weight {}, {} running, {} queued, {} of output at most",
                          options->user, rule.weight, BoundText(rule.max_running),
                          BoundText(rule.max_queued), SizeBoundText(rule.max_output)));
    return {};
  }
  std::string text;
  cli::Table table({{"USER", cli::Align::kLeft, 8},
                    {"JOBS", cli::Align::kRight},
                    {"RUNNING", cli::Align::kRight},
                    {"QUEUED", cli::Align::kRight},
                    {"CPUS", cli::Align::kRight},
                    {"WEIGHT", cli::Align::kRight},
                    {"MAX RUNNING", cli::Align::kRight},
                    {"MAX QUEUED", cli::Align::kRight},
                    {"MAX OUTPUT", cli::Align::kRight}},
                   call.asked.width, call.asked.colour,
                   [&](std::string_view bytes) { text += bytes; });
  for (const engine::UserInfo& info : users) {
    if (!options->user.empty() && info.user != options->user) continue;
    if (call.human()) {
      table.Add({{info.user},
                 {fmt::format("{}", info.jobs)},
                 {fmt::format("{}", info.leased)},
                 {fmt::format("{}", info.queued)},
                 {fmt::format("{:g}", info.used)},
                 {fmt::format("{}", info.rule.weight)},
                 {BoundText(info.rule.max_running)},
                 {BoundText(info.rule.max_queued)},
                 {SizeBoundText(info.rule.max_output)}});
      continue;
    }
    JsonLine line = cli::TypedLine("user");
    line.Text("user", info.user);
    line.Number("jobs", info.jobs).Number("running", info.leased).Number("queued", info.queued);
    line.Number("weight", info.rule.weight).Number("max_running", info.rule.max_running);
    line.Number("max_queued", info.rule.max_queued);
    text += line.Number("max_output", static_cast<int64_t>(info.rule.max_output)).Finish();
  }
  table.Finish();
  call.Put(text);
  call.client.Exit(cli::kExitSuccess);
  return {};
}

Verb VerbOf(Command command) {
  switch (command) {
    case Command::kNodeList:
      return NodeList;
    case Command::kNodeInfo:
      return NodeInfo;
    case Command::kNodeDrain:
    case Command::kNodeResume:
    case Command::kNodeRemove:
      return ChangeNodes;
    case Command::kHubStatus:
      return HubStatus;
    case Command::kTop:
      return Top;
    case Command::kHubStop:
      return HubStop;
    case Command::kHubAccess:
      return HubAccessVerb;
    case Command::kHubUser:
      return HubUser;
    default:
      return JobVerbOf(command);
  }
}

// What the journal answers.
bool IsQuestion(Command command) {
  switch (command) {
    case Command::kJobList:
    case Command::kJobInfo:
    case Command::kJobTasks:
    case Command::kJobCat:
    case Command::kJobTail:
    case Command::kJobGet:
    case Command::kReport:
    case Command::kTaskInfo:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool RunHubCommand(const HubExtras& extras, hub::Service& service, hub::ClientSession& client,
                   wire::Command& command) {
  auto fail = [&](const Error& error) {
    client.Fail(error);
    return true;
  };
  if (command.argv.empty()) return fail({ErrorKind::kInvalid, "no command"});
  auto found = cli::FindCommand(command.argv);
  if (!found) return fail(found.error());
  auto words = cli::ParseWords(found->command, std::span(command.argv).subspan(found->words));
  if (!words) return fail(words.error());
  Verb verb = VerbOf(found->command);
  if (verb == nullptr && IsQuestion(found->command)) return false;
  if (verb == nullptr) {
    return fail({ErrorKind::kInvalid, fmt::format("a hub does not answer 'spate {}'; type it where "
                                                  "it is to run",
                                                  cli::Definition(found->command).name)});
  }
  auto form = cli::OutputFormOf(*words);
  if (!form) return fail(form.error());
  Call call{extras, service, client, command, *words, *form};
  auto done = verb(call);
  // The journal tells of tasks that have ended, or are no more in the engine.
  bool history = found->command == Command::kTaskExplain;
  if (!done && history && done.error().kind == ErrorKind::kNotFound) return false;
  if (!done) return fail(done.error());
  return true;
}

}  // namespace spate::apps
