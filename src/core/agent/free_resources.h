// Free resources of a node. Allocations are taken and put back whole.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/needs.h"

namespace spate::agent {

class FreeResources {
 public:
  explicit FreeResources(const Offer& offer);

  bool CanTake(const Needs& needs) const;
  // The first of its needs that is short (kNodeLacks); nullopt: none is.
  std::optional<Reason> WhatLacks(const Needs& needs) const;
  // The same, and `first` can be taken as soon as it could without.
  bool CanTakeBefore(const Needs& needs, const Needs& first) const;
  // The indices of the named resources, or nullopt (and nothing taken) when something is short.
  std::optional<std::vector<NamedOffer>> Acquire(const Needs& needs);
  // Takes resources that an earlier process gave away. Those no longer offered count as debt.
  void Occupy(const Needs& needs, const std::vector<NamedOffer>& given);
  void PutBack(const Needs& needs, const std::vector<NamedOffer>& given);

  // Processors and memory of what is taken become those of `to`. Why not (kNodeLacks), and nothing
  // changes, where they are more and not all of that is free.
  std::optional<Reason> Change(const Needs& from, const Needs& to);

  bool Whole() const;  // everything is back
  bool Sound() const;  // nothing is oversold

 private:
  template <typename Fn>
  void MovePiece(const std::string& name, const std::string& label, Fn move);

  Offer offer_;
  // Below zero while adopted attempts use more than is offered.
  int64_t milli_cpus_;
  int64_t memory_;
  std::map<std::string, std::set<size_t>> free_;  // positions in the offer's indices
};

}  // namespace spate::agent
