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

/// All that goes to stderr: a line of progress makes room for it.
void put_err(const Invocation& invocation, const std::string& text) {
  if (std::exchange(invocation.look->progress_shown, false)) invocation.io.err("\r\x1b[K");
  invocation.io.err(text);
}

std::string painted(const Invocation& invocation, Style style, std::string_view text, bool on_stderr) {
  if (style == Style::none || text.empty() || !invocation.look->colors(invocation, on_stderr)) return std::string(text);
  const auto code = invocation.look->code(invocation, style);
  return code.empty() ? std::string(text) : fmt::format("\x1b[{}m{}\x1b[m", code, text);
}

void put_envelope(Invocation& invocation, const Json& json) { print(invocation, json.text() + "\n"); }

}  // namespace

Invocation::Invocation(const Io& streams, repo::Context& run_context)
    : io(streams), context(run_context), look(std::make_unique<Look>()) {}
Invocation::~Invocation() = default;

void print(Invocation& invocation, std::string_view text) {
  if (invocation.pager != nullptr) {
    if (!invocation.pager_left && !invocation.pager->write(text)) invocation.pager_left = true;
  } else {
    invocation.io.out(text);
  }
}

void report(Invocation& invocation, std::string_view text) {
  if (!invocation.common.quiet) print(invocation, text);
}

void page(Invocation& invocation) {
  if (invocation.pager != nullptr || !invocation.io.out_is_terminal || invocation.common.no_pager ||
      wants_json(invocation) || settings(invocation).text("ui.paginate") == "never") {
    return;
  }
  invocation.pager = start_pager(invocation);
}

bool output_is_unwanted(const Invocation& invocation) { return invocation.pager_left; }

void notice(Invocation& invocation, std::string_view text) {
  if (wants_json(invocation)) {
    invocation.notices.emplace_back(text);
  } else if (!invocation.common.quiet) {
    put_err(invocation, paint_err(invocation, Style::notice, "weft:") + " " + printable(text) + "\n");
  }
}

void hint(Invocation& invocation, std::string_view text) {
  if (wants_json(invocation) || invocation.common.quiet || !settings(invocation).boolean("ui.hints")) return;
  put_err(invocation, paint_err(invocation, Style::hint, "hint:") + " " + printable(text) + "\n");
}

std::string paint(const Invocation& invocation, Style style, std::string_view text) {
  return painted(invocation, style, text, false);
}

std::string paint_err(const Invocation& invocation, Style style, std::string_view text) {
  return painted(invocation, style, text, true);
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
  if (terminal_is_dumb(invocation_) || !settings(invocation_).boolean("ui.progress")) return;
  const std::string text = total == 0 || done > total
                               ? fmt::format("{}: {}", label_, done)
                               : fmt::format("{}: {}% ({}/{})", label_, done * 100 / total, done, total);
  put_err(invocation_, "\r" + text + "\x1b[K");
  invocation_.look->progress_shown = true;
}

void Progress::clear() {
  if (invocation_.look->progress_shown) put_err(invocation_, "");
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
  std::string text = paint_err(invocation, Style::error, "weft:") + " " + printable(error.message) + "\n";
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
  if (!error.hint.empty() && !invocation.common.quiet && settings(invocation).boolean("ui.hints")) {
    text += paint_err(invocation, Style::hint, "hint:") + " " + printable(error.hint) + "\n";
  }
  put_err(invocation, text);
}

}  // namespace weft::cli
