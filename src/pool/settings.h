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
  SPATE_FIELDS(1, system, 2, account, 3, group, 4, options, 5, submit_command, 6, query_command,
               7, cancel_command, 8, select_command, 9, everywhere, 10, host, 11, prologue,
               12, epilogue, 13, addresses, 14, folder, 15, program, 16, node_options,
               17, shared_files, 18, wrapper);
};

}  // namespace spate::pool
