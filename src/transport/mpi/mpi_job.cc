#include "transport/mpi/mpi_job.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <utility>

#include "os/socket.h"

namespace spate::transport {
namespace {

constexpr int kTag = 1;
constexpr size_t kMessageBytes = 256 * 1024;
constexpr size_t kMostUnderWay = 8;  // messages to one process
constexpr size_t kMostUnread = 4u << 20;
constexpr Duration kBusyNap = Duration::Micros(50);
constexpr Duration kOwedNap = Duration::Micros(250);  // after this a ring was for nothing
constexpr Duration kIdleNap = Duration::Millis(4);
constexpr Duration kLongNap = Duration::Millis(20);  // where bells ring, or nothing is to be done

Duration Longer(Duration nap, Duration most) {
  return std::min(Duration{nap.ns + nap.ns / 4 + 1000}, most);
}

std::string Library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text = {};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string name(text.data(), static_cast<size_t>(length));
  std::ranges::replace(name, '\t', ' ');
  return name.substr(0, name.find_first_of(",\n"));
}

}  // namespace

struct MpiJob::Message {
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct MpiJob::Stream {
  int rank = 0;
  os::Fd fd;                      // the far end of what its owner has; invalid: closed
  std::deque<Message> under_way;  // to the peer, in order
  bool ended_here = false;        // its owner has closed it, and the peer was told
  bool ended_there = false;
  std::string unread;  // from the peer, what the owner's socket does not take yet
  bool watches_read = false;
  bool watches_write = false;
};

std::unique_ptr<ParallelJob> MpiJob::Start(int* argc, char*** argv) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  std::unique_ptr<MpiJob> job(new MpiJob);
  Place& place = job->place_;
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.size);
  place.library = Library();
  job->streams_.resize(static_cast<size_t>(place.size));
  job->ShareBells();
  return job;
}

MpiJob::~MpiJob() {
  if (loop_ != nullptr) loop_->Cancel(timer_);
  if (loop_ != nullptr && bell_) loop_->Unwatch(bell_->fd());
  for (auto& stream : streams_) {
    if (stream && stream->fd.valid()) loop_->Unwatch(stream->fd.get());
  }
  MPI_Finalize();
}

void MpiJob::ShareBells() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> text = {};
  int length = 0;
  MPI_Get_processor_name(text.data(), &length);
  std::string machine(text.data(), static_cast<size_t>(length));
  machine += '\n';
  if (auto bell = os::Doorbell::Make()) bell_ = std::move(*bell);
  for (const std::string& told : Gather(machine + (bell_ ? bell_->name() : ""))) {
    bells_.push_back(told.starts_with(machine) ? told.substr(machine.size()) : "");
  }
}

// Waiting inside MPI would burn a processor.
void MpiJob::WaitFor(void* request) const {
  int done = 0;
  for (Duration nap = kBusyNap;; nap = Longer(nap, kLongNap)) {
    MPI_Test(static_cast<MPI_Request*>(request), &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    if (os::WaitReadable(bell_ ? bell_->fd() : -1, nap)) {
      bell_->Clear();
      nap = kBusyNap;
    }
  }
}

void MpiJob::RingAll() const {
  for (const std::string& bell : bells_) {
    if (bell_ && !bell.empty()) (void)bell_->Ring(bell);
  }
}

std::vector<std::string> MpiJob::Gather(const std::string& own) {
  const auto count = static_cast<size_t>(place_.size);
  std::vector<int> lengths(count);
  int length = static_cast<int>(own.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD, &request);
  WaitFor(&request);
  std::vector<int> starts(count);
  int total = 0;
  for (size_t i = 0; i < count; ++i) {
    starts[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<size_t>(total), '\0');
  MPI_Iallgatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR,
                  MPI_COMM_WORLD, &request);
  WaitFor(&request);
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    texts.push_back(all.substr(static_cast<size_t>(starts[i]), static_cast<size_t>(lengths[i])));
  }
  return texts;
}

int MpiJob::Broadcast(int word) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  if (place_.rank == 0) RingAll();
  WaitFor(&request);
  return word;
}

Result<os::Fd> MpiJob::Open(os::RealLoop& loop, int rank) {
  auto ends = TRY(os::MakeSocketPair());
  TRY(os::SetNonBlocking(ends.a.get(), true));
  loop_ = &loop;
  auto& stream = streams_[static_cast<size_t>(rank)];
  stream = std::make_unique<Stream>();
  stream->rank = rank;
  stream->fd = std::move(ends.a);
  Watch(*stream);
  all_ring_ = bell_.has_value();
  for (const auto& each : streams_) {
    if (each && bells_[static_cast<size_t>(each->rank)].empty()) all_ring_ = false;
  }
  if (bell_) {
    (void)bell_->Clear();  // Broadcast has rung
    loop.WatchRead(bell_->fd(), [this] {
      owed_ += bell_->Clear();
      nap_ = kBusyNap;  // what was rung for may still be on its way
      Poll();
    });
  }
  LookIn(kBusyNap);
  return std::move(ends.b);
}

// ---- From the owner to MPI ---------------------------------------------------------------------

void MpiJob::Watch(Stream& stream) {
  if (!stream.fd.valid()) return;
  bool reads = !stream.ended_here && stream.under_way.size() < kMostUnderWay;
  if (reads && !stream.watches_read) {
    loop_->WatchRead(stream.fd.get(), [this, &stream] { ReadFrom(stream); });
  } else if (!reads && stream.watches_read) {
    loop_->UnwatchRead(stream.fd.get());
  }
  stream.watches_read = reads;
  bool writes = !stream.unread.empty();
  if (writes && !stream.watches_write) {
    loop_->WatchWrite(stream.fd.get(), [this, &stream] { WriteTo(stream); });
  } else if (!writes && stream.watches_write) {
    loop_->UnwatchWrite(stream.fd.get());
  }
  stream.watches_write = writes;
}

void MpiJob::ReadFrom(Stream& stream) {
  buffer_.resize(kMessageBytes);
  os::IoStep step = os::Receive(stream.fd.get(), buffer_.data(), buffer_.size());
  if (step.kind == os::IoStep::Kind::kWouldBlock) return;
  Message message;
  if (step.kind == os::IoStep::Kind::kDone) message.bytes.assign(buffer_, 0, step.bytes);
  Send(stream, std::move(message));
}

// No bytes: the end.
void MpiJob::Send(Stream& stream, Message message) {
  if (message.bytes.empty()) stream.ended_here = true;
  Message& sent = stream.under_way.emplace_back(std::move(message));
  traffic_.sent += sent.bytes.size();
  MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, stream.rank, kTag,
            MPI_COMM_WORLD, &sent.request);
  const std::string& bell = bells_[static_cast<size_t>(stream.rank)];
  if (bell_ && !bell.empty()) (void)bell_->Ring(bell);
  (void)FreeSent(stream);
  Watch(stream);
  if (!stream.under_way.empty() || !all_ring_) LookIn(kBusyNap);
}

// True if some had been sent.
bool MpiJob::FreeSent(Stream& stream) {
  bool some = false;
  while (!stream.under_way.empty()) {
    int done = 0;
    MPI_Test(&stream.under_way.front().request, &done, MPI_STATUS_IGNORE);
    if (done == 0) break;
    stream.under_way.pop_front();
    some = true;
  }
  if (some) Watch(stream);
  return some;
}

// ---- From MPI to the owner ---------------------------------------------------------------------

// The next message of `rank` (or of any); false: none has come.
bool MpiJob::ReceiveFrom(int rank) {
  int there = 0;
  MPI_Message handle = MPI_MESSAGE_NULL;
  MPI_Status status;
  MPI_Improbe(rank, kTag, MPI_COMM_WORLD, &there, &handle, &status);
  if (there == 0) return false;
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  std::string bytes(static_cast<size_t>(size), '\0');
  MPI_Mrecv(bytes.data(), size, MPI_BYTE, &handle, MPI_STATUS_IGNORE);
  auto& stream = streams_[static_cast<size_t>(status.MPI_SOURCE)];
  if (!stream) return true;
  --owed_;
  traffic_.received += bytes.size();
  if (bytes.empty()) stream->ended_there = true;
  stream->unread += bytes;
  WriteTo(*stream);
  return true;
}

// Reads no more for a stream whose reader does not empty its socket; the others go on.
bool MpiJob::ReceiveOne() {
  bool all_read = std::ranges::all_of(
      streams_, [](const auto& stream) { return !stream || stream->unread.size() < kMostUnread; });
  if (all_read) return ReceiveFrom(MPI_ANY_SOURCE);
  return std::ranges::any_of(streams_, [this](const auto& stream) {
    return stream && stream->unread.size() < kMostUnread && ReceiveFrom(stream->rank);
  });
}

void MpiJob::WriteTo(Stream& stream) {
  if (!stream.fd.valid()) return stream.unread.clear();
  while (!stream.unread.empty()) {
    os::IoStep step = os::SendSome(stream.fd.get(), stream.unread);
    if (step.kind == os::IoStep::Kind::kWouldBlock) break;
    if (step.kind != os::IoStep::Kind::kDone) {  // its owner has closed it
      stream.unread.clear();
      break;
    }
    stream.unread.erase(0, step.bytes);
  }
  if (stream.ended_there && stream.unread.empty()) return CloseFor(stream);
  Watch(stream);
}

void MpiJob::CloseFor(Stream& stream) {
  if (!stream.fd.valid()) return;
  loop_->Unwatch(stream.fd.get());
  stream.watches_read = stream.watches_write = false;
  stream.fd.Reset();
  if (!stream.ended_here) Send(stream, {});
}

// ---- Looking -----------------------------------------------------------------------------------

void MpiJob::LookIn(Duration nap) {
  nap_ = nap;
  loop_->Cancel(timer_);
  timer_ = loop_->At(loop_->Now() + nap_, [this] { Poll(); });
}

void MpiJob::Poll() {
  constexpr int kMostAtOnce = 64;
  const Duration most = all_ring_ ? kLongNap : kIdleNap;
  // Rings can be lost, and some are for no message.
  if (nap_ >= most || (owed_ > 0 && nap_ >= kOwedNap)) owed_ = 0;
  int taken = 0;
  // The call that finds nothing moves a message along: the next call has it.
  while (taken < kMostAtOnce && (ReceiveOne() || (owed_ > 0 && ReceiveOne()))) ++taken;
  bool sends = false;
  bool sent = false;
  for (auto& stream : streams_) {
    if (!stream) continue;
    sent = FreeSent(*stream) || sent;
    sends = sends || !stream->under_way.empty();
  }
  // Messages that are under way move only while we call MPI.
  bool soon = taken == kMostAtOnce || sent || sends || (taken > 0 && !all_ring_);
  bool rung_for = taken > 0 && all_ring_ && !sends && owed_ <= 0;
  if (taken > 0) nap_ = kBusyNap;
  LookIn(soon ? kBusyNap : rung_for ? most : Longer(nap_, most));
}

void MpiJob::Drain() {
  auto busy = [](const auto& stream) {
    return stream && (!stream->ended_here || !stream->ended_there || !stream->under_way.empty());
  };
  if (loop_ == nullptr || std::ranges::none_of(streams_, busy)) return;
  os::TimerId timer = 0;
  std::function<void()> look = [&] {
    if (std::ranges::none_of(streams_, busy)) return loop_->Stop();
    timer = loop_->At(loop_->Now() + kBusyNap, [&] { look(); });
  };
  look();
  // Others may have it stop, too.
  while (std::ranges::any_of(streams_, busy)) loop_->Run();
  loop_->Cancel(timer);
}

}  // namespace spate::transport
