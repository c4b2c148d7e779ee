import { aimsOf } from './aims.ts';
import { benchedClouds, loadBenched } from './clouds.ts';
import { functionAims, functionTable } from './function-table.ts';
import { measureFunctions } from './functions.ts';
import { measure, type Measured } from './measure.ts';
import { questions } from './scenes.ts';
import { grouped, tableOf } from './table.ts';

/**
 * Measures the cost of one fence from the instance ID alone, and of one sweep, in clusters of three sizes: the real
 * adapters and SDKs in their own process, with the sandbox behind real sockets. Then measures the size of the packaged
 * functions. Reports whether the aims are met.
 */

const SIZES = [10, 1_000, 5_000] as const;

const measureClusters = async (): Promise<void> => {
  const aims: string[] = [];
  for (const question of questions) {
    const all: Measured[] = [];
    for (const nodes of SIZES) all.push(await measure(question, nodes));
    console.log(`${tableOf(question.asks, all)}\n`);
    aims.push(...aimsOf(question, all));
  }
  console.log([`At ${SIZES.map(grouped).join(', ')} nodes:`, ...aims].join('\n'));
};

export const benchSizes = async (): Promise<void> => {
  await measureClusters();
  for (const name of benchedClouds) {
    const cloud = await loadBenched(name);
    const functions = await measureFunctions(cloud);
    console.log(`\n${[functionTable(cloud.title, functions), '', ...functionAims(functions, cloud.aims)].join('\n')}`);
  }
};
