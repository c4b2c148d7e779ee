import { countedClouds } from '../network/clouds.ts';
import { tracedFence } from '../network/lockstep.ts';
import { fullNode, type Load } from '../network/scene.ts';
import { countsOf, roundsInWords } from '../network/trace.ts';

/** Lists the round trips of a fence on each cloud, cold and warm, and counts those of a full Node. */

const ONE: Load = { pods: 1, volumes: 1 };
const FULL: Load = { pods: 110, volumes: 25 };

const show = async (cloud: string, warm: boolean, load: Load, listed: boolean): Promise<void> => {
  const trace = await tracedFence(await fullNode(cloud, load, Date.UTC(2026, 0, 1)), { warm });
  const { toFirstDelete, toLastDelete, cluster, cloud: calls, kilobytes, ...rest } = countsOf(trace);
  const lines = [
    `${cloud}, ${warm ? 'warm' : 'cold'}, ${load.pods} pods, ${load.volumes} volumes`,
    `  ${toFirstDelete} round trips from the answer that says off to the first deleted pod, ${toLastDelete} to the last`,
    `  ${cluster} calls to the API server, ${calls} to the cloud, ${kilobytes} kB, ${trace.wire.connections} new connections`,
    `  ${rest.perSecondOfWaiting} calls for each second of waiting, and ${rest.afterWaiting} after that`,
    ...(listed ? roundsInWords(trace) : []),
  ];
  console.log(`${lines.join('\n')}\n`);
};

export const benchRounds = async (): Promise<void> => {
  for (const cloud of countedClouds) {
    // The first fence of a process also loads modules, and the wait for them would count as round trips.
    await tracedFence(await fullNode(cloud, ONE, Date.UTC(2026, 0, 1)), { warm: false });
    for (const warm of [false, true]) await show(cloud, warm, ONE, true);
    for (const warm of [false, true]) await show(cloud, warm, FULL, false);
  }
};
