import type { Command } from 'commander';
import { InvalidInput } from '../fencing/model/errors.ts';

/** Scripts with which a shell completes the commands and options of the CLI. They contain the names, and call nothing. */

interface CompletedCommand {
  readonly name: string;
  readonly says: string;
  /** Such as `--cloud`, with what each says. */
  readonly options: readonly { readonly flag: string; readonly says: string }[];
}

const commandsIn = (root: Command): readonly CompletedCommand[] =>
  root.commands.map((command) => ({
    name: command.name(),
    says: command.description(),
    options: command.options.flatMap(({ long, description }) =>
      typeof long === 'string' ? [{ flag: long, says: description }] : [],
    ),
  }));

const flagsOf = ({ options }: CompletedCommand): string => options.map(({ flag }) => flag).join(' ');

/** A word that begins with a hyphen is an option. Without a command, the shell completes commands, else files. */
const bash = (commands: readonly CompletedCommand[]): string => `_cloudfence() {
  local word=\${COMP_WORDS[COMP_CWORD]} command= one
  for one in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $one in -*) ;; *) command=$one; break ;; esac
  done
  case $command in
    '') COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')} --help --version' -- "$word")) ;;
${commands.map((one) => `    ${one.name}) [[ $word == -* ]] && COMPREPLY=($(compgen -W '${flagsOf(one)}' -- "$word")) ;;`).join('\n')}
  esac
}
complete -o default -F _cloudfence cloudfence
`;

const zsh = (
  commands: readonly CompletedCommand[],
): string => `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
autoload -U +X bashcompinit && bashcompinit
${bash(commands)}`;

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;

const fish = (commands: readonly CompletedCommand[]): string =>
  commands
    .flatMap(({ name, says, options }) => [
      `complete -c cloudfence -n __fish_use_subcommand -f -a ${name} -d ${quoted(says)}`,
      ...options.map(
        (option) =>
          `complete -c cloudfence -n '__fish_seen_subcommand_from ${name}' -l ${option.flag.slice(2)} -d ${quoted(option.says)}`,
      ),
    ])
    .map((line) => `${line}\n`)
    .join('');

const shells: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = { bash, zsh, fish };

export const shellNames: readonly string[] = Object.keys(shells);

/**
 * Returns the script for one shell.
 * @throws InvalidInput if the shell is not supported
 */
export const completionScript = (shell: string, root: Command): string => {
  const script = Object.entries(shells).find(([name]) => name === shell)?.[1];
  if (!script) throw new InvalidInput(`"${shell}" is not a supported shell: use one of ${shellNames.join(', ')}`);
  return script(commandsIn(root));
};
