// Submission: a job, or more tasks for one, on its way to a hub: made once (Of, then SetTasks or
// what a list has), sent as often as it takes until the hub has it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/hub_call.h"
#include "core/model/graph.h"
#include "wire/client_messages.h"

namespace spate::client {

struct Submission {
  // The failure after which it may be sent once more.
  enum class Again : uint8_t {
    kNever,
    kLost,  // the connection was lost, and the hub knows it by its name when it comes twice
    kBusy,  // somebody else is submitting to the same job
  };
  using RowVisitor = std::function<void(std::string_view row)>;

  // All but its tasks, its name on the hub and what makes it differ from most: its output is kept
  // up to kKeepOutput. `argv`: what was typed.
  static Submission Of(JobSettings settings, std::vector<std::string> argv);
  // Its tasks by their index: what they need, asked now, and their rows, made as often as they are
  // sent. Equal needs are one request.
  void SetTasks(uint32_t count, const std::function<Needs(size_t)>& needs,
                std::function<std::string(size_t)> row);
  // Nodes that do not know it are passed over.
  void NeedFeature(std::string_view feature);

  wire::Submit head;
  std::vector<std::string> pieces;  // of the files that it brings along
  // Calls `visit` with the row of each task in order, the same ones each time.
  std::function<void(const RowVisitor& visit)> rows;
  std::vector<Edge> edges;
  wire::SubmitEnd end;
  Again again = Again::kNever;
  bool forwards = false;  // some of its tasks do
};

// Sends it until the hub has it, for at most a minute, and runs the loop meanwhile. Uses the
// connection that there is, else makes one. Errors are the hub's refusal; kInvalid: no hub takes
// it; kUnknown, of one with kLost: the hub was sent all of it, and has not answered. kUnavailable,
// kBusy: the hub does not have it, but for one that is not to go again.
Result<wire::Accepted> Submit(HubCall& call, const Submission& submission);

}  // namespace spate::client
