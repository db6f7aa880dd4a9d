// What stands behind the second @@ of a hunk: the line that names the function, class, section or rule the hunk is in,
// by the language of the file's name.
//
// The rules are those of git's built-in drivers (gitattributes(5), "Defining a custom hunk-header") where git has one,
// matched by hand: a regular expression a line would cost more than the diff. Without a rule of its own a language has
// git's default: a line that begins with a letter, '_' or '$'.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::text {

enum class Language : std::uint8_t {
  none,
  cpp,
  python,
  rust,
  go,
  java,
  javascript,
  ruby,
  shell,
  markdown,
  html,
  css,
  makefile,
  php,
  perl,
  csharp,
  kotlin,
  swift,
  lua,
  elixir,
  ini,
  tex,
  sql,
  cmake,
  dts,
};

/// By the file's name: its extension, or the whole of it (`Makefile`).
Language language_of(std::string_view path);

/// The part of the line that names something; absent where the line names nothing. Blanks at its end are the caller's.
std::optional<std::string_view> heading_of(Language language, std::string_view line);

}  // namespace weft::text
