#include "work/wildmatch.h"

#include <algorithm>
#include <vector>

namespace weft::work {
namespace {

bool is_special(unsigned char c) { return c == '*' || c == '?' || c == '[' || c == '\\'; }

// ASCII only and independent of the locale, as git's own ctype is.
bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
bool is_upper(unsigned char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(unsigned char c) { return c >= 'a' && c <= 'z'; }
bool is_alpha(unsigned char c) { return is_upper(c) || is_lower(c); }
bool is_alnum(unsigned char c) { return is_alpha(c) || is_digit(c); }
bool is_space(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_print(unsigned char c) { return c >= 0x20 && c <= 0x7e; }

unsigned char to_lower(unsigned char c) { return is_upper(c) ? static_cast<unsigned char>(c + ('a' - 'A')) : c; }
unsigned char to_upper(unsigned char c) { return is_lower(c) ? static_cast<unsigned char>(c - ('a' - 'A')) : c; }

/// nullopt-like result: -1 for an unknown class name.
int in_class(ByteView name, unsigned char c, bool fold_case) {
  if (name == "alnum") return is_alnum(c);
  if (name == "alpha") return is_alpha(c);
  if (name == "blank") return c == ' ' || c == '\t';
  if (name == "cntrl") return c < 0x20 || c == 0x7f;
  if (name == "digit") return is_digit(c);
  if (name == "graph") return is_print(c) && !is_space(c);
  if (name == "lower") return is_lower(c);
  if (name == "print") return is_print(c);
  if (name == "punct") return is_print(c) && !is_alnum(c) && c != ' ';
  if (name == "space") return is_space(c);
  if (name == "upper") return is_upper(c) || (fold_case && is_lower(c));
  if (name == "xdigit") return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  return -1;
}

class Matcher {
 public:
  Matcher(ByteView pattern, ByteView text, bool pathname, bool fold_case)
      : pattern_(pattern), text_(text), pathname_(pathname), fold_case_(fold_case) {}

  bool run() { return match(0, 0) == kMatch; }

 private:
  /// kAbortAll: the text ran out, so no longer reach of any star before can help. kAbortToStarStar: a '/' stopped a
  /// single star, so only a `**` before it can still help.
  enum Outcome : std::uint8_t { kUnknown = 0, kMatch, kNoMatch, kAbortAll, kAbortToStarStar };

  /// Both strings are read as if a NUL stood behind them. The text is folded wherever it is looked at, the pattern only
  /// where literal() is.
  unsigned char p(std::size_t at) const { return at < pattern_.size() ? static_cast<unsigned char>(pattern_[at]) : 0; }
  unsigned char t(std::size_t at) const {
    if (at >= text_.size()) return 0;
    const auto c = static_cast<unsigned char>(text_[at]);
    return fold_case_ ? to_lower(c) : c;
  }
  unsigned char literal(std::size_t at) const { return fold_case_ ? to_lower(p(at)) : p(at); }

  /// match() with memory. Remembering starts late because ordinary matches make a handful of calls.
  Outcome remembered(std::size_t pi, std::size_t ti) {
    constexpr std::size_t kCallsBeforeRemembering = 256;
    if (++calls_ < kCallsBeforeRemembering) return match(pi, ti);
    if (memory_.empty()) memory_.resize((pattern_.size() + 1) * (text_.size() + 1), kUnknown);
    std::uint8_t& slot = memory_[pi * (text_.size() + 1) + ti];
    if (slot == kUnknown) {
      const Outcome outcome = match(pi, ti);
      slot = outcome;
      return outcome;
    }
    return static_cast<Outcome>(slot);
  }

  Outcome match(std::size_t pi, std::size_t ti) {
    const std::size_t begin = pi;
    for (; p(pi) != 0; ++pi, ++ti) {
      if (++steps_ > kMaxMatchSteps) return kAbortAll;
      if (t(ti) == 0 && p(pi) != '*') return kAbortAll;
      switch (p(pi)) {
        case '?':
          if (pathname_ && t(ti) == '/') return kNoMatch;
          break;
        case '[': {
          const Outcome outcome = match_class(pi, t(ti));
          if (outcome != kMatch) return outcome;
          break;
        }
        case '*': {
          const Outcome outcome = match_star(begin, pi, ti);
          if (outcome != kUnknown) return outcome;
          break;  // `*` before '/': both stand on that slash now
        }
        case '\\':
          ++pi;  // a pattern that ends here compares with NUL and fails
          if (p(pi) != t(ti)) return kNoMatch;
          break;
        default:
          if (literal(pi) != t(ti)) return kNoMatch;
      }
    }
    return t(ti) != 0 ? kNoMatch : kMatch;
  }

  /// kUnknown: go on behind pi and ti, which stand on a matched '/'.
  Outcome match_star(std::size_t begin, std::size_t& pi, std::size_t& ti) {
    const std::size_t first = pi;
    bool match_slash = !pathname_;
    if (p(++pi) == '*') {
      while (p(pi) == '*') ++pi;
      const bool after_slash = first == begin || p(first - 1) == '/';
      const bool before_slash = p(pi) == 0 || p(pi) == '/' || (p(pi) == '\\' && p(pi + 1) == '/');
      if (pathname_ && after_slash && before_slash) {
        // A row of them is as one, and as deep a recursion.
        while (pattern_.substr(std::min(pi, pattern_.size())).starts_with("/**/")) pi += 3;
        // `**/` may also stand for nothing.
        if (p(pi) == '/' && remembered(pi + 1, ti) == kMatch) return kMatch;
        match_slash = true;
      }
    }
    if (p(pi) == 0) {
      if (!match_slash && text_.find('/', std::min(ti, text_.size())) != ByteView::npos) return kNoMatch;
      return kMatch;
    }
    if (!match_slash && p(pi) == '/') {
      const std::size_t slash = text_.find('/', std::min(ti, text_.size()));
      if (slash == ByteView::npos) return kNoMatch;
      ti = slash;
      return kUnknown;
    }
    while (t(ti) != 0) {
      if (++steps_ > kMaxMatchSteps) return kAbortAll;
      if (!is_special(p(pi))) {
        while (t(ti) != 0 && t(ti) != literal(pi) && (match_slash || t(ti) != '/')) ++ti;
        if (t(ti) != literal(pi)) return kNoMatch;
      }
      const Outcome outcome = remembered(pi, ti);
      if (outcome != kNoMatch) {
        if (!match_slash || outcome != kAbortToStarStar) return outcome;
      } else if (!match_slash && t(ti) == '/') {
        return kAbortToStarStar;
      }
      ++ti;
    }
    return kAbortAll;
  }

  /// kMatch leaves pi on the closing ']'.
  Outcome match_class(std::size_t& pi, unsigned char c) const {
    unsigned char current = p(++pi);
    const bool negated = current == '!' || current == '^';
    if (negated) current = p(++pi);
    unsigned char previous = 0;  // of a range; 0 after a range or class, which cannot begin one
    bool matched = false;
    do {
      if (current == 0) return kAbortAll;
      if (current == '\\') {
        current = p(++pi);
        if (current == 0) return kAbortAll;
        if (c == current) matched = true;
      } else if (current == '-' && previous != 0 && p(pi + 1) != 0 && p(pi + 1) != ']') {
        current = p(++pi);
        if (current == '\\') {
          current = p(++pi);
          if (current == 0) return kAbortAll;
        }
        if (c <= current && c >= previous) matched = true;
        if (fold_case_ && to_upper(c) <= current && to_upper(c) >= previous) matched = true;
        current = 0;
      } else if (current == '[' && p(pi + 1) == ':') {
        const std::size_t name = pi + 2;
        std::size_t end = name;
        while (p(end) != 0 && p(end) != ']') ++end;
        if (p(end) == 0) return kAbortAll;
        if (end == name || p(end - 1) != ':') {
          if (c == '[') matched = true;  // no ":]": an ordinary '['
        } else {
          pi = end;
          const int inside = in_class(pattern_.substr(name, end - 1 - name), c, fold_case_);
          if (inside < 0) return kAbortAll;
          if (inside > 0) matched = true;
          current = 0;
        }
      } else if (c == current) {
        matched = true;
      }
      previous = current;
      current = p(++pi);
    } while (current != ']');
    if (matched == negated || (pathname_ && c == '/')) return kNoMatch;
    return kMatch;
  }

  const ByteView pattern_;
  const ByteView text_;
  const bool pathname_;
  const bool fold_case_;
  std::size_t calls_ = 0;
  std::size_t steps_ = 0;
  std::vector<std::uint8_t> memory_;
};

}  // namespace

bool wildmatch(ByteView pattern, ByteView text, bool pathname, bool fold_case) {
  return Matcher(pattern, text, pathname, fold_case).run();
}

std::size_t literal_prefix_length(ByteView pattern) {
  std::size_t length = 0;
  while (length < pattern.size() && !is_special(static_cast<unsigned char>(pattern[length]))) ++length;
  return length;
}

}  // namespace weft::work
