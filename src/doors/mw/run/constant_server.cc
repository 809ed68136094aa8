#include "doors/mw/run/constant_server.h"

#include <utility>

namespace spate::mw {

ConstantServer::ConstantServer(os::Loop& loop, std::shared_ptr<MasterConstants> all)
    : loop_(loop), all_(std::move(all)) {
  all_->OnDropped([this, alive = std::weak_ptr(alive_)] {
    loop_.Post([this, alive] {
      if (!alive.expired()) Drop();
    });
  });
}

ConstantServer::~ConstantServer() { all_->OnDropped(nullptr); }

void ConstantServer::Drop() {
  for (JobId number : all_->TakeDropped()) {
    auto lines = have_.extract(number);
    if (lines.empty()) continue;
    for (Line* each : lines.mapped()) {
      each->has_.erase(number);
      each->to_.Send(wire::CloseJob{number});
    }
  }
}

ConstantServer::Line::~Line() {
  for (JobId number : has_) {
    auto lines = of_.have_.find(number);
    lines->second.erase(this);
    if (lines->second.empty()) of_.have_.erase(lines);
  }
}

void ConstantServer::Line::RequestPiece(const wire::WantPiece& want) {
  if (wants_.size() >= kPiecesAhead) return;
  wants_.push_back(want);
  if (wants_.size() == 1) {
    of_.loop_.Post([this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) Send();
    });
  }
}

// One piece in a turn of the loop, so that others are served in between. Every question
// that RequestPiece has accepted has an answer: without bytes where the constant has ended.
void ConstantServer::Line::Send() {
  const wire::WantPiece want = wants_.front();
  wants_.pop_front();
  if (!wants_.empty()) {
    of_.loop_.Post([this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) Send();
    });
  }
  wire::PutPiece piece{want.job, want.piece, {}};
  const uint64_t offset = want.piece * kConstantPiece;
  if (auto constant = of_.all_->Find(want.job); constant && offset < constant->size()) {
    auto bytes = constant->Read(offset, kConstantPiece);
    if (bytes) piece.bytes = std::move(*bytes);
    if (want.piece == 0) begins_(constant->size());
    has_.insert(want.job);
    of_.have_[want.job].insert(this);
  }
  to_.Send(std::move(piece));
}

}  // namespace spate::mw
