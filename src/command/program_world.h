// The side that the program's commands ask: the hub that the words mean, by its client, and the
// journals of this machine's runs. Their answers go to standard output and standard error.
#pragma once

#include "cli/world.h"

namespace spate::cli::command {

class ProgramWorld final : public World {
 public:
  bool MeansHub(const Words& words) override;
  bool OrdersGoToHub(const Words& words) override;
  int LookHere(const Invocation& invocation, HistoryBody body) override;
  int LookIntoHub(const Invocation& invocation, HistoryBody body) override;
  int AskHub(const Invocation& invocation, HubBody body) override;
  int AskRuns(const Invocation& invocation, HubBody body) override;
};

}  // namespace spate::cli::command
