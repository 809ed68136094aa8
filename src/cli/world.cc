#include "cli/world.h"

#include "cli/main.h"

namespace spate::cli {

int LookAtJobs(const Invocation& invocation, HistoryBody body) {
  World& world = *invocation.wiring->world;
  return world.MeansHub(invocation.words) ? world.LookIntoHub(invocation, body)
                                          : world.LookHere(invocation, body);
}

int LookHere(const Invocation& invocation, HistoryBody body) {
  return invocation.wiring->world->LookHere(invocation, body);
}

int AskHub(const Invocation& invocation, HubBody body) {
  return invocation.wiring->world->AskHub(invocation, body);
}

int Order(const Invocation& invocation, HubBody body) {
  World& world = *invocation.wiring->world;
  return world.OrdersGoToHub(invocation.words) ? world.AskHub(invocation, body)
                                               : world.AskRuns(invocation, body);
}

}  // namespace spate::cli
