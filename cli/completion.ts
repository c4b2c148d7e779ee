import type { Command, Option } from 'commander';
import { cloudNames } from '../app/clouds.ts';
import { InvalidInput } from '../fencing/model/errors.ts';

/** The scripts for shell completion. They contain all names, and start no other program. */

interface CompletedCommand {
  readonly name: string;
  readonly says: string;
  /** The words that its first argument can be. Empty if it is a name or a file. */
  readonly words: readonly string[];
  readonly options: readonly CompletedOption[];
}

interface CompletedOption {
  /** Such as `--cloud`. */
  readonly flag: string;
  readonly says: string;
  readonly takesValue: boolean;
  /** The values that it accepts. Empty for any other text. */
  readonly values: readonly string[];
}

/** Literals, because their modules load the simulation, and `--help` must not wait for it. */
export const scenarioNames: readonly string[] = ['stopped', 'terminated', 'partition', 'return', 'node-gone'];
const sandboxCommands = ['stop', 'start', 'terminate', 'cut', 'heal', 'allow', 'machines', 'help'];

/** The values of options, and the first words of arguments, that only their command checks. */
const choices = (): Readonly<Record<string, readonly string[]>> => ({
  '--cloud': cloudNames,
  '--scenario': scenarioNames,
  completion: shellNames,
  sandbox: sandboxCommands,
});

const optionIn = ({ long, description, argChoices, required }: Option): readonly CompletedOption[] =>
  typeof long === 'string'
    ? [{ flag: long, says: description, takesValue: required, values: argChoices ?? choices()[long] ?? [] }]
    : [];

const commandsIn = (root: Command): readonly CompletedCommand[] =>
  root.commands.map((command) => ({
    name: command.name(),
    says: command.description(),
    words: choices()[command.name()] ?? [],
    options: command.options.filter(({ hidden }) => !hidden).flatMap((option) => optionIn(option)),
  }));

const offer = (words: readonly string[]): string => `COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$word"))`;

/** What bash offers for the word after an option: its values, or files. */
const bashValues = ({ options }: CompletedCommand): readonly string[] => {
  const free = options.filter(({ takesValue, values }) => takesValue && values.length === 0).map(({ flag }) => flag);
  return [
    ...options.flatMap(({ flag, values }) => (values.length > 0 ? [`${flag}) ${offer(values)} ;;`] : [])),
    ...(free.length > 0 ? [`${free.join('|')}) ;;`] : []),
  ];
};

const bashCommand = (command: CompletedCommand): readonly string[] => [
  `${command.name}) case $before in`,
  ...bashValues(command).map((line) => `  ${line}`),
  `  *) if [[ $word == -* ]]; then ${offer(command.options.map(({ flag }) => flag))}` +
    (command.words.length > 0 ? `; elif [[ $before == ${command.name} ]]; then ${offer(command.words)}` : '') +
    '; fi ;;',
  'esac ;;',
];

/** A word that begins with a hyphen is an option. Without a command, the shell completes commands, otherwise files. */
const bash = (commands: readonly CompletedCommand[]): string => `_cloudfence() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command= one
  for one in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case $one in -*) ;; *) command=$one; break ;; esac
  done
  case $command in
    '') ${offer([...commands.map(({ name }) => name), 'help', '--help', '--version'])} ;;
    help) ${offer(commands.map(({ name }) => name))} ;;
${commands
  .flatMap(bashCommand)
  .map((line) => `    ${line}`)
  .join('\n')}
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

const fishOption = (name: string, { flag, says, takesValue, values }: CompletedOption): string =>
  `complete -c cloudfence -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}${takesValue ? ' -r' : ''}` +
  `${values.length > 0 ? ` -f -a '${values.join(' ')}'` : ''} -d ${quoted(says)}`;

const fishWords = (name: string, words: readonly string[]): readonly string[] =>
  words.length === 0
    ? []
    : [
        `complete -c cloudfence -n '__fish_seen_subcommand_from ${name}; ` +
          `and not __fish_seen_subcommand_from ${words.join(' ')}' -f -a '${words.join(' ')}'`,
      ];

const fish = (commands: readonly CompletedCommand[]): string =>
  commands
    .flatMap(({ name, says, words, options }) => [
      `complete -c cloudfence -n __fish_use_subcommand -f -a ${name} -d ${quoted(says)}`,
      ...fishWords(name, words),
      ...options.map((option) => fishOption(name, option)),
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
