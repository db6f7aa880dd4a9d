// completion: a script that teaches a shell to ask weft what may stand at the cursor (completion.h).

#include "cli/completion.h"
#include "cli/output.h"
#include "cli/text.h"

namespace weft::cli {

Result<int> cmd_completion(Invocation& invocation) {
  std::string shell;
  Options options("completion", "Prints a script that completes weft's commands, options and names in your shell.");
  options.positional("bash|zsh|fish", shell, "the shell", true);
  options.footer(
      "  bash: source <(weft completion bash), in ~/.bashrc\n"
      "  zsh:  source <(weft completion zsh), in ~/.zshrc behind compinit\n"
      "  fish: weft completion fish | source, in ~/.config/fish/config.fish\n"
      "An installed weft brings these scripts along, and nothing needs to be done.");
  WEFT_DO(options.parse(invocation));
  const std::string_view script = completion_script(shell);
  if (script.empty()) {
    return make_error(Code::usage, "there is no completion for the shell " + quoted_always(shell),
                      "it is one of bash, zsh and fish");
  }
  if (wants_json(invocation)) {
    emit(invocation, Json::object().set("shell", shell).set("script", script));
  } else {
    print(invocation, script);
  }
  return 0;
}

}  // namespace weft::cli
