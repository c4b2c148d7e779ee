import { aimsOf } from './aims.ts';
import { benchedClouds } from './clouds.ts';
import { functionAims, functionTable } from './function-table.ts';
import { measureFunctions } from './functions.ts';
import { measure, type Measured } from './measure.ts';
import { questions } from './scenes.ts';
import { grouped, tableOf } from './table.ts';

/**
 * What one fence from the instance id alone, and one sweep, cost in clusters of three sizes: the real adapters and SDKs
 * in a process of their own, against the sandbox behind real sockets. Then, what the packaged functions weigh. Says
 * whether the aims are met, and fails for nothing but a bench that does not work.
 */

const SIZES = [10, 1_000, 5_000] as const;

const aims: string[] = [];
for (const question of questions) {
  const all: Measured[] = [];
  for (const nodes of SIZES) all.push(await measure(question, nodes));
  console.log(`${tableOf(question.asks, all)}\n`);
  aims.push(...aimsOf(question, all));
}
console.log([`At ${SIZES.map(grouped).join(', ')} nodes:`, ...aims].join('\n'));

for (const load of Object.values(benchedClouds)) {
  const cloud = await load();
  const functions = await measureFunctions(cloud);
  console.log(`\n${[functionTable(cloud.title, functions), '', ...functionAims(functions, cloud.aims)].join('\n')}`);
}
