#include "cli/top/snapshot.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spate::cli {
namespace {

using Json = nlohmann::json;

template <typename T = uint64_t>
T NumberOf(const Json& line, const char* key) {
  auto at = line.find(key);
  return at != line.end() && at->is_number() ? at->get<T>() : T();
}

std::string TextOf(const Json& line, const char* key) {
  auto at = line.find(key);
  return at != line.end() && at->is_string() ? at->get<std::string>() : "";
}

HubShot HubOf(const Json& line) {
  return {.life = NumberOf(line, "life"),
          .since = Instant() + Duration::SecondsF(NumberOf<double>(line, "since")),
          .nodes = NumberOf(line, "nodes"),
          .away = NumberOf(line, "away"),
          .jobs = NumberOf(line, "jobs"),
          .queued = NumberOf(line, "queued"),
          .running = NumberOf(line, "running"),
          .ended = NumberOf(line, "ended"),
          .failed = NumberOf(line, "failed")};
}

NodeShot NodeOf(const Json& line) {
  return {.name = TextOf(line, "node"),
          .state = TextOf(line, "state"),
          .why = TextOf(line, "why"),
          .slots = NumberOf(line, "slots"),
          .tasks = NumberOf(line, "tasks"),
          .ended = NumberOf(line, "ended"),
          .failed = NumberOf(line, "failed"),
          .used = NumberOf<double>(line, "used")};
}

JobShot JobOf(const Json& line) {
  JobShot job{.job = NumberOf<uint32_t>(line, "job"),
              .user = TextOf(line, "user"),
              .state = TextOf(line, "state"),
              .name = std::nullopt,
              .counts = {.total = NumberOf<uint32_t>(line, "total"),
                         .queued = NumberOf<uint32_t>(line, "queued"),
                         .leased = NumberOf<uint32_t>(line, "running"),
                         .succeeded = NumberOf<uint32_t>(line, "succeeded"),
                         .failed = NumberOf<uint32_t>(line, "failed"),
                         .cancelled = NumberOf<uint32_t>(line, "cancelled"),
                         .unknown = NumberOf<uint32_t>(line, "unknown")}};
  auto name = line.find("name");
  bool hidden = name != line.end() && name->is_null();
  if (!hidden) job.name = TextOf(line, "name");
  return job;
}

}  // namespace

Result<Snapshot> ReadSnapshot(std::string_view lines) {
  Snapshot snapshot;
  bool has_hub = false;
  while (!lines.empty()) {
    size_t end = std::min(lines.find('\n'), lines.size());
    Json line = Json::parse(lines.substr(0, end), nullptr, false);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (!line.is_object()) continue;
    std::string type = TextOf(line, "type");
    if (type == "hub") {
      snapshot.hub = HubOf(line);
      has_hub = true;
    } else if (type == "node") {
      snapshot.nodes.push_back(NodeOf(line));
    } else if (type == "job") {
      snapshot.jobs.push_back(JobOf(line));
    }
  }
  if (has_hub) return snapshot;
  return Fail(ErrorKind::kInvalid, "the hub's answer is none; is it of another version?");
}

}  // namespace spate::cli
