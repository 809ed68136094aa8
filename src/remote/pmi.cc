#include "remote/pmi.h"

#include <fmt/format.h>

#include <charconv>
#include <numeric>
#include <utility>

namespace spate::remote {
namespace {

constexpr size_t kPmiLineMost = 4096;
constexpr size_t kKeyMost = 64;
constexpr size_t kValueMost = 1024;
constexpr size_t kValuesMost = 1'000'000;
constexpr std::string_view kMapping = "PMI_process_mapping";

PmiSpace::Line LineTo(uint32_t rank, std::string_view text) {
  return {rank, std::make_shared<const std::string>(text)};
}

// The value of `name=` in a line; empty: it has none.
std::string_view ValueOf(std::string_view line, std::string_view name) {
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=') {
      return word.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

PmiSpace::PmiSpace(std::vector<uint32_t> per_node)
    : per_node_(std::move(per_node)),
      ranks_(std::accumulate(per_node_.begin(), per_node_.end(), uint32_t{0})) {}

// Runs of nodes with equally many: (first node, nodes, processes on each).
std::string PmiSpace::Mapping() const {
  std::string text = "(vector";
  for (size_t i = 0, end = 0; i < per_node_.size(); i = end) {
    end = i + 1;
    while (end < per_node_.size() && per_node_[end] == per_node_[i]) ++end;
    text += fmt::format(",({},{},{})", i, end - i, per_node_[i]);
  }
  return text + ")";
}

Result<uint64_t> PmiSpace::SizeOf(std::string_view bytes) {
  const size_t end = bytes.substr(0, kPmiLineMost).find('\n');
  if (end != std::string_view::npos) return end + 1;
  if (bytes.size() < kPmiLineMost) return uint64_t{0};
  return Fail(ErrorKind::kCorrupt, "a line of PMI is too long");
}

PmiSpace::Step PmiSpace::Handle(uint32_t rank, std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  auto answer = [rank](std::string text) { return Step{.replies = {LineTo(rank, text)}}; };
  if (spawning_.contains(rank)) {
    if (line != "endcmd") return {};
    spawning_.erase(rank);
    return answer("cmd=spawn_result rc=-1 msg=not_here\n");
  }
  if (line.starts_with("mcmd=")) {
    spawning_.insert(rank);
    return {};
  }
  const std::string_view command = ValueOf(line, "cmd");
  if (command == "init") {
    began_.insert(rank);
    return answer("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  }
  if (command == "get_maxes") {
    return answer(fmt::format("cmd=maxes kvsname_max=256 keylen_max={} vallen_max={}\n", kKeyMost,
                              kValueMost));
  }
  if (command == "get_appnum") return answer("cmd=appnum appnum=0\n");
  if (command == "get_my_kvsname") return answer("cmd=my_kvsname kvsname=spate\n");
  if (command == "get_universe_size") {
    return answer(fmt::format("cmd=universe_size size={}\n", ranks_));
  }
  if (command == "put") {
    const std::string_view key = ValueOf(line, "key");
    const std::string_view value = ValueOf(line, "value");
    const bool fits = !key.empty() && key.size() <= kKeyMost && value.size() <= kValueMost &&
                      values_.size() < kValuesMost;
    if (!fits) return answer("cmd=put_result rc=-1 msg=too_long\n");
    values_.insert_or_assign(std::string(key), std::string(value));
    return answer("cmd=put_result rc=0 msg=success\n");
  }
  if (command == "get") {
    const std::string_view key = ValueOf(line, "key");
    if (key == kMapping) {
      return answer(fmt::format("cmd=get_result rc=0 msg=success value={}\n", Mapping()));
    }
    auto value = values_.find(key);
    if (value == values_.end()) {
      return answer(fmt::format("cmd=get_result rc=-1 msg=key_{}_not_found value=unknown\n", key));
    }
    return answer(fmt::format("cmd=get_result rc=0 msg=success value={}\n", value->second));
  }
  if (command == "barrier_in") return Barrier(rank);
  if (command == "finalize") {
    began_.erase(rank);
    return answer("cmd=finalize_ack rc=0\n");
  }
  if (command == "abort") {
    int code = 1;
    const std::string_view text = ValueOf(line, "exitcode");
    std::from_chars(text.data(), text.data() + text.size(), code);
    return {.abort = code == 0 ? 1 : code, .why = fmt::format("process {} called MPI_Abort", rank)};
  }
  // Names that are published, and what later versions know.
  return answer(fmt::format("cmd={}_result rc=-1 msg=not_here\n", command));
}

PmiSpace::Step PmiSpace::Barrier(uint32_t rank) {
  waiting_.insert(rank);
  if (waiting_.size() < ranks_) return Stuck();
  Step step;
  for (uint32_t each : std::exchange(waiting_, {})) {
    step.replies.push_back(LineTo(each, "cmd=barrier_out rc=0\n"));
  }
  return step;
}

PmiSpace::Step PmiSpace::Left(uint32_t rank) {
  spawning_.erase(rank);
  waiting_.erase(rank);
  if (began_.erase(rank) > 0) left_.insert(rank);
  return Stuck();
}

// Those who wait for one that has left would wait for ever.
PmiSpace::Step PmiSpace::Stuck() const {
  if (waiting_.empty() || left_.empty()) return {};
  return {.abort = 1,
          .why = fmt::format("process {} has ended without MPI_Finalize, and others wait for it",
                             *left_.begin())};
}

}  // namespace spate::remote
