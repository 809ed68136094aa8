// Shipment: what the slaves of a resource file are as tasks of a hub's job.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/job.h"
#include "doors/mw/formats/resource_file.h"

namespace spate::mw {

struct ShipmentSettings {
  std::string path;  // of the resource file, absolute
  std::string cwd;   // absolute
  std::vector<std::string> environment;
  bool ship =
      false;  // nothing is shared: program, libraries and resource file travel with the task
};

struct Shipment {
  JobSettings settings;
  std::vector<std::string> pieces;  // of the files that travel
};

// The same for files that want the same slaves of the same master. What a master writes anew all
// the time (when, how many) is not in it, nor what the program's file holds: a master that runs
// wants the program that it was started with.
std::string IdentityOf(const ResourceFile& file, const ShipmentSettings& how);
// A file that travels is read now. Errors name it.
Result<Shipment> MakeShipment(const ResourceFile& file, const ShipmentSettings& how);

}  // namespace spate::mw
