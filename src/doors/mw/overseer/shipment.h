// Shipment: what the slaves of a resource file are as tasks of a hub's job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/job.h"
#include "core/model/needs.h"
#include "doors/mw/formats/resource_file.h"

namespace spate::mw {

struct ShipmentSettings {
  std::string path;  // of the resource file, absolute
  std::string cwd;   // absolute
  std::vector<std::string> environment;
  // Nothing is shared: program, libraries and resource file travel with the task.
  bool ship = false;
  std::vector<std::string> offers = {};  // OfferWords()
};

struct Shipment {
  JobSettings settings;
  std::vector<std::string> pieces;  // of the files that travel
};

// The same for files that want the same slaves of the same master. What a master writes anew all
// the time (when, how many) is not in it, nor what the program's file holds: a master that runs
// wants the program that it was started with.
std::string IdentityOf(const ResourceFile& file, const ShipmentSettings& how);
// Options of a slave by which it offers its tasks so many slots, and the memory, resources and
// labels that it has been given. None: its program may know no such options.
std::vector<std::string> OfferWords(std::optional<uint32_t> slots, const Needs& needs);
// The command of a slave with the resource file at `path`.
std::vector<std::string> SlaveCommand(const std::string& program, const std::string& path,
                                      const std::vector<std::string>& offers);
// A file that travels is read now. Errors name it.
Result<Shipment> MakeShipment(const ResourceFile& file, const ShipmentSettings& how);

}  // namespace spate::mw
