import { Command, InvalidArgumentError, Option } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { parseDuration } from '../config/schema.ts';
import type { Output } from './answer.ts';
import { askedIn, fail } from './failure.ts';
import type { CapOptions } from './commands/cap.ts';
import type { DemoOptions } from './commands/demo.ts';
import type { KubeconfigOptions } from './commands/kubeconfig.ts';
import type { ReleaseOptions } from './commands/release.ts';
import type { CommonOptions } from './session.ts';

const output: Output = { line: (text) => console.log(text), complain: (text) => console.error(text) };

const time = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError('write a number and ms, s, m or h, such as 90s.');
  return ms;
};

/**
 * Rejects an empty value of an option. A person who gives an option never means an empty value, even if a variable in a
 * script turned out to be empty.
 */
const given = (text: string): string => {
  if (text.trim() === '') throw new InvalidArgumentError('It is empty: leave the option out, or say what you mean.');
  return text;
};

/**
 * Adds the options that commands share. Each command is loaded only when it runs, so that `--help` does not wait for a
 * cloud's SDK.
 */
const withCommonOptions = (command: Command): Command =>
  command
    .option('--cloud <name>', 'the cloud whose machines are meant (default: as each machine tells)', given)
    .option('--region <name>', 'the region of the machines', given)
    .option('--kubeconfig <file>', 'the kubeconfig of the one cluster that is meant', given)
    .option('--context <name>', 'the context in it', given)
    .option('--config <file>', 'the configuration file (default: $CLOUDFENCE_CONFIG)', given)
    .option('--dry-run', 'look, decide and say, but change nothing')
    .option('--json', 'print exactly one JSON object')
    .option('--debug', 'of an error, print how it came about too')
    .addOption(
      new Option('--timeout <time>', 'how long to go on, such as 90s').argParser(time).default(600_000, '10m'),
    );

type Done = (code: number) => void;

const addLoop = (root: Command, done: Done): void => {
  const add = (usage: string, description: string) => withCommonOptions(root.command(usage).description(description));
  add('fence <instance-id|node>', 'look at one machine now, and fence it if it is off').action(
    async (target: string, options: CommonOptions) =>
      done(await (await import('./commands/fence.ts')).fence(target, options, output)),
  );
  add('replay <file|->', 'take an event, or many, as if it had just arrived').action(
    async (file: string, options: CommonOptions) =>
      done(await (await import('./commands/replay.ts')).replay(file, options, output)),
  );
  add('sweep', 'find what events missed').action(async (options: CommonOptions) =>
    done(await (await import('./commands/sweep.ts')).sweep(options, output)),
  );
  add('release [node]', 'take a fence back')
    .option('--accept <reason>', 'vouch for the machine yourself: say what you checked')
    .option('--all', 'every fence of every cluster, before an uninstall')
    .action(async (node: string | undefined, options: ReleaseOptions) =>
      done(await (await import('./commands/release.ts')).release(node, options, output)),
    );
  add('doctor', 'say in words whether a fence would work from here').action(async (options: CommonOptions) =>
    done(await (await import('./commands/doctor.ts')).doctor(options, output)),
  );
};

const addCap = (root: Command, done: Done): Command =>
  withCommonOptions(
    root.command('cap').description('show how much of a cluster was fenced lately, and lift the limit for a while'),
  )
    .addOption(
      new Option('--lift <time>', 'let every fence begin for so long, such as 30m; 24h at most').argParser(time),
    )
    .option('--reason <text>', 'why it is lifted: say what you checked')
    .option('--end', 'take a lift back')
    .option('--cluster <name>', 'the one cluster that is meant')
    .action(async (options: CapOptions) => done(await (await import('./commands/cap.ts')).cap(options, output)));

const addKubeconfig = (root: Command, done: Done): Command =>
  root
    .command('kubeconfig')
    .description('print a kubeconfig of the service account that infra/kubernetes/rbac.yaml makes')
    .option('--kubeconfig <file>', 'your own kubeconfig, with which the token is made', given)
    .option('--context <name>', 'the context in it', given)
    .option('--name <name>', 'what the cluster is to be called', given, 'cluster')
    .option('--server <url>', 'where the functions reach the API server, if not where you do', given)
    .option('--debug', 'of an error, print how it came about too')
    .addOption(new Option('--timeout <time>', 'how long to wait for the token').argParser(time).default(60_000, '60s'))
    .action(async (options: KubeconfigOptions) =>
      done(await (await import('./commands/kubeconfig.ts')).kubeconfig(options, output)),
    );

const addDemo = (root: Command, done: Done): Command =>
  root
    .command('demo')
    .description('play what Kubernetes does about a dead machine alone, and what with Cloudfence')
    .option('--cloud <name>', 'where it plays: aws (if not said), azure or gcp')
    .option('--scenario <name>', 'stopped, terminated, partition, return or node-gone', 'stopped')
    .option('--seed <n>', 'other timings, the same ends', '1')
    .option('--without-mark', 'do not allow Cloudfence to patch Nodes, to see the demo fail')
    .option('--json', 'print exactly one JSON object')
    .option('--debug', 'of an error, print how it came about too')
    .action(async (options: DemoOptions) => done(await (await import('./commands/demo.ts')).demo(options, output)));

const program = (done: Done): Command => {
  const root = new Command('cloudfence')
    .description('Fences Kubernetes nodes whose cloud machine is provably off, and takes it back after a fresh boot.')
    .version(manifest.version)
    .exitOverride();
  addLoop(root, done);
  addCap(root, done);
  addKubeconfig(root, done);
  addDemo(root, done);
  return root;
};

const end = (error: unknown): number => fail(error, askedIn(process.argv), output);

/** Ignores a reader that closes the pipe, as `| head` does. A fence in progress continues in any case. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Ends the process after an error that no command awaited, because nothing is known about the state that it left. */
process.once('uncaughtException', (error) => process.exit(end(error)));

try {
  await program((code) => {
    process.exitCode = code;
  }).parseAsync();
} catch (error) {
  process.exitCode = end(error);
}
