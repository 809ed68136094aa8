// Texts are fields that each end in NUL. First = hash*, of its variables. Other = cpus field*,
// where a field is "+NAME=value" (it has this, the first has not) or "-" hash (the other way
// round).

#include "doors/pmc/run/surroundings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/number.h"

namespace spate::pmc {
namespace {

// FNV-1a. Two different variables of one hash would count as the same: 1 in 10^15 for a host.
std::string HashOf(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{:016x}", hash);
}

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::vector<std::string_view> FieldsOf(std::string_view text) {
  std::vector<std::string_view> fields;
  for (size_t end = 0; (end = text.find('\0')) != std::string_view::npos;) {
    fields.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return fields;
}

void AddField(std::string& text, std::string_view field) {
  text += field;
  text += '\0';
}

std::string CpusText(const std::vector<int>& cpus) {
  return fmt::format("{}", fmt::join(cpus, ","));
}

std::vector<uint16_t> CpusIn(std::string_view text) {
  std::vector<uint16_t> cpus;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    if (auto cpu = ReadNumber<uint16_t>(text.substr(0, end))) cpus.push_back(*cpu);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return cpus;
}

bool Sets(const SlotSurroundings& slot, std::string_view name) {
  return std::ranges::any_of(slot.environment,
                             [&](const std::string& each) { return NameOf(each) == name; });
}

}  // namespace

bool IsOfLauncher(std::string_view variable) {
  for (std::string_view prefix :
       {"OMPI_", "PMIX_", "PRTE_", "PMI_", "MPI_LOCAL", "HYDI_", "HYDRA_"}) {
    if (variable.starts_with(prefix)) return true;
  }
  return false;
}

std::string TextOfFirst(const Surroundings& first) {
  std::string text;
  for (const std::string& variable : first.environment) {
    if (!IsOfLauncher(variable)) AddField(text, HashOf(variable));
  }
  return text;
}

std::string TextOfOther(const Surroundings& other, std::string_view first) {
  std::string text;
  AddField(text, CpusText(other.cpus));
  auto fields = FieldsOf(first);
  std::set<std::string, std::less<>> not_here(fields.begin(), fields.end());
  std::set<std::string, std::less<>> there = not_here;
  for (const std::string& variable : other.environment) {
    if (IsOfLauncher(variable)) continue;
    const std::string hash = HashOf(variable);
    not_here.erase(hash);
    if (!there.contains(hash)) AddField(text, "+" + variable);
  }
  for (const std::string& hash : not_here) AddField(text, "-" + hash);
  return text;
}

HostSurroundings Combine(const Surroundings& first, std::span<const std::string> others) {
  HostSurroundings host;
  host.slots.resize(others.size() + 1);
  std::vector<std::set<std::string_view>> lacks(host.slots.size());  // variables' hashes, by slot
  const std::string own_cpus = CpusText(first.cpus);
  for (size_t slot = 1; slot < host.slots.size(); ++slot) {
    auto fields = FieldsOf(others[slot - 1]);
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::string_view field = fields[i];
      if (i == 0) {
        if (field != own_cpus) host.slots[slot].cpus = CpusIn(field);
      } else if (field.starts_with('+')) {
        host.slots[slot].environment.emplace_back(field.substr(1));
      } else if (field.starts_with('-')) {
        lacks[slot].insert(field.substr(1));
      }
    }
  }
  for (const std::string& variable : first.environment) {
    if (IsOfLauncher(variable)) continue;
    const std::string hash = HashOf(variable);
    const std::string_view name = NameOf(variable);
    auto is_missing = [&](size_t slot) {
      return lacks[slot].contains(hash) && !Sets(host.slots[slot], name);
    };
    bool missing = false;
    for (size_t slot = 1; slot < host.slots.size(); ++slot) missing |= is_missing(slot);
    if (!missing) continue;
    host.missing.emplace_back(name);
    for (size_t slot = 0; slot < host.slots.size(); ++slot) {
      if (!lacks[slot].contains(hash)) host.slots[slot].environment.push_back(variable);
    }
  }
  return host;
}

}  // namespace spate::pmc
