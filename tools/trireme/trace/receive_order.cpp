#include "trace/receive_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "sim/accuracy.hpp"

namespace tri::tools {
namespace {

using trace::event;
namespace prediction = flow::prediction;

std::string name_of(const trace_folder& trace, const receive_stream& stream) {
  const trace_row* const row = trace.row_of_pe(stream.pe);
  return fmt::format("{} {}", row == nullptr ? fmt::format("PE {}", stream.pe) : row->label(),
                     stream.mailbox == 0 ? "methods" : fmt::format("mailbox {}", stream.mailbox));
}

std::vector<prediction::message_facts> facts_of(const std::vector<received>& messages) {
  std::vector<prediction::message_facts> facts;
  facts.reserve(messages.size());
  for (const received& one : messages) facts.push_back({.address = 0, .size = one.bytes, .sender = one.sender});
  return facts;
}

}  // namespace

std::size_t receive_stream::displaced() const {
  std::size_t count = std::max(logical.size(), physical.size()) - std::min(logical.size(), physical.size());
  for (std::size_t i = 0; i < std::min(logical.size(), physical.size()); ++i)
    count += logical[i] == physical[i] ? 0 : 1;
  return count;
}

std::vector<receive_stream> streams_of(const trace_folder& trace) {
  std::vector<receive_stream> streams;
  for (const trace_row& row : trace.rows) {
    if (row.pe < 0) continue;
    std::map<std::uint32_t, receive_stream> of_row;
    std::map<std::uint32_t, std::vector<std::pair<std::uint64_t, received>>> taken;
    for (const trace_event& one : row.events) {
      if (one.what == event::begin && one.tag != 0 && one.peer != static_cast<std::uint32_t>(row.pe)) {
        of_row[0].physical.push_back({one.peer, one.bytes, std::int64_t{one.handler}});
      } else if (one.what == event::incoming || one.what == event::taken) {
        const auto mailbox = static_cast<std::uint32_t>(one.number >> 32);
        const received message{one.peer, one.bytes, static_cast<std::int32_t>(one.handler)};
        if (one.what == event::incoming)
          of_row[mailbox].physical.push_back(message);
        else
          taken[mailbox].push_back({one.number & 0xffff'ffff, message});
      }
    }
    for (auto& [mailbox, messages] : taken) {
      std::stable_sort(messages.begin(), messages.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& message : messages) of_row[mailbox].logical.push_back(message.second);
    }
    for (auto& [mailbox, stream] : of_row) {
      stream.pe = row.pe;
      stream.mailbox = mailbox;
      streams.push_back(std::move(stream));
    }
  }
  return streams;
}

std::string text_of_orders(const trace_folder& trace, const std::vector<receive_stream>& streams) {
  std::string text;
  for (const receive_stream& stream : streams)
    if (stream.mailbox != 0)
      text +=
          fmt::format("  {}: {} messages arrived, {} were received; {} of them at another position than they arrived\n",
                      name_of(trace, stream), stream.physical.size(), stream.logical.size(), stream.displaced());
  return text.empty() ? text : "order of the program against order of arrival\n" + text;
}

std::string text_of_prediction(const trace_folder& trace, const std::vector<receive_stream>& streams,
                               const prediction::prediction_options& options) {
  constexpr std::size_t shown = 5;  // +1 to +5
  std::string text = fmt::format("{:<26} {:<9} {:>9} {:<10}", "stream", "order", "messages", "predictor");
  for (std::size_t i = 0; i < shown; ++i) text += fmt::format("{:>7}", fmt::format("+{}", sim::lookaheads[i]));
  text += "   % right: sender and size\n";
  using prediction::predictor_kind;
  for (const receive_stream& stream : streams)
    for (const bool logical : {true, false}) {
      const std::vector<received>& messages = logical ? stream.logical : stream.physical;
      if (messages.size() < 2) continue;
      const auto facts = facts_of(messages);
      for (const auto kind :
           {predictor_kind::dpd, predictor_kind::shortdpd, predictor_kind::early, predictor_kind::graph}) {
        prediction::prediction_options wanted = options;
        wanted.kind = kind;
        const sim::accuracy result = sim::measure(wanted, facts);
        text += fmt::format("{:<26} {:<9} {:>9} {:<10}", name_of(trace, stream), logical ? "logical" : "physical",
                            messages.size(), prediction::name_of(kind));
        for (std::size_t i = 0; i < shown; ++i) text += fmt::format("{:7.1f}", 100 * result.rate(i));
        text += '\n';
      }
    }
  return text;
}

std::string streams_as_csv(const std::vector<receive_stream>& streams) {
  std::string text = "pe,mailbox,level,position,sender,bytes,tag\n";
  for (const receive_stream& stream : streams)
    for (const bool logical : {true, false}) {
      std::size_t position = 0;
      for (const received& one : logical ? stream.logical : stream.physical)
        text += fmt::format("{},{},{},{},{},{},{}\n", stream.pe, stream.mailbox, logical ? "logical" : "physical",
                            position++, one.sender, one.bytes, one.tag);
    }
  return text;
}

}  // namespace tri::tools
