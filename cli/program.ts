import { Command, Option } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { cloudNames } from '../app/clouds.ts';
import { shorten } from '../fencing/model/reason.ts';
import { withSafeLines, type Terminal, readOutputOptions, reportFailure } from './answer.ts';
import { completionScript, scenarioNames, shellNames } from './completion.ts';
import { helpAfter } from './help.ts';
import { collect, nonEmpty, stageName, time } from './option-values.ts';
import type { CapOptions } from './commands/cap.ts';
import type { DemoOptions } from './commands/demo.ts';
import type { DoctorOptions, StatusOptions } from './commands/diagnose.ts';
import type { DrillCommandOptions } from './commands/drill.ts';
import type { InitOptions, KubeconfigOptions } from './commands/init.ts';
import type { ReleaseOptions } from './commands/run.ts';
import type { ReportOptions } from './commands/report.ts';
import type { SandboxOptions } from './commands/sandbox.ts';
import type { CommonOptions } from './session.ts';

/**
 * Adds the options that commands share. Each command is loaded only when it runs, so that `--help` does not wait for a
 * cloud's SDK.
 */
const withCommonOptions = (command: Command): Command =>
  command
    .option('--cloud <name>', 'the cloud of the machines (default: derived from each machine id)', nonEmpty)
    .option('--region <name>', 'the region of the machines', nonEmpty)
    .option('--kubeconfig <file>', 'the kubeconfig of the only cluster to use', nonEmpty)
    .option('--context <name>', 'the context in the kubeconfig', nonEmpty)
    .option('--config <file>', 'the configuration file (default: $CLOUDFENCE_CONFIG)', nonEmpty)
    .option('--dry-run', 'show what the command would do, without changing anything')
    .option('--json', 'print exactly one JSON object')
    .option('--debug', 'also print the stack trace of an error')
    .addOption(new Option('--timeout <time>', 'the time limit, such as 90s').argParser(time).default(600_000, '10m'));

/** The terminal adds the line break itself. */
const withoutTrailingNewline = (text: string): string => text.replace(/\n$/, '');

type Done = (code: number) => void;

const addRunCommands = (root: Command, terminal: Terminal, done: Done): void => {
  const add = (usage: string, description: string) =>
    withCommonOptions(root.command(usage).description(description)).option(
      '--progress',
      'with --json: print JSON lines for steps and waits before the answer',
    );
  add(
    'fence <target>',
    'check one machine, and fence it if it is off. Name it by its id, or by a Node, pod/<ns>/<name>, pvc/…, pv/…, ' +
      'or volume id that leads to it',
  ).action(async (target: string, options: CommonOptions) =>
    done(await (await import('./commands/run.ts')).fence(target, options, terminal)),
  );
  add('replay <file|->', 'process one or more events as if they had just arrived').action(
    async (file: string, options: CommonOptions) =>
      done(await (await import('./commands/run.ts')).replay(file, options, terminal)),
  );
  add('sweep', 'find and process what events missed').action(async (options: CommonOptions) =>
    done(await (await import('./commands/run.ts')).sweep(options, terminal)),
  );
  add(
    'release [target]',
    'release a fence: of a Node, a machine, or a pod/<ns>/<name>, pvc/…, pv/…, or volume id in its record',
  )
    .option('--accept <reason>', 'release without proof, because you checked the machine: say what you checked')
    .option('--all', 'try to release every fence in every cluster, for example before an uninstall')
    .action(async (target: string | undefined, options: ReleaseOptions) =>
      done(await (await import('./commands/run.ts')).release(target, options, terminal)),
    );
};

/** Commands that only read. */
const addReading = (root: Command, terminal: Terminal, done: Done): void => {
  const add = (usage: string, description: string) => withCommonOptions(root.command(usage).description(description));
  add(
    'diagnose [target]',
    'say why a pod waits for its volume: pod/<ns>/<name>, pvc/…, pv/…, node/…, a volume id, or all',
  ).action(async (target: string | undefined, options: CommonOptions) =>
    done(await (await import('./commands/diagnose.ts')).diagnose(target, options, terminal)),
  );
  add('status', 'show every cluster: its fences and what each release still needs, tombstones, the cap, and pauses')
    .option('--watch', 'look again every five seconds, until Ctrl-C')
    .action(async (options: StatusOptions) =>
      done(await (await import('./commands/diagnose.ts')).status(options, terminal)),
    );
  add('doctor', 'check whether a fence would work with this configuration and these credentials')
    .option(
      '--test-event <entrance>',
      'also send a test event to where events enter an install, and wait for its arrival',
      nonEmpty,
    )
    .action(async (options: DoctorOptions) =>
      done(await (await import('./commands/diagnose.ts')).doctor(options, terminal)),
    );
};

const addCap = (root: Command, terminal: Terminal, done: Done): Command =>
  withCommonOptions(root.command('cap').description('show how much of the cap is used, or override the cap for a time'))
    .addOption(
      new Option('--override <time>', 'let fences exceed the cap for this time, such as 30m (at most 24h)').argParser(
        time,
      ),
    )
    .addOption(new Option('--lift <time>', 'the name of --override in version 0.1.0').argParser(time).hideHelp())
    .option('--reason <text>', 'the reason for --override: say what you checked')
    .option('--end', 'end an --override before its time is up')
    .option('--cluster <name>', 'the cluster to use')
    .action(async (options: CapOptions) => done(await (await import('./commands/cap.ts')).cap(options, terminal)));

const addDrill = (root: Command, terminal: Terminal, done: Done): Command =>
  withCommonOptions(
    root
      .command('drill')
      .description('stop the machine of a Node that you have labelled for it, and measure how Cloudfence reacts'),
  )
    .requiredOption(
      '--node <name>',
      'the Node, which has the label cloudfence.node-restriction.kubernetes.io/drill=allowed',
      nonEmpty,
    )
    .option('--yes', 'do not ask for the name of the Node')
    .option('--namespace <name>', 'the namespace of the canary', nonEmpty, 'default')
    .option('--image <image>', 'the image of the canary', nonEmpty, 'registry.k8s.io/pause:3.10')
    .option('--storage-class <name>', 'the StorageClass of its volume (default: that of the cluster)', nonEmpty)
    .option(
      '--suspended-group <name>',
      'a group that you have suspended, so that it does not replace the machine',
      nonEmpty,
    )
    .option('--fence-here', 'fence from this command, where no functions are installed')
    .addOption(new Option('--threshold <time>', 'fail if the recovery takes longer, such as 90s').argParser(time))
    .option('-o, --output <file>', 'also write the report into a file that ends with .md or .json', nonEmpty)
    .action(async (options: DrillCommandOptions) =>
      done(await (await import('./commands/drill.ts')).drill(options, terminal)),
    );

const addReport = (root: Command, terminal: Terminal, done: Done): Command =>
  root
    .command('report [target]')
    .description('tell what happened: one incident by its fence, Node, or machine, or all')
    .option(
      '--from <place>',
      'where the incidents are: a bucket, a container, or a folder (default: `incidents` of the configuration)',
      nonEmpty,
    )
    .option('--region <name>', 'the region of the bucket on AWS', nonEmpty)
    .option('--config <file>', 'the configuration file (default: $CLOUDFENCE_CONFIG)', nonEmpty)
    .addOption(new Option('--since <time>', 'only what happened within this time, such as 7d').argParser(time))
    .option('--shadow', 'only what shadow mode saw, summed up')
    .option(
      '-o, --output <file>',
      'a file that ends with .html, .md or .json, or just html, md or json (default: md)',
      nonEmpty,
    )
    .option('--debug', 'also print the stack trace of an error')
    .addOption(new Option('--timeout <time>', 'how long reading may take').argParser(time).default(600_000, '10m'))
    .action(async (target: string | undefined, options: ReportOptions) =>
      done(await (await import('./commands/report.ts')).report(target, options, terminal)),
    );

const addKubeconfig = (root: Command, terminal: Terminal, done: Done): Command =>
  root
    .command('kubeconfig')
    .description('print a kubeconfig for the service account that infra/kubernetes/rbac.yaml creates')
    .option('--kubeconfig <file>', 'your own kubeconfig, which the command uses to create the token', nonEmpty)
    .option('--context <name>', 'the context in the kubeconfig', nonEmpty)
    .option('--name <name>', 'the name of the cluster in the printed kubeconfig', nonEmpty, 'cluster')
    .option(
      '--server <url>',
      'the URL where the functions reach the API server, if different from your kubeconfig',
      nonEmpty,
    )
    .option('--debug', 'also print the stack trace of an error')
    .addOption(new Option('--timeout <time>', 'how long to wait for the token').argParser(time).default(60_000, '60s'))
    .action(async (options: KubeconfigOptions) =>
      done(await (await import('./commands/init.ts')).kubeconfig(options, terminal)),
    );

const addInit = (root: Command, terminal: Terminal, done: Done): Command =>
  root
    .command('init')
    .description('look at clusters and their cloud, write a stage file for them, and print the remaining steps')
    .option('--kubeconfig <file>', 'the kubeconfig to read', nonEmpty)
    .option('--context <name>', 'a context in the kubeconfig; may be repeated (default: the current one)', collect)
    .option('--all-contexts', 'look at every context of the kubeconfig')
    .option('--cloud <name>', 'the cloud to write for (default: the one of the Nodes)', nonEmpty)
    .addOption(new Option('--stage <name>', 'the stage to deploy').default('prod').argParser(stageName))
    .addOption(
      new Option('--for <reader>', 'who reads the file: the deployed functions, or this CLI')
        .choices(['functions', 'cli'])
        .default('functions'),
    )
    .option(
      '-o, --output <file>',
      'where to write it (default: the stage file, or cloudfence.yml for the CLI)',
      nonEmpty,
    )
    .option('--force', 'replace the file if it exists')
    .option('--dry-run', 'print the file instead of writing it')
    .option('--json', 'print exactly one JSON object')
    .option('--debug', 'also print the stack trace of an error')
    .addOption(new Option('--timeout <time>', 'how long looking may take').argParser(time).default(60_000, '60s'))
    .action(async (options: InitOptions) => done(await (await import('./commands/init.ts')).init(options, terminal)));

const addDemo = (root: Command, terminal: Terminal, done: Done): Command =>
  root
    .command('demo')
    .description('show how Kubernetes handles a dead machine without and with Cloudfence')
    .option('--cloud <name>', `the cloud to simulate: ${cloudNames.join(', ')}`, cloudNames[0])
    .option('--scenario <name>', `the scenario: ${scenarioNames.join(', ')}`, 'stopped')
    .option('--seed <n>', 'the seed of the timing; the result stays the same', '1')
    .option('--without-mark', 'deny Cloudfence the permission to patch Nodes, so that you see the demo fail')
    .option('--json', 'print exactly one JSON object')
    .option('--debug', 'also print the stack trace of an error')
    .action(async (options: DemoOptions) => done(await (await import('./commands/demo.ts')).demo(options, terminal)));

const addSandbox = (root: Command, terminal: Terminal, done: Done): Command =>
  root
    .command('sandbox [command...]')
    .description('serve a simulated cloud and cluster to practise on, or send a command to it, such as `stop <Node>`')
    .option('--cloud <name>', `the cloud to simulate: ${cloudNames.join(', ')}`, cloudNames[0])
    .option(
      '--folder <folder>',
      'where its kubeconfig, variables, and events are written',
      nonEmpty,
      'cloudfence-sandbox',
    )
    .option('--installed', 'also run the functions of Cloudfence, which react to the events')
    .option('--debug', 'also print the stack trace of an error')
    .action(async (words: string[], options: SandboxOptions) =>
      done(await (await import('./commands/sandbox.ts')).sandbox(words, options, terminal)),
    );

const addCompletion = (root: Command, terminal: Terminal, done: Done): Command =>
  root
    .command('completion <shell>')
    .description(`print the script with which a shell completes commands and options: ${shellNames.join(', ')}`)
    .option('--debug', 'also print the stack trace of an error')
    .action((shell: string) => {
      terminal.line(withoutTrailingNewline(completionScript(shell, root)));
      done(0);
    });

/**
 * Longer than any help text (characters). A message quotes arguments, which may be the content of a file by mistake.
 */
const LONGEST = 10_000;

const program = (terminal: Terminal, done: Done): Command => {
  const root = new Command('cloudfence')
    .description('Fences Kubernetes Nodes whose cloud machine is proven off, and releases them after a fresh boot.')
    .version(manifest.version)
    .exitOverride()
    .showHelpAfterError('Add --help to see the arguments, the options, and examples.')
    .configureOutput({
      writeOut: (text) => terminal.line(withoutTrailingNewline(text)),
      writeErr: (text) => terminal.complain(shorten(withoutTrailingNewline(text), LONGEST)),
    });
  addInit(root, terminal, done);
  addRunCommands(root, terminal, done);
  addReading(root, terminal, done);
  addCap(root, terminal, done);
  addDrill(root, terminal, done);
  addReport(root, terminal, done);
  addKubeconfig(root, terminal, done);
  addDemo(root, terminal, done);
  addSandbox(root, terminal, done);
  addCompletion(root, terminal, done);
  for (const command of root.commands) command.addHelpText('after', helpAfter(command.name()));
  return root;
};

/** Runs the command that the arguments name, without the name of the program. Returns the exit code. */
export const runCommand = async (args: readonly string[], bare: Terminal): Promise<number> => {
  const terminal = withSafeLines(bare);
  let exitCode = 0;
  try {
    await program(terminal, (code) => {
      exitCode = code;
    }).parseAsync(args, { from: 'user' });
  } catch (error) {
    return reportFailure(error, readOutputOptions(args), terminal);
  }
  return exitCode;
};
