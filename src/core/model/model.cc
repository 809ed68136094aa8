// Names of the model's enumerations, and the arithmetic of needs against offers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>

#include "base/units.h"
#include "core/model/attempt.h"
#include "core/model/body.h"
#include "core/model/gang.h"
#include "core/model/job.h"
#include "core/model/job_facts.h"
#include "core/model/needs.h"

namespace spate {
namespace {

uint64_t Offered(const Offer& offer, const std::string& name) {
  for (const NamedOffer& named : offer.named) {
    if (named.name == name) return named.indices.size();
  }
  return 0;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool HasLabel(const Offer& offer, const std::string& label) {
  if (!label.starts_with(kFeatureMark)) return Has(offer.labels, label);
  return Has(offer.features, label.substr(1));
}

// The node is none that the task may run on, whatever it offers.
bool Excluded(const Offer& offer, const Needs& needs) {
  if (!needs.on_node.empty() && needs.on_node != offer.node_name) return true;
  if (Has(needs.not_on, offer.node_name)) return true;
  return !std::all_of(needs.labels.begin(), needs.labels.end(),
                      [&](const std::string& label) { return HasLabel(offer, label); });
}

Reason WhyExcluded(const Offer& offer, const Needs& needs) {
  if (!needs.on_node.empty() && needs.on_node != offer.node_name) {
    return {ReasonKind::kOnOtherNode, {}, {}, {needs.on_node, offer.node_name}};
  }
  if (Has(needs.not_on, offer.node_name)) {
    return {ReasonKind::kNotOnNode, {}, {}, {offer.node_name}};
  }
  auto label = std::ranges::find_if_not(
      needs.labels, [&](const std::string& each) { return HasLabel(offer, each); });
  if (!label->starts_with(kFeatureMark)) {
    return {ReasonKind::kLacksLabel, {}, {}, {*label, offer.node_name}};
  }
  return {ReasonKind::kLacksFeature, {}, {}, {label->substr(1), offer.node_name}};
}

}  // namespace

Status UserRule::CheckSound() const {
  auto wrong = [](const char* what) { return Fail(ErrorKind::kInvalid, what); };
  if (weight == 0) return wrong("weight is out of range");
  if (!group.empty() && !IsGroup(group)) return wrong("group does not begin with '@'");
  return group == "@" ? Status(wrong("group has no name")) : Status();
}

Status JobTerms::CheckSound() const {
  auto wrong = [](const char* what) { return Fail(ErrorKind::kInvalid, what); };
  if (weight < 1 || weight > kMaxJobWeight) return wrong("weight is out of range");
  if (std::abs(int64_t{priority}) > 1'000'000) return wrong("priority is out of range");
  if (time.ns < 0) return wrong("time is out of range");
  return deadline.ns < 0 ? Status(wrong("deadline is out of range")) : Status();
}

Status Needs::CheckSound() const {
  auto check = [](const char* field, const auto& names, auto name) -> Status {
    const bool empty = std::ranges::any_of(names, [](auto& each) { return each.empty(); }, name);
    const bool ascend =
        std::ranges::adjacent_find(names, std::greater_equal(), name) == names.end();
    if (ascend && !empty) return {};
    return Fail(ErrorKind::kInvalid, fmt::format("{} is not sorted, or has an empty one", field));
  };
  TRY(check("needs.named", named, &NamedNeed::name));
  TRY(check("needs.labels", labels, std::identity()));
  return check("needs.not_on", not_on, std::identity());
}

Needs Changed(Needs needs, const NeedsChange& change) {
  const Needs before = needs;
  change.AssignTo(needs);
  if (change.Sets(change.values.named)) {
    needs.named = before.named;
    for (const NamedNeed& named : change.values.named) {
      std::erase_if(needs.named, [&](const NamedNeed& known) { return known.name == named.name; });
      if (named.count > 0) needs.named.push_back(named);
    }
    std::ranges::sort(needs.named);
  }
  if (change.Sets(change.values.labels)) {
    std::ranges::copy_if(before.labels, std::back_inserter(needs.labels),
                         [](const std::string& label) { return label.starts_with(kFeatureMark); });
    std::ranges::sort(needs.labels);
  }
  return needs;
}

bool TakesUser(const Offer& offer, std::string_view user) {
  return offer.user.empty() || offer.user == "*" || offer.user == user;
}

bool OutlivesTask(const Offer& offer, const Needs& needs, Instant now) {
  return needs.time.ns == 0 || now + needs.time <= offer.end_of_life;
}

uint32_t FitCount(const Offer& offer, const Needs& needs) {
  if (Excluded(offer, needs)) return 0;
  uint64_t fit = offer.slots;
  if (needs.milli_cpus > 0) fit = std::min<uint64_t>(fit, offer.milli_cpus / needs.milli_cpus);
  if (needs.memory > 0 && offer.memory > 0) fit = std::min(fit, offer.memory / needs.memory);
  for (const NamedNeed& need : needs.named) {
    if (need.count > 0) fit = std::min(fit, Offered(offer, need.name) / need.count);
  }
  return static_cast<uint32_t>(fit);
}

std::optional<Reason> WhyNever(const Offer& offer, const Needs& needs) {
  auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
  if (Excluded(offer, needs)) return WhyExcluded(offer, needs);
  if (needs.milli_cpus > offer.milli_cpus) {
    return Reason{
        ReasonKind::kTooManyCpus, {needs.milli_cpus, offer.milli_cpus}, {}, {offer.node_name}};
  }
  if (needs.memory > offer.memory && offer.memory > 0) {
    return Reason{ReasonKind::kTooMuchMemory,
                  {number(needs.memory), number(offer.memory)},
                  {},
                  {offer.node_name}};
  }
  for (const NamedNeed& need : needs.named) {
    uint64_t offered = Offered(offer, need.name);
    if (need.count > offered) {
      return Reason{ReasonKind::kTooManyOf,
                    {number(need.count), number(offered)},
                    {},
                    {need.name, offer.node_name}};
    }
  }
  return std::nullopt;
}

uint32_t GangPart::first_rank() const {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < index; ++i) rank += hosts[i].procs;
  return rank;
}

uint32_t GangPart::procs() const {
  uint32_t sum = 0;
  for (const GangHost& each : hosts) sum += each.procs;
  return sum;
}

Needs NeedsOfPart(const Needs& of_one, uint32_t procs) {
  auto times = [procs]<typename T>(T& amount) {
    T all = 0;
    amount = __builtin_mul_overflow(amount, procs, &all) ? std::numeric_limits<T>::max() : all;
  };
  Needs all = of_one;
  times(all.milli_cpus);
  times(all.memory);
  for (NamedNeed& need : all.named) times(need.count);
  return all;
}

JobStanding Outcome(JobStanding standing, const JobCounts& counts) {
  if (standing != JobStanding::kFinished) return standing;
  if (counts.failed + counts.unknown > 0) return JobStanding::kFailed;
  return counts.cancelled > 0 ? JobStanding::kCancelled : JobStanding::kSucceeded;
}

const char* StreamName(int stream) {
  constexpr const char* kNames[] = {"stdout", "stderr", "files"};
  return stream >= 1 && stream <= kStreams ? kNames[stream - 1] : "?";
}

std::string CutText(std::string text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.replace(most, std::string::npos, "...");
}

bool CutTexts(std::vector<std::string>& texts) {
  size_t left = 64 << 10;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() < left) {
      left -= texts[i].size() + 1;
      continue;
    }
    texts[i] = CutText(std::move(texts[i]), left);
    texts.resize(i + 1);
    return true;
  }
  return false;
}

}  // namespace spate
