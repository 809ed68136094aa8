// Settings of a pool's driver: what its hub keeps of a pool next to its policy
// (core/provision/pool.h).
#pragma once

#include <string>
#include <vector>

#include "core/model/fields.h"
#include "pool/driver.h"

namespace spate::pool {

struct PoolSettings {
  std::string system;                // a driver's name
  std::string account;               // whose batch jobs its pilots are
  std::string group;                 // a name for several pools; empty: none
  std::vector<std::string> options;  // the batch system's own
  std::string submit_command, query_command, cancel_command, select_command;
  std::vector<std::string> everywhere;
  std::string host;  // of ssh
  std::string prologue, epilogue;
  std::string wrapper;                    // PilotSpec::wrapper
  std::vector<std::string> addresses;     // where nodes call; empty: where the hub listens
  std::string folder;                     // absolute; of scripts, credentials and outputs
  std::string program;                    // spate, where nodes run; empty: the hub's own
  std::vector<std::string> node_options;  // further words for `spate node start`
  bool shared_files = true;               // nodes see `folder` and `program`
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "system", self.system);
    visit(2, "account", self.account);
    visit(3, "group", self.group);
    visit(4, "options", self.options);
    visit(5, "submit_command", self.submit_command);
    visit(6, "query_command", self.query_command);
    visit(7, "cancel_command", self.cancel_command);
    visit(8, "select_command", self.select_command);
    visit(9, "everywhere", self.everywhere);
    visit(10, "host", self.host);
    visit(11, "prologue", self.prologue);
    visit(12, "epilogue", self.epilogue);
    visit(13, "addresses", self.addresses);
    visit(14, "folder", self.folder);
    visit(15, "program", self.program);
    visit(16, "node_options", self.node_options);
    visit(17, "shared_files", self.shared_files);
    visit(18, "wrapper", self.wrapper);
  }
};

}  // namespace spate::pool
