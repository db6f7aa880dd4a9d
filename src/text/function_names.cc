#include "text/function_names.h"

#include <algorithm>
#include <initializer_list>
#include <span>

namespace weft::text {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_space(char c) { return is_blank(c) || c == '\r' || c == '\n' || c == '\v' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool starts_name(char c) { return is_letter(c) || c == '_'; }
bool is_word(char c) { return starts_name(c) || is_digit(c); }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

using Words = std::span<const std::string_view>;
using Heading = std::optional<std::string_view>;

bool is_one_of(std::string_view word, Words words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Walks over one line without its end.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {
    while (text_.ends_with('\n') || text_.ends_with('\r')) text_.remove_suffix(1);
  }
  bool done() const { return at_ == text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  std::string_view rest() const { return text_.substr(at_); }
  std::size_t skip_blanks() {
    const std::size_t begin = at_;
    while (!done() && is_blank(peek())) ++at_;
    return at_ - begin;
  }
  bool take(std::string_view wanted) {
    if (!rest().starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }
  std::string_view word() {
    const std::size_t begin = at_;
    while (!done() && is_word(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::size_t mark() const { return at_; }
  void back(std::size_t mark) { at_ = mark; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

Heading default_heading(std::string_view line) {
  if (line.empty() || !(starts_name(line[0]) || line[0] == '$')) return std::nullopt;
  return line;
}

/// Modifiers, then a keyword with something behind it: "pub async fn x", "abstract class Y". `after` are what may
/// follow the keyword directly.
Heading keyword_heading(std::string_view text, Words modifiers, Words keywords, std::string_view after = " \t") {
  Line line(text);
  line.skip_blanks();
  const std::string_view whole = line.rest();
  for (;;) {
    const std::string_view word = line.word();
    if (word.empty()) return std::nullopt;
    if (is_one_of(word, keywords) && after.find(line.peek()) != after.npos && !line.done()) return whole;
    if (!is_one_of(word, modifiers) || line.skip_blanks() == 0) return std::nullopt;
  }
}

Heading cpp_heading(std::string_view text) {
  Line line(text);
  const std::string_view whole = line.rest();
  line.take("::");
  if (whole.size() != line.rest().size()) line.skip_blanks();
  if (!starts_name(line.peek())) return std::nullopt;
  // Labels and `public:` name nothing.
  Line label(text);
  label.word();
  if (label.take(":")) {
    label.skip_blanks();
    if (label.done() || label.take("//") || label.take("/*")) return std::nullopt;
  }
  return whole;
}

Heading rust_heading(std::string_view text) {
  static constexpr std::string_view kModifiers[] = {"async", "const", "unsafe", "default"};
  static constexpr std::string_view kItems[] = {"struct", "enum", "union", "mod", "trait", "fn", "impl"};
  Line line(text);
  line.skip_blanks();
  const std::string_view whole = line.rest();
  if (whole.find(';') != whole.npos) return std::nullopt;  // a declaration of something that is elsewhere
  for (;;) {
    const std::string_view word = line.word();
    if (word.empty()) return std::nullopt;
    if (word == "macro_rules") return line.take("!") ? Heading(whole) : std::nullopt;
    if (is_one_of(word, kItems)) return is_blank(line.peek()) || line.peek() == '<' ? Heading(whole) : std::nullopt;
    if (word == "pub" && line.take("(")) {
      while (!line.done() && line.peek() != ')') line.take(line.rest().substr(0, 1));
      if (!line.take(")")) return std::nullopt;
    } else if (word == "extern") {
      const std::size_t mark = line.mark();
      line.skip_blanks();
      if (line.take("\"")) {
        while (!line.done() && line.peek() != '"') line.take(line.rest().substr(0, 1));
        if (!line.take("\"")) return std::nullopt;
      } else {
        line.back(mark);
      }
    } else if (word != "pub" && !is_one_of(word, kModifiers)) {
      return std::nullopt;
    }
    line.skip_blanks();
  }
}

Heading go_heading(std::string_view text) {
  Line line(text);
  line.skip_blanks();
  const std::string_view whole = line.rest();
  if (line.take("func")) return is_word(line.peek()) ? std::nullopt : Heading(whole);
  if (!line.take("type") || line.skip_blanks() == 0) return std::nullopt;
  const bool has_body = whole.find("struct") != whole.npos || whole.find("interface") != whole.npos;
  return has_body ? Heading(whole) : std::nullopt;
}

/// "int name(args" as a method begins: at least two words in front of the parenthesis, and no statement.
Heading method_heading(std::string_view text, Words statements) {
  Line line(text);
  line.skip_blanks();
  const std::string_view whole = line.rest();
  const std::size_t open = whole.find('(');
  if (open == whole.npos || open == 0 || whole.find(';') != whole.npos) return std::nullopt;
  std::string_view before = whole.substr(0, open);
  while (!before.empty() && is_blank(before.back())) before.remove_suffix(1);
  std::size_t name = before.size();
  while (name > 0 && is_word(before[name - 1])) --name;
  if (name == before.size() || is_digit(before[name]) || name == 0 || !is_blank(before[name - 1])) return std::nullopt;
  static constexpr std::string_view kInTypes = "_<>&[]?.,@*:";
  for (std::size_t at = 0; at < name; ++at) {
    if (!is_word(before[at]) && !is_blank(before[at]) && kInTypes.find(before[at]) == kInTypes.npos)
      return std::nullopt;
  }
  Line words(before);
  if (is_one_of(words.word(), statements)) return std::nullopt;
  return whole;
}

Heading java_heading(std::string_view text) {
  static constexpr std::string_view kModifiers[] = {"public", "protected", "private",  "abstract", "static",
                                                    "final",  "sealed",    "strictfp", "non"};
  static constexpr std::string_view kTypes[] = {"class", "enum", "interface", "record"};
  static constexpr std::string_view kStatements[] = {"catch",  "do",     "for",   "if",    "instanceof", "new",
                                                     "return", "switch", "throw", "while", "else"};
  if (const auto type = keyword_heading(text, kModifiers, kTypes)) return type;
  return method_heading(text, kStatements);
}

Heading csharp_heading(std::string_view text) {
  static constexpr std::string_view kModifiers[] = {"public", "protected", "private",  "internal", "abstract", "static",
                                                    "sealed", "partial",   "readonly", "unsafe",   "new",      "ref"};
  static constexpr std::string_view kTypes[] = {"class", "enum", "interface", "record", "struct", "namespace"};
  static constexpr std::string_view kStatements[] = {"catch",      "do",    "for",    "foreach", "if",
                                                     "instanceof", "new",   "return", "switch",  "throw",
                                                     "while",      "using", "else",   "lock"};
  if (const auto type = keyword_heading(text, kModifiers, kTypes)) return type;
  return method_heading(text, kStatements);
}

Heading javascript_heading(std::string_view text) {
  static constexpr std::string_view kModifiers[] = {"export", "default", "async",     "declare", "abstract",
                                                    "public", "private", "protected", "static",  "const"};
  static constexpr std::string_view kItems[] = {"function", "class", "interface", "namespace", "enum", "module"};
  static constexpr std::string_view kStatements[] = {"if",   "for", "while", "switch", "catch", "return", "function",
                                                     "with", "do",  "await", "throw",  "new",   "else",   "typeof"};
  if (const auto item = keyword_heading(text, kModifiers, kItems, " \t*({")) return item;
  Line line(text);
  const bool indented = line.skip_blanks() > 0;
  const std::string_view whole = line.rest();
  std::string_view body = whole;
  while (!body.empty() && is_blank(body.back())) body.remove_suffix(1);
  // const name = (...) => {   and   const name = function (...) {
  for (;;) {
    const std::size_t mark = line.mark();
    const std::string_view word = line.word();
    if (word == "const" || word == "let" || word == "var") {
      const bool is_function = body.find("=>") != body.npos || body.find("function") != body.npos;
      return is_function && !indented ? Heading(whole) : std::nullopt;
    }
    if (word == "export" || word == "async" || word == "static" || word == "get" || word == "set" || word == "public" ||
        word == "private" || word == "protected") {
      if (line.skip_blanks() > 0) continue;
    }
    line.back(mark);
    break;
  }
  // A method of a class or an object: name(args) {
  if (!indented || !body.ends_with('{')) return std::nullopt;
  line.take("*");
  line.take("#");
  const std::string_view name = line.word();
  if (name.empty() || is_one_of(name, kStatements) || line.peek() != '(') return std::nullopt;
  return whole;
}

Heading shell_heading(std::string_view text) {
  Line line(text);
  line.skip_blanks();
  const std::string_view whole = line.rest();
  const auto opens_body = [&] {
    line.skip_blanks();
    return line.peek() == '{' || line.peek() == '(' || line.take("[[");
  };
  if (line.take("function") && line.skip_blanks() > 0) {
    if (!starts_name(line.peek())) return std::nullopt;
    while (!line.done() && !is_blank(line.peek()) && line.peek() != '(') line.take(line.rest().substr(0, 1));
    line.skip_blanks();
    if (line.take("(")) {
      line.skip_blanks();
      line.take(")");
    }
    return line.done() || opens_body() ? Heading(whole) : std::nullopt;
  }
  line = Line(whole);
  if (!starts_name(line.peek())) return std::nullopt;
  while (!line.done() && (is_word(line.peek()) || line.peek() == '-' || line.peek() == ':')) {
    line.take(line.rest().substr(0, 1));
  }
  line.skip_blanks();
  if (!line.take("(")) return std::nullopt;
  line.skip_blanks();
  if (!line.take(")")) return std::nullopt;
  line.skip_blanks();
  return line.done() || opens_body() ? Heading(whole) : std::nullopt;
}

Heading markdown_heading(std::string_view text) {
  Line line(text);
  const std::string_view whole = line.rest();
  std::size_t indent = 0;
  while (line.take(" ")) ++indent;
  std::size_t level = 0;
  while (line.take("#")) ++level;
  return indent <= 3 && level >= 1 && level <= 6 && is_blank(line.peek()) ? Heading(whole) : std::nullopt;
}

Heading html_heading(std::string_view text) {
  Line line(text);
  line.skip_blanks();
  const std::string_view whole = line.rest();
  if (!line.take("<") || lower(line.peek()) != 'h') return std::nullopt;
  const std::string_view tag = line.word();
  const bool heading = tag.size() == 2 && tag[1] >= '1' && tag[1] <= '6';
  return heading && line.rest().find('>') != line.rest().npos ? Heading(whole) : std::nullopt;
}

Heading css_heading(std::string_view text) {
  std::string_view body = Line(text).rest();
  while (!body.empty() && is_space(body.back())) body.remove_suffix(1);
  if (body.empty() || body.back() == ':' || body.back() == ';') return std::nullopt;
  std::string_view name = body;
  if (std::string_view(":[@.#").find(name[0]) != std::string_view::npos) name.remove_prefix(1);
  return !name.empty() && is_word(name[0]) ? Heading(body) : std::nullopt;
}

/// A target, or a definition of a variable of several lines; not an assignment.
Heading makefile_heading(std::string_view text) {
  const std::string_view whole = Line(text).rest();
  if (whole.empty() || is_space(whole[0]) || whole[0] == '#') return std::nullopt;
  if (whole.starts_with("define ")) return whole;
  const std::size_t colon = whole.find(':');
  if (colon == whole.npos || colon == 0 || whole.find('=') < colon) return std::nullopt;
  const std::string_view behind = whole.substr(colon + 1);
  return behind.starts_with('=') || behind.starts_with(":=") ? std::nullopt : Heading(whole);
}

Heading php_heading(std::string_view text) {
  static constexpr std::string_view kModifiers[] = {"public",   "protected", "private", "static",
                                                    "abstract", "final",     "readonly"};
  static constexpr std::string_view kItems[] = {"function", "class", "enum", "interface", "trait"};
  return keyword_heading(text, kModifiers, kItems);
}

Heading kotlin_heading(std::string_view text) {
  static constexpr std::string_view kModifiers[] = {"public",   "protected",  "private",   "internal", "abstract",
                                                    "final",    "open",       "sealed",    "data",     "inner",
                                                    "enum",     "annotation", "companion", "suspend",  "inline",
                                                    "operator", "override",   "infix",     "tailrec",  "external"};
  static constexpr std::string_view kItems[] = {"fun", "class", "interface", "object"};
  return keyword_heading(text, kModifiers, kItems);
}

Heading swift_heading(std::string_view text) {
  static constexpr std::string_view kModifiers[] = {"public",   "private", "fileprivate", "internal",
                                                    "open",     "static",  "final",       "override",
                                                    "mutating", "class",   "async",       "indirect"};
  static constexpr std::string_view kItems[] = {"func",     "class",     "struct", "enum",
                                                "protocol", "extension", "actor",  "init"};
  return keyword_heading(text, kModifiers, kItems, " \t(");
}

Heading elixir_heading(std::string_view text) {
  static constexpr std::string_view kItems[] = {"defmacro", "defmodule", "defimpl", "defprotocol",
                                                "defp",     "def",       "test"};
  return keyword_heading(text, {}, kItems);
}

Heading perl_heading(std::string_view text) {
  const std::string_view whole = Line(text).rest();
  if (whole.starts_with("=head")) return whole;
  static constexpr std::string_view kItems[] = {"package", "sub", "BEGIN", "END", "INIT"};
  if (whole.empty() || is_blank(whole[0]) || whole.find(';') != whole.npos) return std::nullopt;
  return keyword_heading(whole, {}, kItems, " \t{");
}

Heading lua_heading(std::string_view text) {
  static constexpr std::string_view kModifiers[] = {"local"};
  static constexpr std::string_view kItems[] = {"function"};
  return keyword_heading(text, kModifiers, kItems);
}

Heading ini_heading(std::string_view text) {
  Line line(text);
  line.skip_blanks();
  return line.peek() == '[' ? Heading(line.rest()) : std::nullopt;
}

Heading tex_heading(std::string_view text) {
  Line line(text);
  const std::string_view whole = line.rest();
  if (!line.take("\\")) return std::nullopt;
  while (line.take("sub")) continue;
  static constexpr std::string_view kItems[] = {"section", "paragraph", "chapter", "part"};
  return is_one_of(line.word(), kItems) ? Heading(whole) : std::nullopt;
}

Heading sql_heading(std::string_view text) {
  const std::string_view whole = Line(text).rest();
  static constexpr std::string_view kWords[] = {"create ", "alter "};
  for (const auto word : kWords) {
    if (whole.size() >= word.size() &&
        std::equal(word.begin(), word.end(), whole.begin(), [](char a, char b) { return a == lower(b); })) {
      return whole;
    }
  }
  return std::nullopt;
}

Heading cmake_heading(std::string_view text) {
  static constexpr std::string_view kItems[] = {"function", "macro"};
  return keyword_heading(text, {}, kItems, "( \t");
}

/// Nodes of a device tree; not properties.
Heading dts_heading(std::string_view text) {
  Line line(text);
  line.skip_blanks();
  const std::string_view whole = line.rest();
  if (whole.find(';') != whole.npos || whole.find('=') != whole.npos) return std::nullopt;
  if (whole.starts_with("/ {") || whole.starts_with('&')) return whole;
  return starts_name(line.peek()) && whole.find('{') != whole.npos ? Heading(whole) : std::nullopt;
}

struct Extension {
  std::string_view name;
  Language language;
};
using enum Language;
constexpr Extension kExtensions[] = {
    {"c", cpp},          {"h", cpp},          {"cc", cpp},        {"cpp", cpp},        {"cxx", cpp},
    {"c++", cpp},        {"hh", cpp},         {"hpp", cpp},       {"hxx", cpp},        {"inl", cpp},
    {"ipp", cpp},        {"cu", cpp},         {"py", python},     {"pyi", python},     {"pyx", python},
    {"rs", rust},        {"go", go},          {"java", java},     {"js", javascript},  {"mjs", javascript},
    {"cjs", javascript}, {"jsx", javascript}, {"ts", javascript}, {"mts", javascript}, {"cts", javascript},
    {"tsx", javascript}, {"vue", javascript}, {"rb", ruby},       {"rake", ruby},      {"sh", shell},
    {"bash", shell},     {"zsh", shell},      {"ksh", shell},     {"md", markdown},    {"markdown", markdown},
    {"html", html},      {"htm", html},       {"xhtml", html},    {"css", css},        {"scss", css},
    {"less", css},       {"mk", makefile},    {"mak", makefile},  {"php", php},        {"pl", perl},
    {"pm", perl},        {"cs", csharp},      {"kt", kotlin},     {"kts", kotlin},     {"swift", swift},
    {"lua", lua},        {"ex", elixir},      {"exs", elixir},    {"ini", ini},        {"toml", ini},
    {"cfg", ini},        {"conf", ini},       {"service", ini},   {"tex", tex},        {"sql", sql},
    {"cmake", cmake},    {"dts", dts},        {"dtsi", dts},
};
constexpr Extension kNames[] = {
    {"Makefile", makefile}, {"makefile", makefile}, {"GNUmakefile", makefile}, {"Kbuild", makefile},
    {"Rakefile", ruby},     {"Gemfile", ruby},      {"CMakeLists.txt", cmake},
};

}  // namespace

Language language_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const auto& known : kNames) {
    if (known.name == name) return known.language;
  }
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos || dot == 0) return none;
  for (const auto& known : kExtensions) {
    if (known.name == name.substr(dot + 1)) return known.language;
  }
  return none;
}

Heading heading_of(Language language, std::string_view line) {
  static constexpr std::string_view kPython[] = {"class", "def"};
  static constexpr std::string_view kAsync[] = {"async"};
  static constexpr std::string_view kRuby[] = {"class", "module", "def"};
  switch (language) {
    case none:
      return default_heading(line);
    case cpp:
      return cpp_heading(line);
    case python:
      return keyword_heading(line, kAsync, kPython);
    case rust:
      return rust_heading(line);
    case go:
      return go_heading(line);
    case java:
      return java_heading(line);
    case javascript:
      return javascript_heading(line);
    case ruby:
      return keyword_heading(line, {}, kRuby);
    case shell:
      return shell_heading(line);
    case markdown:
      return markdown_heading(line);
    case html:
      return html_heading(line);
    case css:
      return css_heading(line);
    case makefile:
      return makefile_heading(line);
    case php:
      return php_heading(line);
    case perl:
      return perl_heading(line);
    case csharp:
      return csharp_heading(line);
    case kotlin:
      return kotlin_heading(line);
    case swift:
      return swift_heading(line);
    case lua:
      return lua_heading(line);
    case elixir:
      return elixir_heading(line);
    case ini:
      return ini_heading(line);
    case tex:
      return tex_heading(line);
    case sql:
      return sql_heading(line);
    case cmake:
      return cmake_heading(line);
    case dts:
      return dts_heading(line);
  }
  return std::nullopt;
}

}  // namespace weft::text
