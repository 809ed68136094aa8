// A master and slaves in one process, without run() and main(): for unit tests of a program's own
// functions. Tasks go as they do on one machine, by a socket and with all policies:
//
//   spate::mw::local_cluster cluster(2);
//   EXPECT_EQ(master(cluster.master()), 0);      // the function that run() is given
//
// Each slave computes on threads of its own, one for each slot, so algorithms are called from
// several threads at once. Files are in a temporary folder, also the state of checkpoints, so a
// test may see what comes after a kill. Nothing ends the process: a slave whose task passes its
// time limit only disconnects, and the destructor waits until its algorithm has returned
// (stop_requested() is true for it). An algorithm that crashes does end the process.
//
// Thread: all functions belong to the thread that made the cluster.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "spate/mw.h"

namespace spate::mw {
inline namespace v1 {

class local_cluster {
 public:
  // `options`: as on the command line of a master ("--mw-slave-task-group", "10"); those of what a
  // slave offers ("--mw-slots", "4") are for each slave. `as_slave`: the function of each slave.
  // Returns when all slaves are connected. Throws `error`: an option is wrong; no port, or no
  // temporary folder, can be had.
  explicit local_cluster(
      std::size_t slaves = 1, const std::vector<std::string>& options = {},
      std::function<int(slave&)> as_slave = [](slave& self) { return self.run().exit_code(); });
  // Ends the master, as one whose function returned 0, and then the slaves.
  ~local_cluster();
  local_cluster(const local_cluster&) = delete;
  local_cluster& operator=(const local_cluster&) = delete;

  // Until restart_master() or the end.
  mw::master& master();
  // One more slave, which is connected now. `offers`: options of what it offers, instead of those
  // that all slaves have. Throws as the constructor.
  slave_id add_slave();
  slave_id add_slave(const std::vector<std::string>& offers);
  // As by kill -9: it disconnects, and its results are lost. False: there is no such slave.
  bool kill_slave(slave_id slave);
  // As by kill -9 and a start with the same state: the new master has what the last checkpoint
  // knew, and all slaves are connected to it, under new numbers. Futures of the old one are of no
  // use.
  mw::master& restart_master();

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace v1
}  // namespace spate::mw
