// What commands print with: plain output through the pager, notices, colour, progress, and the JSON envelope
// (docs/JSON.md).
//
// Invariants:
//   P-1  stdout carries the answer alone (or, with --json, one envelope); notices, hints and progress go to stderr.
//        With --json notices travel in the envelope's `meta.notices` instead.
//   P-2  Colour only where asked (look.h), never in JSON.
//   P-3  With -q a command that does something says nothing about it (report()); what a command was asked for is still
//        printed (print()).
// Threading: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/json.h"
#include "cli/look.h"
#include "object/change.h"

namespace weft::cli {

// --- text ---

/// To stdout, or to the pager once page() was called.
void print(Invocation& invocation, std::string_view text);
/// What a command has done, on stdout. Silent with -q.
void report(Invocation& invocation, std::string_view text);
/// From here on output may be long: on a terminal, unless --no-pager or `ui.paginate` says never, it goes through the
/// pager (pager.h).
void page(Invocation& invocation);
/// Whether the user has left the pager: whoever prints much may stop.
bool output_is_unwanted(const Invocation& invocation);
/// "weft: TEXT" on stderr: something the user should know although the command goes on. Silent with -q.
void notice(Invocation& invocation, std::string_view text);
/// "hint: TEXT" on stderr: what may come next. Silent with -q and with `ui.hints = false`.
void hint(Invocation& invocation, std::string_view text);

/// `text` in colour where the user wants colour on stdout.
std::string paint(const Invocation& invocation, Style style, std::string_view text);
/// The same for stderr.
std::string paint_err(const Invocation& invocation, Style style, std::string_view text);
/// A path for one line: quoted as git does where it is odd, raw with -0 (DESIGN 11).
std::string shown_path(const Invocation& invocation, std::string_view path);
/// "\n", or NUL with -0.
std::string_view line_end(const Invocation& invocation);

/// "importing: 24% (1200/5000)" on stderr: on a terminal, after half a second, at most ten times a second; erased when
/// anything else is said there, by clear(), and at the end. Never with --json, -q or `ui.progress = false`.
class Progress {
 public:
  Progress(Invocation& invocation, std::string label);
  Progress(const Progress&) = delete;
  ~Progress();
  /// `total` 0: not known.
  void update(std::uint64_t done, std::uint64_t total);
  void clear();

 private:
  Invocation& invocation_;
  std::string label_;
  std::int64_t next_ns_;
};

// --- JSON ---

/// Prints the envelope with this `data`: once, by a command that was asked for JSON.
void emit(Invocation& invocation, const Json& data);

/// The `data` of a command that lists: {KEY: [items], ...rest}; with --json-lines one envelope an item as it comes,
/// then a last one with "end": true. Use when wants_json().
class JsonList {
 public:
  JsonList(Invocation& invocation, std::string key);
  void add(const Json& item);
  /// `rest`: further keys beside the list.
  void finish(const Json& rest = Json::object());

 private:
  Invocation& invocation_;
  std::string key_;
  Json items_ = Json::array();
};

inline bool wants_json(const Invocation& invocation) { return invocation.common.json || invocation.common.json_lines; }

Json json_error(const Error& error);
/// {"unix_ns", "offset_min"}
Json json_time(const object::Timestamp& time);
/// Sorted array of full hex ids.
Json json_version(const object::Version& version);
/// {"name", "email", "time"}
Json json_signature(const object::Signature& signature);
/// "0644"
std::string mode_text(std::uint32_t mode);

/// Prints the error as run() does: "weft: SENTENCE", "hint: ...", or the JSON envelope.
void print_error(Invocation& invocation, const Error& error);

}  // namespace weft::cli
