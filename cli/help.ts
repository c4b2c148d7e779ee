import type { Command } from 'commander';
import { InvalidInput } from '../fencing/model/errors.ts';

/**
 * The help of the CLI: the texts after the options in `--help` (examples, the formats of an id, and the exit codes),
 * and the scripts for shell completion. The scripts contain all names, and start no other program.
 */

const MACHINES = [
  'A machine is',
  '  i-0123456789abcdef0                                   on AWS',
  '  /subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Compute/virtualMachines/<name>   on Azure',
  '  projects/<project>/zones/<zone>/instances/<name>      on Google Cloud',
];

const OUTCOMES =
  'Exit codes: 0 done, or nothing to do; 1 failed; 2 wrong usage; 3 still waiting; 4 refused; 130 Ctrl-C';

const examples: Readonly<Record<string, readonly string[]>> = {
  init: [
    'cloudfence init --dry-run                          # shows the file, and writes nothing',
    'cloudfence init --stage prod --context blue --context green',
    'cloudfence init --for cli -o cloudfence.yml',
  ],
  fence: [
    'cloudfence fence i-0123456789abcdef0 --dry-run     # shows the steps, and changes nothing',
    'cloudfence fence ip-10-0-0-11.ec2.internal         # by the name of a Node',
    'cloudfence fence pod/prod/db-0                     # by a pod that cannot move',
  ],
  replay: ['cloudfence replay event.json', 'aws sqs receive-message … | cloudfence replay -'],
  sweep: ['cloudfence sweep --dry-run', 'cloudfence sweep --json'],
  release: [
    'cloudfence release ip-10-0-0-11.ec2.internal',
    'cloudfence release ip-10-0-0-11.ec2.internal --accept "wiped and reinstalled"',
    'cloudfence release --all --dry-run',
  ],
  diagnose: [
    'cloudfence diagnose                                # every pod that waits for a volume',
    'cloudfence diagnose pod/prod/db-0 --json',
    'cloudfence diagnose vol-0123456789abcdef0',
  ],
  status: ['cloudfence status --watch'],
  doctor: [
    'cloudfence doctor --region eu-west-1',
    'cloudfence doctor --test-event cloudfence-prod     # on AWS; docs/cli.md has the other clouds',
  ],
  cap: ['cloudfence cap', 'cloudfence cap --override 30m --reason "zone a is lost, checked in the console"'],
  drill: [
    'cloudfence drill --node ip-10-0-0-11.ec2.internal --dry-run',
    'cloudfence drill --node ip-10-0-0-11.ec2.internal --threshold 2m --output drill.md',
  ],
  report: [
    'cloudfence report --from s3://my-bucket --since 7d --output report.html',
    'cloudfence report ip-10-0-0-11.ec2.internal --from gs://my-bucket --output report.html',
    'cloudfence report --from https://myaccount.blob.core.windows.net/incidents --shadow',
    'cloudfence report --from ./incidents               # a folder with a copy',
  ],
  kubeconfig: ['cloudfence kubeconfig --name prod > cloudfence.kubeconfig'],
  demo: ['cloudfence demo', 'cloudfence demo --cloud azure --scenario return'],
  sandbox: ['cloudfence sandbox', 'cloudfence sandbox stop ip-10-0-0-11.eu-west-1.compute.internal'],
  completion: ['source <(cloudfence completion bash)', 'cloudfence completion fish | source'],
};

/** Commands whose targets are machines. */
const aboutMachines: ReadonlySet<string> = new Set(['fence', 'release', 'diagnose']);

/** Commands that end with the outcome of a fence or a release. */
const withOutcomes: ReadonlySet<string> = new Set(['fence', 'replay', 'sweep', 'release']);

/** Returns the text that follows the options of a command. */
export const helpAfter = (command: string): string =>
  [
    ['', 'Examples:', ...(examples[command] ?? []).map((example) => `  ${example}`)],
    aboutMachines.has(command) ? ['', ...MACHINES] : [],
    withOutcomes.has(command) ? ['', OUTCOMES] : [],
  ]
    .flat()
    .join('\n');

interface CompletedCommand {
  readonly name: string;
  readonly says: string;
  /** The options, such as `--cloud`, with their descriptions. */
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

/** A word that begins with a hyphen is an option. Without a command, the shell completes commands, otherwise files. */
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
          `complete -c cloudfence -n '__fish_seen_subcommand_from ${name}' -l ${option.flag.slice(2)} -d ` +
          quoted(option.says),
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
