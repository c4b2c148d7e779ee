import { pluralize } from '../../fencing/model/reason.ts';
import type { Load } from '../network/scene.ts';
import { type LoadedMachines, openLoadedMachines } from './aws-scene.ts';
import { benched } from './aws-functions.ts';
import { DEFAULT_MEMORY, DEFAULT_SHARE, openCpuShare } from './cpu-share.ts';
import type { Deployed } from './deployed.ts';
import { invokeOnce } from './functions.ts';

/**
 * What one call of the packaged function on AWS does with a whole batch of events about full machines, in a new process
 * with the memory and the share of a core that Lambda gives to it by default.
 */

/** The options with which Lambda starts Node.js: 5 % of the memory for each half of the young objects, 90 % for the old. */
const heapLimits = [
  `--max-semi-space-size=${Math.floor(DEFAULT_MEMORY * 0.05)}`,
  `--max-old-space-size=${Math.floor(DEFAULT_MEMORY * 0.9)}`,
];

const ONE: Load = { pods: 1, volumes: 1 };
const FULL: Load = { pods: 110, volumes: 25 };

const batches = [
  { machines: 1, load: ONE },
  { machines: 1, load: FULL },
  { machines: 10, load: ONE },
  { machines: 10, load: FULL },
] as const;

const eventAbout = (machine: string): object => ({
  source: 'aws.ec2',
  'detail-type': 'EC2 Instance State-change Notification',
  detail: { 'instance-id': machine, state: 'stopped' },
});

const batchAbout = (machines: readonly string[]): object => ({
  Records: machines.map((machine) => ({
    messageId: machine,
    receiptHandle: `receipt-${machine}`,
    attributes: { ApproximateReceiveCount: '1' },
    body: JSON.stringify(eventAbout(machine)),
  })),
});

const leftInWords = ({ pods, volumes }: Load): string =>
  pods + volumes === 0 ? 'everything is free' : `${pluralize(pods, 'pod')} and ${pluralize(volumes, 'volume')} left`;

const playBatch = async (deployed: Deployed, scene: LoadedMachines, through: readonly string[]): Promise<string> => {
  const start = { through, node: heapLimits };
  const { answeredAfterMs, fenceCpuMs, peakRss } = await invokeOnce(
    deployed,
    batchAbout(scene.machines),
    'lambda',
    scene,
    start,
  );
  return (
    `answered after ${(answeredAfterMs / 1_000).toFixed(1)} s, ${leftInWords(scene.left())}, ` +
    `${(fenceCpuMs / 1_000).toFixed(1)} s of the processor, at most ${(peakRss / 1e6).toFixed(0)} MB`
  );
};

export const benchBatch = async (): Promise<void> => {
  const { functions, close } = await benched.packaged();
  const share = await openCpuShare(DEFAULT_SHARE);
  try {
    const deployed = functions.find(({ name }) => name === 'on-event');
    if (!deployed) throw new Error('no function has the name on-event');
    const how = share ? `${DEFAULT_SHARE.toFixed(3)} of a core` : 'a whole core';
    console.log(`on-event on AWS, in a new process with ${how} and the heap limits of ${DEFAULT_MEMORY} MB:`);
    for (const { machines, load } of batches) {
      const scene = await openLoadedMachines(machines, load);
      try {
        const each = `each with ${pluralize(load.pods, 'pod')} and ${pluralize(load.volumes, 'volume')}`;
        const found = await playBatch(deployed, scene, share?.through ?? []);
        console.log(`  ${pluralize(machines, 'machine')}, ${each}: ${found}`);
      } finally {
        await scene.close();
      }
    }
  } finally {
    await share?.close();
    await close();
  }
};
