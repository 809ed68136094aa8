// Resources that this machine offers to a run, and tasks that fit into them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "client/surroundings.h"
#include "core/model/job.h"
#include "os/machine.h"
#include "plan/task_list.h"

namespace spate::run {

// The machine's offer to a run with these options. Slots beyond what open files allow are left
// out (FitOpenFiles reports it).
Offer OfferOf(const cli::RunOptions& options, const client::Surroundings& here);
// Each slot takes a few open files. Raises this process's limit when many slots ask for it; returns
// how many slots it allows.
uint32_t FitOpenFiles(uint32_t slots);
// In a grant of GPUs (MachineFacts::gpus_granted), only granted ones can be offered: names that the
// grant does not have count from its first GPU, as programs in the grant count.
Status UseGrantedGpus(const os::MachineFacts& facts, std::vector<NamedOffer>& offers);
// Every request must fit into the offer; errors name the first place of each that does not.
Status CheckNeeds(const cli::TaskList& tasks, const Offer& offer);
// Why tasks of the class can never run on one machine with this offer; nullopt: they can.
std::optional<std::string> WhyNeverHere(const Offer& offer, const TaskClass& of_tasks);

// How lists are read for a run with these settings.
cli::LoadContext LoadContextOf(const JobSettings& settings, uint32_t slots, bool run_checks);

}  // namespace spate::run
