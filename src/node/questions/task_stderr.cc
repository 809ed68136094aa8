// The stderr of a task, where that stays on its node (node/kept_streams.h).
#include <fmt/format.h>

#include "base/units.h"
#include "node/questions.h"
#include "wire/questions.h"

namespace spate::node {
namespace {

using Stderr = wire::ReadStderr;
constexpr size_t kMost = 1 << 20;

Result<Stderr::Answer> Read(const AskedNode& node, const Stderr& asked) {
  const KeptStreams& kept = node.parts.kept;
  if (kept.name == nullptr) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("the node {} keeps no stderr of tasks", node.offer.node_name));
  }
  auto bytes = ReadKept(kept, node.ask.user, asked.job, asked.task, kMost + 1);
  if (!bytes) return Fail(ErrorKind::kNotFound, bytes.error().message);
  if (bytes->size() <= kMost) return Stderr::Answer{std::move(*bytes)};
  const std::string rest =
      fmt::format("\n... (the rest is on the node {}, in {})\n", node.offer.node_name,
                  EscapeForScreen(KeptPath(kept, asked.job, asked.task)));
  bytes->resize(kMost - rest.size());
  return Stderr::Answer{*bytes + rest};
}

}  // namespace

extern const NodeQuestion kTaskStderr = {.number = Stderr::kNumber,
                                         .answer = AnswerBytes<Stderr, Read>};

}  // namespace spate::node
