// Links among the commands of a body: which can be made.
#include "core/model/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace spate {
namespace {

class LinkCheck {
 public:
  explicit LinkCheck(const std::vector<uint16_t>& commands) : commands_(commands) {}

  // Why this one cannot be; empty: it can.
  std::string Look(const Link& link) {
    for (const auto* ends : {&link.writers, &link.readers}) {
      for (const LinkEnd& end : *ends) {
        if (std::string why = LookAt(end); !why.empty()) return why;
      }
    }
    bool has_name = link.kind == LinkKind::kNamedPipe || link.kind == LinkKind::kFile;
    if (link.path.empty() == has_name) return has_name ? "has no name" : "has a name";
    switch (link.kind) {
      case LinkKind::kPipe:
        return IsInOneStep(link) ? "" : "needs a writer and a reader in one step";
      case LinkKind::kNamedPipe:
        return NamedPipe(link);
      case LinkKind::kBuffer:
        return IsReadLater(link) ? "" : "needs a writer, and readers in later steps";
      case LinkKind::kFile:
        return link.writers.empty() && link.readers.empty() ? "has no end" : "";
    }
    return "is of an unknown kind";
  }

 private:
  std::string LookAt(const LinkEnd& end) {
    if (end.step >= commands_.size() || end.command >= commands_[end.step]) {
      return fmt::format("names command {} of step {}, which does not exist", end.command + 1,
                         end.step + 1);
    }
    if (end.descriptor > kMostDescriptor) {
      return fmt::format("names descriptor {}, and {} is the last", end.descriptor,
                         kMostDescriptor);
    }
    if (taken_.insert(end).second) return "";
    return fmt::format("names descriptor {} of command {} of step {}, which has a link already",
                       end.descriptor, end.command + 1, end.step + 1);
  }
  static bool IsInOneStep(const Link& link) {
    if (link.writers.empty() || link.readers.empty()) return false;
    uint16_t step = link.writers.front().step;
    auto there = [&](const LinkEnd& end) { return end.step == step; };
    return std::ranges::all_of(link.writers, there) && std::ranges::all_of(link.readers, there);
  }
  static bool IsReadLater(const Link& link) {
    if (link.writers.empty() || link.readers.empty()) return false;
    uint16_t written = std::ranges::max(link.writers, {}, &LinkEnd::step).step;
    return std::ranges::min(link.readers, {}, &LinkEnd::step).step > written;
  }
  static std::string NamedPipe(const Link& link) {
    if (!link.writers.empty() || !link.readers.empty()) {
      return "is opened by its name, and has no descriptors";
    }
    bool below = link.path.front() != '/' && !("/" + link.path + "/").contains("/../");
    return below ? "" : "must be in the task's folder";
  }

  const std::vector<uint16_t>& commands_;
  std::set<LinkEnd> taken_;
};

const char* NameOf(LinkKind kind) {
  switch (kind) {
    case LinkKind::kPipe:
      return "pipe";
    case LinkKind::kNamedPipe:
      return "named pipe";
    case LinkKind::kBuffer:
      return "buffer";
    case LinkKind::kFile:
      return "file";
  }
  return "link";
}

}  // namespace

void PipeCommands(TaskBody& body) {
  auto step = static_cast<uint16_t>(body.steps.size() - 1);
  for (uint16_t i = 0; i + 1u < body.steps.back().commands.size(); ++i) {
    auto next = static_cast<uint16_t>(i + 1);
    body.links.push_back({.kind = LinkKind::kPipe,
                          .writers = {{step, i, 1}},
                          .readers = {{step, next, 0}},
                          .path = {}});
  }
}

void ForwardPipe(TaskBody& body, std::string_view variable, std::string to) {
  uint16_t descriptor = 3;
  auto keep_off = [&](uint16_t taken) { descriptor = std::max<uint16_t>(descriptor, taken + 1); };
  for (const Link& link : body.links) {
    for (const auto* ends : {&link.writers, &link.readers}) {
      for (const LinkEnd& end : *ends) keep_off(end.descriptor);
    }
  }
  for (const TaskForward& forward : body.forwards) keep_off(forward.descriptor);
  body.environment.push_back(fmt::format("{}={}", variable, descriptor));
  body.forwards.push_back({.descriptor = descriptor, .to = std::move(to)});
}

void ForwardFile(TaskBody& body, std::string file, std::string to, uint64_t most) {
  body.forwards.push_back({.file = std::move(file), .to = std::move(to), .most = most});
}

Status CheckLinks(const std::vector<Link>& links, const std::vector<uint16_t>& commands) {
  if (links.size() > kMostLinks) {
    return Fail(ErrorKind::kInvalid, fmt::format("a task has more than {} links", kMostLinks));
  }
  LinkCheck check(commands);
  for (size_t i = 0; i < links.size(); ++i) {
    std::string why = check.Look(links[i]);
    if (why.empty()) continue;
    return Fail(ErrorKind::kInvalid,
                fmt::format("link {} ({}) of the task {}", i + 1, NameOf(links[i].kind), why));
  }
  return {};
}

Status CheckResident(const TaskBody& body) {
  bool one = body.steps.size() == 1 && body.steps.front().commands.size() == 1;
  bool own = !body.links.empty() || !body.forwards.empty() || !body.puts.empty() ||
             !body.gets.empty() || !body.output_checks.empty();
  bool elsewhere = !body.stdin_file.empty() || !body.stdout_file.empty() ||
                   !body.stderr_file.empty() || body.late_stderr;
  if (one && !own && !elsewhere) return {};
  return Fail(
      ErrorKind::kInvalid,
      "a resident process is a single command without links, checks, files or redirected streams");
}

Status CheckRanks(const TaskBody& body) {
  if (body.steps.size() == 1 && body.links.empty() && !body.resident) return {};
  return Fail(ErrorKind::kInvalid, "processes of a gang are commands of one step, without links");
}

}  // namespace spate
