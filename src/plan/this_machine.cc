#include "plan/this_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "base/units.h"
#include "cli/report.h"
#include "core/model/gang.h"
#include "os/file.h"
#include "os/process.h"
#include "present/advice.h"
#include "present/text/end_text.h"
#include "present/why.h"
#include "shepherd/output_check.h"

namespace spate::run {

uint32_t FitOpenFiles(uint32_t slots) {
  constexpr uint64_t kOfASlot = 4;    // a socket, a page, and while it is started two more
  constexpr uint64_t kOfTheRun = 48;  // journal, lists, loop, terminal
  os::OpenFileLimit limit = os::GetOpenFileLimit();
  uint64_t wanted = kOfTheRun + kOfASlot * slots;
  if (wanted > limit.now && os::SetOpenFileLimit(std::min(wanted, limit.most))) {
    limit = os::GetOpenFileLimit();
  }
  uint64_t allowed = limit.now > kOfTheRun ? (limit.now - kOfTheRun) / kOfASlot : 0;
  return static_cast<uint32_t>(std::clamp<uint64_t>(allowed, 1, slots));
}

Status UseGrantedGpus(const os::MachineFacts& facts, std::vector<NamedOffer>& offers) {
  const std::vector<std::string>& granted = facts.gpus;
  auto is_granted = [&](const std::string& gpu) {
    return std::ranges::find(granted, gpu) != granted.end();
  };
  auto offer = std::ranges::find(offers, "gpus", &NamedOffer::name);
  if (offer == offers.end() || !facts.gpus_granted) return {};
  if (std::ranges::all_of(offer->indices, is_granted)) return {};
  for (std::string& gpu : offer->indices) {
    auto number = ReadNumber<size_t>(gpu);
    if (number && *number < granted.size()) {
      gpu = granted[*number];
    } else if (granted.empty()) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("gpus: {} grants no GPUs; request some from the batch system, or "
                              "unset the variable if no batch system has set it",
                              facts.gpu_variable));
    } else {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("gpus: {} grants only {} ({}); offer no others, or leave out the "
                              "option to offer all that are granted",
                              facts.gpu_variable, present::CountOf(granted.size(), "GPU"),
                              EscapeForScreen(fmt::format("{}", fmt::join(granted, ",")))));
    }
  }
  return {};
}

Offer OfferOf(const cli::RunOptions& options, const client::Surroundings& here) {
  const os::MachineFacts& facts = here.machine.facts();
  Offer offer;
  offer.node_name = facts.host_name;
  offer.slots = FitOpenFiles(cli::OfferedSlots(options, facts.cores));
  offer.milli_cpus = cli::OfferedMilliCpus(options, facts.cores);
  offer.memory = facts.memory;
  if (!facts.gpus.empty()) offer.named.push_back({"gpus", facts.gpus});
  for (const NamedOffer& given : options.offers) {
    std::erase_if(offer.named, [&](const NamedOffer& named) { return named.name == given.name; });
    offer.named.push_back(given);
  }
  std::sort(offer.named.begin(), offer.named.end(),
            [](const NamedOffer& a, const NamedOffer& b) { return a.name < b.name; });
  return offer;
}

std::optional<std::string> WhyNeverHere(const Offer& offer, const TaskClass& of_tasks) {
  const GangShape& gang = of_tasks.gang;
  if (auto why = WhyNever(offer, of_tasks.needs)) return present::TextOf({*why});
  if (gang.empty()) return std::nullopt;
  if (gang.nodes > 1) {
    return fmt::format(
        "is a gang on {} nodes, but this machine is one node; submit it to a hub ({}), or write "
        "--nodes 1",
        gang.nodes, present::TextOf(Advice("run", "--hub")));
  }
  auto why = WhyNever(offer, NeedsOfPart(of_tasks.needs, gang.procs));
  if (!why) return std::nullopt;
  return fmt::format("is a gang of {} processes, which together {}", gang.procs,
                     present::TextOf({*why}));
}

Status CheckNeeds(const cli::TaskList& tasks, const Offer& offer) {
  std::string problems;
  bool named = false;
  for (size_t i = 0; i < tasks.requests.size(); ++i) {
    auto why = WhyNeverHere(offer, tasks.requests[i]);
    if (!why) continue;
    problems += fmt::format("{}: it {}\n", tasks.places[i], *why);
    named |= !tasks.requests[i].needs.named.empty();
  }
  if (problems.empty()) return {};
  return Fail(ErrorKind::kInvalid,
              problems +
                  (named ? "request less, or declare what this machine has with --offer NAME=N"
                         : "request less") +
                  "\nnothing was started");
}

cli::LoadContext LoadContextOf(const JobSettings& settings, uint32_t slots, bool run_checks) {
  cli::LoadContext context;
  context.why_check_fails = [cwd = settings.cwd](CheckKind kind, const char* file) {
    std::string path = os::JoinPath(cwd, file);
    std::string why = shepherd::WhyCheckFails(kind, path.c_str());
    // People know the file by the name that they wrote.
    return why.starts_with(path) ? file + why.substr(path.size()) : why;
  };
  context.slots = slots;
  context.run_input_checks = run_checks;
  context.on_slow = [](std::string_view text) { cli::PrintMessage(text); };
  return context;
}

}  // namespace spate::run
