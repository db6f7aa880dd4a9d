#include "cli/output.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "cli/pager.h"
#include "cli/text.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kProgressDelayNs = 500'000'000;
constexpr std::int64_t kProgressIntervalNs = 100'000'000;
constexpr std::size_t kMaxListedPaths = 20;

/// The envelope but for its `data` or `error`: what both forms share.
Json envelope(bool ok) { return Json::object().set("weft", 1).set("ok", ok); }

Json meta(const Invocation& invocation) {
  const std::int64_t elapsed_ns = invocation.context.env.clock.monotonic_ns() - invocation.start_ns;
  Json out = Json::object();
  out.set("elapsed_ms", Json::milliseconds(elapsed_ns));
  if (!invocation.notices.empty()) {
    Json notices = Json::array();
    for (const auto& notice : invocation.notices) notices.push(notice);
    out.set("notices", notices);
  }
  return out;
}

void put_envelope(Invocation& invocation, const Json& json) { print(invocation, json.text() + "\n"); }

}  // namespace

Invocation::Invocation(const Io& io_, repo::Context& context_) : io(io_), context(context_) {}
Invocation::~Invocation() = default;

void print(Invocation& invocation, std::string_view text) {
  if (invocation.pager != nullptr) {
    if (!invocation.pager_left && !invocation.pager->write(text)) invocation.pager_left = true;
  } else {
    invocation.io.out(text);
  }
}

void page(Invocation& invocation) {
  if (invocation.pager != nullptr || !invocation.io.out_is_terminal || invocation.common.no_pager ||
      wants_json(invocation)) {
    return;
  }
  invocation.pager = start_pager(invocation.context);
}

bool output_is_unwanted(const Invocation& invocation) { return invocation.pager_left; }

void notice(Invocation& invocation, std::string_view text) {
  if (wants_json(invocation)) {
    invocation.notices.emplace_back(text);
  } else if (!invocation.common.quiet) {
    invocation.io.err("weft: " + printable(text) + "\n");
  }
}

void hint(Invocation& invocation, std::string_view text) {
  if (!wants_json(invocation) && !invocation.common.quiet) invocation.io.err("hint: " + printable(text) + "\n");
}

std::string paint(const Invocation& invocation, Style style, std::string_view text) {
  if (!invocation.common.color || style == Style::none || text.empty()) return std::string(text);
  std::string_view code;
  switch (style) {
    case Style::none:
      break;
    case Style::bold:
      code = "1";
      break;
    case Style::dim:
      code = "2";
      break;
    case Style::red:
      code = "31";
      break;
    case Style::green:
      code = "32";
      break;
    case Style::yellow:
      code = "33";
      break;
    case Style::blue:
      code = "34";
      break;
    case Style::magenta:
      code = "35";
      break;
    case Style::cyan:
      code = "36";
      break;
  }
  return fmt::format("\x1b[{}m{}\x1b[m", code, text);
}

std::string shown_path(const Invocation& invocation, std::string_view path) {
  return invocation.common.zero ? std::string(path) : quoted(path);
}

std::string_view line_end(const Invocation& invocation) {
  return invocation.common.zero ? std::string_view("\0", 1) : std::string_view("\n");
}

Progress::Progress(Invocation& invocation, std::string label)
    : invocation_(invocation),
      label_(std::move(label)),
      next_ns_(invocation.context.env.clock.monotonic_ns() + kProgressDelayNs) {}

Progress::~Progress() { clear(); }

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (!invocation_.io.err_is_terminal || invocation_.common.quiet || wants_json(invocation_)) return;
  const std::int64_t now = invocation_.context.env.clock.monotonic_ns();
  if (now < next_ns_) return;
  next_ns_ = now + kProgressIntervalNs;
  shown_ = true;
  invocation_.io.err(total == 0 ? fmt::format("\r{}: {}\x1b[K", label_, done)
                                : fmt::format("\r{}: {}/{}\x1b[K", label_, done, total));
}

void Progress::clear() {
  if (std::exchange(shown_, false)) invocation_.io.err("\r\x1b[K");
}

void emit(Invocation& invocation, const Json& data) {
  Json out = envelope(true);
  if (invocation.common.json_lines) out.set("end", true);
  put_envelope(invocation, out.set("data", data).set("meta", meta(invocation)));
}

JsonList::JsonList(Invocation& invocation, std::string key) : invocation_(invocation), key_(std::move(key)) {}

void JsonList::add(const Json& item) {
  if (invocation_.common.json_lines) {
    put_envelope(invocation_, envelope(true).set("data", item));
  } else {
    items_.push(item);
  }
}

void JsonList::finish(const Json& rest) {
  if (invocation_.common.json_lines) {
    emit(invocation_, rest);
  } else {
    emit(invocation_, Json::object().set(key_, items_).merge(rest));
  }
}

Json json_error(const Error& error) {
  Json out = Json::object();
  out.set("code", name(error.code)).set("message", error.message).set("hint", error.hint);
  std::vector<std::pair<std::string, Json>> details;
  for (const auto& [key, value] : error.details) {
    std::size_t at = 0;
    while (at < details.size() && details[at].first != key) ++at;
    if (at == details.size()) details.emplace_back(key, Json::array());
    details[at].second.push(value);
  }
  Json json_details = Json::object();
  for (const auto& [key, values] : details) json_details.set(key, values);
  return out.set("details", json_details);
}

Json json_time(const object::Timestamp& time) {
  return Json::object().set("unix_ns", time.unix_ns).set("offset_min", time.offset_min);
}

Json json_version(const object::Version& version) {
  Json out = Json::array();
  for (const auto& id : version.changes) out.push(id.hex());
  return out;
}

Json json_signature(const object::Signature& signature) {
  return Json::object()
      .set("name", signature.name)
      .set("email", signature.email)
      .set("time", json_time(signature.time));
}

std::string mode_text(std::uint32_t mode) { return fmt::format("{:04o}", mode); }

void print_error(Invocation& invocation, const Error& error) {
  if (wants_json(invocation)) {
    Json out = envelope(false);
    if (invocation.common.json_lines) out.set("end", true);
    put_envelope(invocation, out.set("error", json_error(error)).set("meta", meta(invocation)));
    return;
  }
  std::string text = paint(invocation, Style::red, "weft:") + " " + printable(error.message) + "\n";
  // What the sentence does not name by itself: paths, each with its reason where one follows it.
  std::vector<std::string> paths;
  const bool about_files = error.code == Code::refused || error.code == Code::conflicts || error.code == Code::exists;
  for (std::size_t at = 0; about_files && at < error.details.size(); ++at) {
    const auto& [key, value] = error.details[at];
    if (key != "path") continue;
    const bool has_reason = at + 1 < error.details.size() && error.details[at + 1].first == "reason";
    if (has_reason) {
      paths.push_back(quoted(value) + ": " + printable(error.details[at + 1].second));
    } else if (error.message.find(quoted(value)) == std::string::npos) {
      paths.push_back(quoted(value));
    }
  }
  for (std::size_t at = 0; at < paths.size(); ++at) {
    if (at == kMaxListedPaths && paths.size() > kMaxListedPaths + 1) {
      text += fmt::format("  and {} more\n", paths.size() - at);
      break;
    }
    text += "  " + paths[at] + "\n";
  }
  if (!error.hint.empty()) text += paint(invocation, Style::yellow, "hint:") + " " + printable(error.hint) + "\n";
  invocation.io.err(text);
}

}  // namespace weft::cli
