#include "wire/client_codec.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <wire/client.pb.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/model/limits.h"
#include "wire/ends_codec.h"
#include "wire/field_bytes.h"
#include "wire/fields.h"
#include "wire/long_field.h"
#include "wire/model_codec.h"
#include "wire/question_checks.h"

namespace spate::wire {
namespace {

constexpr auto kAnyNumber = std::numeric_limits<uint32_t>::max();
constexpr auto kLastVerdict = static_cast<uint32_t>(kLastOf<Verdict>);
// The last one that there is; newer programs may know more.
constexpr ErrorKind kLastKind = ErrorKind::kIo;
// Bytes of one Edges, which takes four times as much when it is read; our clients send a tenth.
constexpr size_t kEdgesBytes = 1 << 20;

// ---- Client to hub -----------------------------------------------------------------------------

void Put(pb::Request& to, const Submit& message) {
  auto& submit = *to.mutable_submit();
  submit.set_submission(message.submission);
  submit.set_host(message.host);
  AppendBytes(*submit.mutable_settings(), *message.settings);
  AppendBytes(*submit.mutable_policy(), message.policy);
  PutTexts(*submit.mutable_argv(), message.argv);
  PutTexts(*submit.mutable_files(), message.files);
  submit.set_name(message.name);
  submit.set_keep_output(message.keep_output);
  submit.set_priority(message.priority);
  // For hubs that know fewer fields of a policy.
  submit.set_max_running(message.policy.max_running);
  submit.set_weight(message.policy.weight);
  submit.set_open(message.open);
  for (const Submit::After& after : message.after) {
    submit.add_after(after.job.value);
    submit.add_after(after.kind);
  }
  submit.set_add_to(message.add_to.value);
  if (message.known_tasks) submit.set_known_tasks(*message.known_tasks);
}
void Put(pb::Request& to, const PutPieces& message) {
  PutTexts(*to.mutable_put_pieces()->mutable_pieces(), message.pieces);
}
void Put(pb::Request& to, const Rows& message) {
  PutTexts(*to.mutable_rows()->mutable_rows(), message.rows);
}
void Put(pb::Request& to, const Edges& message) {
  auto& edges = *to.mutable_edges();
  for (const Edge& edge : message.edges) {
    edges.add_parents(edge.parent);
    edges.add_children(edge.child);
  }
}
void Put(pb::Request& to, const SubmitEnd& message) {
  auto& end = *to.mutable_submit_end();
  end.set_count(message.count);
  for (const TaskClass& each : message.requests) AppendBytes(*end.add_requests(), each);
  for (const RequestRun& run : message.runs) {
    end.add_runs(run.count);
    end.add_runs(run.request);
  }
  for (TaskIndex index : message.order) end.add_order(index);
  end.set_known_tasks(message.known_tasks);
}
void Put(pb::Request& to, const Watch& message) { to.mutable_watch()->set_job(message.job.value); }
void Put(pb::Request& to, const ReadEnds& message) {
  to.mutable_read_ends()->set_job(message.job.value);
  to.mutable_read_ends()->set_after(message.after);
}

void Put(pb::Request& to, const DropRequest&) { to.mutable_drop_request(); }
void Put(pb::Request& to, const RepliesTaken& message) {
  to.mutable_replies_taken()->set_bytes(message.bytes);
}

void Put(pb::Request& to, const Query& message) {
  auto& query = *to.mutable_query();
  auto put = [&]<typename T>(const T& question) {
    query.set_question(T::kNumber);
    query.set_body(BytesOf(question));
  };
  std::visit(put, message.question);
}

// Clients that know fewer fields of a policy say some of them beside it.
JobPolicy DecodePolicy(FieldReader& in, const pb::Submit& from) {
  auto policy = DecodeFields<JobPolicy>(in, "policy", from.policy());
  policy.max_running = from.max_running();
  policy.weight = from.weight() == 0 ? kJobWeight : std::min(from.weight(), kMaxJobWeight);
  return policy;
}

Request Decode(FieldReader& in, const pb::Submit& from) {
  in.Within("submit");
  Submit submit;
  submit.submission = in.Text("submission", from.submission(), kWireLimits.name_bytes, true);
  submit.host = in.Text("host", from.host(), kWireLimits.name_bytes);
  if (!from.has_settings()) in.Defect("settings", "is missing");
  submit.settings = std::make_shared<const JobSettings>(
      DecodeFields<JobSettings>(in, "settings", from.settings()));
  submit.policy = DecodePolicy(in, from);
  submit.argv = in.Texts("argv", from.argv(), kWireLimits.text_bytes);
  submit.files = in.Texts("files", from.files(), kWireLimits.text_bytes);
  submit.name = in.Text("name", from.name(), kWireLimits.text_bytes);
  submit.keep_output = in.Number<uint64_t>("keep_output", from.keep_output(), 0, kWireLimits.size);
  submit.priority = in.Number<int>("priority", from.priority(), -1'000'000, 1'000'000);
  submit.open = from.open();
  if (from.after_size() % 2 != 0) in.Defect("after", "is not in pairs");
  if (static_cast<uint32_t>(from.after_size()) / 2 > kWireLimits.after) {
    in.Defect("after", "names too many jobs");
  }
  for (int i = 0; i + 1 < from.after_size() && in.ok(); i += 2) {
    submit.after.push_back({in.Id<JobId>("after", from.after(i)),
                            in.Number<uint32_t>("after", from.after(i + 1), 0, 3)});
  }
  submit.add_to = JobId(from.add_to());
  if (from.has_known_tasks()) submit.known_tasks = from.known_tasks();
  return submit;
}

Request Decode(FieldReader& in, const pb::PutPieces& from) {
  in.Within("put_pieces");
  return PutPieces{in.Texts("pieces", from.pieces(), kPutPieceBytes)};
}

Request Decode(FieldReader& in, const pb::Rows& from) {
  in.Within("rows");
  return Rows{in.Texts("rows", from.rows(), kWireLimits.row_bytes)};
}

// The hub decides whether there are such tasks.
Request Decode(FieldReader& in, const pb::Edges& from) {
  in.Within("edges");
  Edges edges;
  if (from.parents_size() != from.children_size()) in.Defect("parents", "is not in pairs");
  if (!in.ok()) return edges;
  edges.edges.reserve(static_cast<size_t>(from.parents_size()));
  for (int i = 0; i < from.parents_size(); ++i) {
    edges.edges.push_back({from.parents(i), from.children(i)});
  }
  return edges;
}

Request Decode(FieldReader& in, const pb::SubmitEnd& from) {
  in.Within("submit_end");
  SubmitEnd end;
  end.count = in.Number<uint32_t>("count", from.count(), 0, kLimits.tasks_per_job);
  end.known_tasks =
      in.Number<uint32_t>("known_tasks", from.known_tasks(), 0, kLimits.tasks_per_job);
  for (int i = 0; i < from.requests_size() && in.ok(); ++i) {
    end.requests.push_back(DecodeFields<TaskClass>(in, "requests", from.requests(i)));
  }
  if (from.runs_size() % 2 != 0) in.Defect("runs", "is not in pairs");
  uint64_t next = 0;
  for (int i = 0; i + 1 < from.runs_size() && in.ok(); i += 2) {
    auto count = in.Number<uint32_t>("runs", from.runs(i), 1, kLimits.tasks_per_job);
    end.runs.push_back({static_cast<TaskIndex>(next), count, from.runs(i + 1)});
    next += count;
    if (next > end.count || from.runs(i + 1) >= static_cast<uint32_t>(from.requests_size())) {
      in.Defect("runs", "is out of range");
    }
  }
  if (in.ok() && next != end.count) in.Defect("runs", "is not for each task");
  if (from.order_size() != 0 && static_cast<uint32_t>(from.order_size()) != end.count) {
    in.Defect("order", "is not one for each task");
  }
  if (!in.ok()) return end;
  end.order.assign(from.order().begin(), from.order().end());
  std::vector<bool> seen(end.order.size());
  for (TaskIndex index : end.order) {
    if (index >= end.count || seen[index]) {
      in.Defect("order", "does not name each task once");
      break;
    }
    seen[index] = true;
  }
  return end;
}

Request Decode(FieldReader& in, const pb::Watch& from) {
  in.Within("watch");
  return Watch{JobId(from.job())};
}
Request Decode(FieldReader& in, const pb::ReadEnds& from) {
  in.Within("read_ends");
  return ReadEnds{in.Id<JobId>("job", from.job()), from.after()};
}

Request Decode(FieldReader&, const pb::DropRequest&) { return DropRequest(); }
Request Decode(FieldReader&, const pb::RepliesTaken& from) { return RepliesTaken{from.bytes()}; }

// The question whose number this is, of those from the kAt-th on.
template <size_t kAt = 0>
Result<Question> QuestionOf(uint32_t number, std::string_view body) {
  if constexpr (kAt == std::variant_size_v<Question>) {
    return Question(UnknownQuestion());
  } else {
    using T = std::variant_alternative_t<kAt, Question>;
    if (T::kNumber != number) return QuestionOf<kAt + 1>(number, body);
    auto question = TRY(FromBytes<T>(fmt::format("query {}", number), body));
    Question asked(std::move(question));
    TRY(CheckSound(asked));
    return asked;
  }
}
Request Decode(FieldReader& in, const pb::Query& from) {
  auto question = QuestionOf(from.question(), from.body());
  if (question) return Query{std::move(*question)};
  in.Within("request");
  in.Defect("body", question.error().message);
  return Query();
}

// ---- Hub to client -----------------------------------------------------------------------------

using PbBytes = google::protobuf::RepeatedPtrField<std::string>;

void PutWhy(PbBytes& to, const Why& why) {
  for (const Reason& each : why) AppendBytes(*to.Add(), each);
}
Why TakeWhy(FieldReader& in, const PbBytes& from) {
  Why why;
  for (const std::string& each : from) why.push_back(in.Fields<Reason>("why", each));
  return why;
}

void Put(pb::Reply& to, const QueryAnswer& message) {
  to.mutable_query_answer()->set_body(message.bytes);
}
void Put(pb::Reply& to, const QueryDone&) { to.mutable_query_done(); }
void Put(pb::Reply& to, const Failed& message) {
  to.mutable_failed()->set_kind(static_cast<uint32_t>(message.kind));
  to.mutable_failed()->set_text(Note(message.text));
  if (!message.remedy.empty()) AppendBytes(*to.mutable_failed()->mutable_remedy(), message.remedy);
  PutWhy(*to.mutable_failed()->mutable_why(), message.why);
}
void Put(pb::Reply& to, const Accepted& message) {
  to.mutable_accepted()->set_job(message.job.value);
  to.mutable_accepted()->set_known(message.known);
  to.mutable_accepted()->set_nodes(message.nodes);
  to.mutable_accepted()->set_first(message.first);
  PutWhy(*to.mutable_accepted()->mutable_why(), message.why);
}
void Put(pb::Reply& to, const Printed& message) {
  to.mutable_printed()->set_stream(static_cast<uint32_t>(message.stream));
  to.mutable_printed()->set_bytes(message.bytes);
}
void Put(pb::Reply& to, const JobNews& message) {
  auto& news = *to.mutable_job_news();
  news.set_job(message.job.value);
  news.set_total(message.counts.total);
  news.set_queued(message.counts.queued);
  news.set_leased(message.counts.leased);
  news.set_succeeded(message.counts.succeeded);
  news.set_failed(message.counts.failed);
  news.set_cancelled(message.counts.cancelled);
  news.set_unknown(message.counts.unknown);
  news.set_finished(message.finished);
  news.set_held(message.held);
  news.set_nodes(message.nodes);
  PutWhy(*news.mutable_why(), message.why);
  for (const LeftRunningFacts& each : message.left) AppendBytes(*news.add_left(), each);
  news.set_missed(message.missed);
  for (const NotKeptFacts& each : message.not_kept) AppendBytes(*news.add_not_kept(), each);
}
void Put(pb::Reply& to, const EndsRead& message) {
  auto& read = *to.mutable_ends_read();
  if (!message.ends.ends.empty()) PutEnds(*read.mutable_ends(), message.ends);
  for (uint32_t verdict : message.verdicts) read.add_verdict(verdict);
  read.set_position(message.position);
  read.set_finished(message.finished);
}

Reply Decode(FieldReader& in, const pb::Failed& from) {
  in.Within("failed");
  Failed failed;
  uint32_t kind = std::min(from.kind(), static_cast<uint32_t>(kLastKind));
  failed.kind = static_cast<ErrorKind>(kind);
  failed.text = in.Text("text", from.text(), kWireLimits.note_bytes);
  if (from.has_remedy()) failed.remedy = in.Fields<Remedy>("remedy", from.remedy());
  failed.why = TakeWhy(in, from.why());
  return failed;
}
Reply Decode(FieldReader& in, const pb::Accepted& from) {
  in.Within("accepted");
  return Accepted{in.Id<JobId>("job", from.job()), from.known(), from.nodes(), from.first(),
                  TakeWhy(in, from.why())};
}
Reply Decode(FieldReader& in, const pb::Printed& from) {
  in.Within("printed");
  int stream = in.Number<int>("stream", from.stream(), 1, 2);
  return Printed{stream, in.Text("bytes", from.bytes(), kWireLimits.piece_bytes)};
}
Reply Decode(FieldReader& in, const pb::JobNews& from) {
  in.Within("job_news");
  JobNews news;
  news.job = in.Id<JobId>("job", from.job());
  news.counts = {from.total(),  from.queued(),    from.leased(), from.succeeded(),
                 from.failed(), from.cancelled(), from.unknown()};
  news.finished = from.finished();
  news.held = from.held();
  news.nodes = from.nodes();
  news.missed = from.missed();
  news.why = TakeWhy(in, from.why());
  for (const std::string& each : from.left()) {
    news.left.push_back(in.Fields<LeftRunningFacts>("left", each));
  }
  for (const std::string& each : from.not_kept()) {
    news.not_kept.push_back(in.Fields<NotKeptFacts>("not_kept", each));
  }
  return news;
}
Reply Decode(FieldReader& in, pb::EndsRead& from) {
  in.Within("ends_read");
  EndsRead read;
  if (from.has_ends()) read.ends = DecodeEnds(in, *from.mutable_ends());
  if (static_cast<size_t>(from.verdict_size()) != read.ends.ends.size()) {
    in.Defect("verdict", "is not one for each end");
  }
  for (uint32_t verdict : from.verdict()) {
    read.verdicts.push_back(in.Number<uint32_t>("verdict", verdict, 0, kLastVerdict));
  }
  read.position = from.position();
  read.finished = from.finished();
  return read;
}

}  // namespace

// ---- The way in --------------------------------------------------------------------------------

std::string IdBytes(uint32_t id) {
  std::string bytes;
  for (size_t i = 0; i < kIdBytes; ++i) bytes.push_back(static_cast<char>(id >> 8 * i & 0xFF));
  return bytes;
}

std::optional<NumberedMessage> SplitId(std::string_view frame) {
  if (frame.size() < kIdBytes) return std::nullopt;
  uint32_t id = 0;
  for (size_t i = 0; i < kIdBytes; ++i) id |= uint32_t{static_cast<uint8_t>(frame[i])} << 8 * i;
  return NumberedMessage{id, frame.substr(kIdBytes)};
}

void Append(std::string& out, const Request& message) {
  pb::Request to;
  std::visit([&](const auto& each) { Put(to, each); }, message);
  AppendPb(out, to);
}

void Append(std::string& out, const Reply& message) {
  pb::Reply to;
  std::visit([&](const auto& each) { Put(to, each); }, message);
  AppendPb(out, to);
}

namespace {

// How often a field is in a message; what cannot be read counts as nothing. Each is an object that
// takes a hundred times the bytes which it has on the wire, so they are counted before they are
// made.
uint64_t CountOf(std::string_view message, std::span<const int> path) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  uint64_t count = 0;
  while (uint32_t tag = in.ReadTag()) {
    bool nested = WireFormatLite::GetTagFieldNumber(tag) == path.front() &&
                  WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!nested) {
      if (!WireFormatLite::SkipField(&in, tag)) break;
      continue;
    }
    uint32_t size = 0;
    auto begin = [&] { return static_cast<size_t>(in.CurrentPosition()); };
    if (!in.ReadVarint32(&size) || size > message.size() - begin()) break;
    bool last = path.size() == 1;
    count += last ? 1 : CountOf(message.substr(begin(), size), path.subspan(1));
    if (!in.Skip(static_cast<int>(size))) break;
  }
  return count;
}

}  // namespace

Result<Request> DecodeRequest(std::string_view bytes) {
  constexpr int kRequests[] = {pb::Request::kSubmitEndFieldNumber,
                               pb::SubmitEnd::kRequestsFieldNumber};
  if (CountOf(bytes, kRequests) > kLimits.requests) {
    return Fail(ErrorKind::kCorrupt, "a damaged message: submit_end.requests are too many");
  }
  const auto edges = OnlyField(bytes, pb::Request::kEdgesFieldNumber);
  if (edges && edges->size() > kEdgesBytes) {
    return Fail(ErrorKind::kCorrupt, "a damaged message: edges has too many of them");
  }
  return DecodePb<Request, pb::Request>("request", bytes, [](FieldReader& in, auto& from) {
    switch (from.kind_case()) {
      case pb::Request::kSubmit:
        return Decode(in, from.submit());
      case pb::Request::kPutPieces:
        return Decode(in, from.put_pieces());
      case pb::Request::kRows:
        return Decode(in, from.rows());
      case pb::Request::kEdges:
        return Decode(in, from.edges());
      case pb::Request::kSubmitEnd:
        return Decode(in, from.submit_end());
      case pb::Request::kWatch:
        return Decode(in, from.watch());
      case pb::Request::kReadEnds:
        return Decode(in, from.read_ends());
      case pb::Request::kQuery:
        return Decode(in, from.query());
      case pb::Request::kDropRequest:
        return Decode(in, from.drop_request());
      case pb::Request::kRepliesTaken:
        return Decode(in, from.replies_taken());
      case pb::Request::KIND_NOT_SET:
        break;
    }
    in.Defect("kind", "is missing or unknown; use the hub's version");
    return Request();
  });
}

Result<Reply> DecodeReply(std::string_view bytes) {
  return DecodePb<Reply, pb::Reply>("reply", bytes, [](FieldReader& in, auto& from) {
    switch (from.kind_case()) {
      case pb::Reply::kFailed:
        return Decode(in, from.failed());
      case pb::Reply::kAccepted:
        return Decode(in, from.accepted());
      case pb::Reply::kPrinted:
        return Decode(in, from.printed());
      case pb::Reply::kJobNews:
        return Decode(in, from.job_news());
      case pb::Reply::kEndsRead:
        return Decode(in, *from.mutable_ends_read());
      case pb::Reply::kQueryAnswer:
        return Reply(QueryAnswer{std::move(*from.mutable_query_answer()->mutable_body())});
      case pb::Reply::kQueryDone:
        return Reply(QueryDone());
      case pb::Reply::KIND_NOT_SET:
        break;
    }
    in.Defect("kind", "is missing or unknown");
    return Reply();
  });
}

std::string EncodeSettings(const JobSettings& settings) { return BytesOf(settings); }

Result<JobSettings> DecodeSettings(std::string_view bytes) {
  FieldReader in("job");
  auto settings = DecodeFields<JobSettings>(in, "settings", bytes);
  if (!in.ok()) return in.Failure();
  return settings;
}

}  // namespace spate::wire
