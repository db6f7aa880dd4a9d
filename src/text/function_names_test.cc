// Headings of hunks: each language by example, and against git's own drivers where git has one.
#include "text/function_names.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/testing/temp_dir.h"
#include "text/unified.h"

namespace weft::text {
namespace {

struct Example {
  std::string_view path;
  std::vector<std::string_view> names, other;
};

const std::vector<Example>& examples() {
  static const std::vector<Example> kExamples = {
      {"a.cc",
       {"int main(void) {", "class Thing final : public Base {", "::weft::Id f();", "namespace weft {", "_x()",
        "Thing::~Thing() {", "case_of(x):y"},
       {"  int local;", "public:", "out:  // label", "label: /* here */", "#include <x>", "{", "", "}", "// text"}},
      {"a.py",
       {"def f(x):", "  async def g():", "class A:", "\tdef h(self):", "class A(B):"},
       {"define(x)", "# def f", "return x", "async with x:", "classes = 1", ""}},
      {"a.rs",
       {"fn main() {", "pub fn x<T>(a: T) {", "    pub(crate) async unsafe fn y() {", "impl<T> A for B<T> {",
        "pub struct S {", "extern \"C\" fn z() {", "macro_rules! m {", "const fn c() -> u8 {", "trait T {",
        "pub mod m {"},
       {"let x = 1;", "fn declared();", "use a::b;", "struct S;", "function()", "pub use x;", ""}},
      {"a.go",
       {"func main() {", "func (t *T) M() error {", "type T struct {", "type I interface {"},
       {"type T int", "var x = 1", "functional := 1", "package main", ""}},
      {"A.java",
       {"public class A extends B {", "    private static final int f(int a) {", "interface I {",
        "  void g(Map<K, V> m)", "    public enum E {", "record R(int a) {"},
       {"    return f(a);", "    if (x) {", "    else if (x) {", "    new Thing(a)", "    int a = 1;", "    call(x);",
        ""}},
      {"a.ts",
       {"function f() {", "export default async function g() {", "class A {", "export const h = (x) => {",
        "  method(a: number) {", "  async get(x) {", "interface I {", "export abstract class B {"},
       {"  if (x) {", "  for (;;) {", "  return f(x);", "const x = 1;", "import a from 'b';", "}",
        "  const inner = () => {", ""}},
      {"a.rb", {"def f", "  def self.g(x)", "class A < B", "module M"}, {"define :x", "end", "x = 1", ""}},
      {"a.sh",
       {"f() {", "function g {", "  h ()", "function i() {", "name-with() {"},
       {"f $x", "if x; then", "echo f()", "", "x=$(f)"}},
      {"a.md", {"# Title", "## Part two", "   ### Three"}, {"#no", "text", "    # code", "####### seven", ""}},
      {"a.html", {"<h1>Title</h1>", "  <H2 class=\"x\">Two</H2>"}, {"<header>", "<p>text</p>", "<h7>", ""}},
      {"a.css",
       {".rule {", "@media print {", "#id,", "a:hover {", "[href] {"},
       {"  color: red;", "}", "color: red;", ""}},
      {"Makefile",
       {"all: a b", "%.o: %.c", ".PHONY: x", "define RULE"},
       {"\tcc $<", "X = a:b", "X := y", "X ::= z", "# c:", ""}},
      {"a.php",
       {"function f() {", "  public static function g() {", "final class A {"},
       {"$x = function() {};", "return;"}},
      {"a.pl", {"sub f {", "package A::B {", "=head1 NAME"}, {"my $x;", "  sub inner", "package A;", ""}},
      {"a.cs",
       {"public class A {", "    private int F(int a)", "namespace N {"},
       {"    return F(a);", "    foreach (x) {", ""}},
      {"a.kt", {"fun f() {", "data class A(val b: Int)", "  private suspend fun g() {"}, {"val x = 1", "if (x) {", ""}},
      {"a.swift", {"func f() {", "public final class A {", "  init(x: Int) {"}, {"let x = 1", "return", ""}},
      {"a.lua", {"function f()", "local function g()"}, {"local x = 1", "end", ""}},
      {"a.ex", {"defmodule A do", "  def f(x) do", "  defp g do"}, {"default x", "end", ""}},
      {"a.toml", {"[section]", "  [[array]]"}, {"key = 1", "# c", ""}},
      {"a.tex", {"\\section{A}", "\\subsubsection{B}", "\\chapter{C}"}, {"\\textbf{x}", "text", ""}},
      {"a.sql", {"CREATE TABLE x (", "alter table y"}, {"select 1", "created", ""}},
      {"CMakeLists.txt", {"function(f a)", "macro (m)"}, {"set(x y)", "endfunction()", ""}},
      {"a.dts", {"/ {", "  uart0: serial@1 {", "&i2c {"}, {"reg = <1>;", "status;", ""}},
      {"plain", {"word", "_x", "$y"}, {" x", "#", "", "1"}},
  };
  return kExamples;
}

TEST(FunctionNames, ByExample) {
  for (const auto& example : examples()) {
    const Language language = language_of(example.path);
    for (const auto line : example.names) EXPECT_TRUE(heading_of(language, line)) << example.path << ": " << line;
    for (const auto line : example.other) EXPECT_FALSE(heading_of(language, line)) << example.path << ": " << line;
  }
}

TEST(FunctionNames, LanguagesByName) {
  EXPECT_EQ(language_of("src/a.b.cc"), Language::cpp);
  EXPECT_EQ(language_of("x/Makefile"), Language::makefile);
  EXPECT_EQ(language_of("Makefile.cc"), Language::cpp);
  EXPECT_EQ(language_of(".py"), Language::none);
  EXPECT_EQ(language_of("a.cc/b"), Language::none);
  EXPECT_EQ(language_of(""), Language::none);
}

TEST(FunctionNames, AnyBytesAreALine) {
  std::mt19937 random(20240611);
  static constexpr std::string_view kBytes =
      "abcfn def(){}[]<>#:;=.\"\t\r\\&*@/-_ \xff\x80"
      "1";
  for (int round = 0; round < 20'000; ++round) {
    std::string line;
    for (std::size_t size = random() % 24; size > 0; --size) line += kBytes[random() % kBytes.size()];
    for (int language = 0; language <= static_cast<int>(Language::dts); ++language) {
      const auto heading = heading_of(static_cast<Language>(language), line);
      if (heading) {
        EXPECT_NE(line.find(*heading), std::string::npos);
        EXPECT_FALSE(heading->empty());
      }
    }
  }
}

/// What git with its driver puts behind @@ when the line in question is the last of many lines above a change.
class DriversOfGit : public ::testing::Test {
 protected:
  std::string run(const std::string& command) {
    std::FILE* pipe = ::popen(("cd '" + dir_.path() + "' && " + command).c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::string out;
    std::array<char, 4096> piece{};
    for (std::size_t got; (got = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) out.append(piece.data(), got);
    ::pclose(pipe);
    return out;
  }
  void write(const std::string& name, const std::string& content) {
    std::ofstream(dir_ / name, std::ios::binary) << content;
  }
  TempDir dir_;
};

TEST_F(DriversOfGit, AgreeOnHeadings) {
  struct Driver {
    std::string_view path, driver;
  };
  static constexpr Driver kDrivers[] = {
      {"a.cc", "cpp"},  {"a.py", "python"}, {"a.rs", "rust"},     {"a.go", "golang"}, {"A.java", "java"},
      {"a.rb", "ruby"}, {"a.sh", "bash"},   {"a.md", "markdown"}, {"a.html", "html"}, {"a.css", "css"},
      {"a.php", "php"}, {"a.pl", "perl"},   {"a.kt", "kotlin"},   {"a.ex", "elixir"}, {"a.tex", "tex"},
  };
  // Where we mean to do better than a pattern of one line can: words that only begin like keywords, several modifiers,
  // names with a dash.
  static constexpr std::string_view kOurOwn[] = {
      "    pub(crate) async unsafe fn y() {",
      "functional := 1",
      "    else if (x) {",
      "f() {",
      "name-with() {",
      "package A;",
  };
  const std::string quiet = "GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent LC_ALL=C git ";
  run(quiet + "init -q .");
  std::string attributes;
  for (const auto& driver : kDrivers)
    attributes += std::string(driver.path) + " diff=" + std::string(driver.driver) + "\n";
  write(".gitattributes", attributes);
  std::size_t asked = 0;
  for (const auto& driver : kDrivers) {
    // One file: each example, far enough from the next to be a hunk of its own.
    std::string before, after;
    for (const auto& example : examples()) {
      if (example.path != driver.path) continue;
      for (const auto* lines : {&example.names, &example.other}) {
        for (const auto line : *lines) {
          if (std::find(std::begin(kOurOwn), std::end(kOurOwn), line) != std::end(kOurOwn)) continue;
          const std::string padding = std::string(line) + "\n  1\n  2\n  3\n  4\n";
          before += padding + "  old\n  5\n  6\n  7\n  8\n";
          after += padding + "  new\n  5\n  6\n  7\n  8\n";
          ++asked;
        }
      }
    }
    const std::string name(driver.path);
    write(name, before);
    run(quiet + "add " + name);
    write(name, after);
    std::vector<std::string> theirs, ours;
    const std::string patch = run(quiet + "diff " + name);
    for (const auto line : split_lines(patch)) {
      if (line.starts_with("@@")) theirs.emplace_back(line.substr(0, line.size() - 1));
    }
    UnifiedOptions options;
    options.language = language_of(name);
    for (const auto& line : unified_diff(before, after, options)) {
      if (line.kind == UnifiedLine::Kind::header) ours.push_back(line.text);
    }
    EXPECT_EQ(ours, theirs) << name;
  }
  EXPECT_GT(asked, 100U);
}

}  // namespace
}  // namespace weft::text
