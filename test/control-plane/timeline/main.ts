import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Testbed } from '../../testbed/testbed-at.ts';
import { testbedAt } from '../../testbed/testbed-at.ts';
import type { TestbedAccess } from '../../testbed/installation.ts';
import { runAtHand } from '../entry-points/programs.ts';
import { aimsOf, inWords } from './aims.ts';
import { documentOf, othersPart } from './doc.ts';
import { loadNow, machineNow, versionsOf } from './machine.ts';
import { playFast, playSizes, playSlow } from './measure.ts';
import { reportLines } from './reading.ts';
import type { Report } from './report.ts';
import { sizeTable } from './sizes.ts';
import { asText, recoveryTable } from './table.ts';
import { readOptions } from '../../script-options.ts';
import { startOn, startWholeRun, type Installed } from '../../testbed/whole-run.ts';

/**
 * Plays the same crash with every remedy that people use, prints the phases next to each other, and writes
 * docs/recovery.md from the measurement. Reports whether the aims are met. Fails only if the measurement itself fails.
 */

const USAGE = `npm run e2e:timeline -- [options]
  --long              wait for all of Kubernetes' own timers
  --runs N            measure each remedy so many times (7)
  --nodes N           measure also in a cluster of so many Nodes (5000)`;

const asked = readOptions(USAGE, {
  long: { type: 'boolean', default: false },
  runs: { type: 'string', default: '7' },
  nodes: { type: 'string', default: '5000' },
});

/** Kubernetes' own timers are over after 620 s. */
const patience = asked.long ? 620 : 90;
const runs = Number(asked.runs);
const sizes = [10, Number(asked.nodes)];
const document = fileURLToPath(new URL('../../../docs/recovery.md', import.meta.url));

/** The crowd has no kubelets. The controller manager should finish with it soon, and not wait for its kubelets. */
const WITH_A_CROWD = ['--kube-api-qps', '1000', '--kube-api-burst', '2000', '--node-monitor-grace-period', '24h'];

/**
 * There are two Nodes here at a time, and each crash fences another one. Within 15 minutes, those are more than the
 * cluster has.
 */
const overrideCap = async (access: TestbedAccess): Promise<void> => {
  const asAdmin = { ...access, kubeconfigs: { ...access.kubeconfigs, cloudfence: access.kubeconfigs.admin } };
  const { code, stderr } = await runAtHand(asAdmin, [
    'cap',
    '--override',
    '6h',
    '--reason',
    'one crash after the other',
  ]);
  if (code !== 0) throw new Error(`the cap could not be overridden: ${stderr}`);
};

const on = async <T>({ access, stop }: Installed, work: (testbed: Testbed) => Promise<T>): Promise<T> => {
  const testbed = await testbedAt(access);
  try {
    await overrideCap(access);
    return await work(testbed);
  } finally {
    await testbed.close();
    await stop('remove');
  }
};

const measure = async (): Promise<Report> => {
  const before = loadNow();
  const run = await startWholeRun();
  try {
    const rows = await on(run, async (testbed) => {
      const fast = await playFast(testbed, runs);
      return { versions: await versionsOf(testbed.admin), all: [...(await playSlow(testbed, patience)), ...fast] };
    });
    const measured = await on(await startOn(run.access.aws, WITH_A_CROWD), (testbed) =>
      playSizes(testbed, { sizes, timed: runs, counted: 3 }),
    );
    const command = ['npm run e2e:timeline', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(
      ' ',
    );
    return {
      machine: machineNow(before, rows.versions),
      command,
      date: new Date().toISOString().slice(0, 10),
      patience,
      rows: rows.all,
      sizes: measured,
    };
  } finally {
    await run.stopAws();
  }
};

const report = await measure();
await writeFile(document, `${documentOf(report)}${othersPart(await readFile(document, 'utf8'))}`);
console.log(
  [
    asText(recoveryTable(report)),
    asText(sizeTable(report.sizes)),
    aimsOf(report).map(inWords).join('\n'),
    reportLines(report).join('\n'),
    'docs/recovery.md is written',
  ]
    .map((part) => `\n${part}`)
    .join('\n'),
);
