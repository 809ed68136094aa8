// The side that commands ask, and where their answers go: command/program_world.cc; tests
// have their own.
#pragma once

#include "base/result.h"
#include "cli/options/words.h"

namespace spate::cli {

class HistoryCall;
struct HubScreen;
struct Invocation;

// Body of a command about jobs, of a hub or of this machine. Returns the exit code.
using HistoryBody = Result<int> (*)(HistoryCall& call);
// Body of a command that asks a hub. Returns the exit code.
using HubBody = Result<int> (*)(const HubScreen& screen);

// All functions return exit codes, and report errors themselves.
class World {
 public:
  virtual ~World() = default;
  // True if the words mean jobs of a hub, false for runs of this machine.
  virtual bool MeansHub(const Words& words) = 0;
  // The same for orders: a state folder with a hub in it means that hub.
  virtual bool OrdersGoToHub(const Words& words) = 0;
  // Calls `body` with the runs of this machine.
  virtual int LookHere(const Invocation& invocation, HistoryBody body) = 0;
  // Calls it with the jobs of the hub.
  virtual int LookIntoHub(const Invocation& invocation, HistoryBody body) = 0;
  virtual int AskHub(const Invocation& invocation, HubBody body) = 0;
  // The same of the runs of this machine, each of which is a hub.
  virtual int AskRuns(const Invocation& invocation, HubBody body) = 0;
};

// About jobs of whom the words mean.
int LookAtJobs(const Invocation& invocation, HistoryBody body);
// Each calls the function of its name in the world of `invocation`.
int LookHere(const Invocation& invocation, HistoryBody body);
int AskHub(const Invocation& invocation, HubBody body);
// Orders, to whom the words mean.
int Order(const Invocation& invocation, HubBody body);

// The `run` of a command that is its body alone.
template <HistoryBody body>
int LookAtJobs(const Invocation& invocation) {
  return LookAtJobs(invocation, body);
}
template <HistoryBody body>
int LookHere(const Invocation& invocation) {
  return LookHere(invocation, body);
}
template <HubBody body>
int AskHub(const Invocation& invocation) {
  return AskHub(invocation, body);
}
template <HubBody body>
int Order(const Invocation& invocation) {
  return Order(invocation, body);
}

}  // namespace spate::cli
