import { pluralize } from '../../fencing/model/reason.ts';
import type { Load } from '../network/scene.ts';
import { type LoadedMachines, openCrowdedScene, openLoadedMachines } from './aws-scene.ts';
import { benched } from './aws-functions.ts';
import { DEFAULT_MEMORY, DEFAULT_SHARE, openCpuShare } from './cpu-share.ts';
import type { Deployed } from './deployed.ts';
import type { FunctionScene } from './function-scene.ts';
import { invokeOnce } from './functions.ts';

/**
 * What the packaged functions on AWS do with a whole batch of events about full machines, with a zone of them whose
 * events are lost, and with a sweep of a large cluster. Each call has a new process, with the memory and the share of a
 * core that Lambda gives by default.
 */

/** How Lambda starts Node.js: 5 % of the memory for each half of the young objects, 90 % for the old ones. */
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

type Call = (deployed: Deployed, event: object, scene: Pick<FunctionScene, 'environment'>) => Promise<string>;

const callThrough =
  (through: readonly string[]): Call =>
  async (deployed, event, scene) => {
    const { answeredAfterMs, fenceCpuMs, peakRss } = await invokeOnce(deployed, event, 'lambda', scene, {
      through,
      node: heapLimits,
    });
    return (
      `answered after ${(answeredAfterMs / 1_000).toFixed(1)} s, ${(fenceCpuMs / 1_000).toFixed(1)} s of the ` +
      `processor, at most ${(peakRss / 1e6).toFixed(0)} MB`
    );
  };

const named = (functions: readonly Deployed[], wanted: string): Deployed => {
  const deployed = functions.find(({ name }) => name === wanted);
  if (!deployed) throw new Error(`no function has the name ${wanted}`);
  return deployed;
};

const withMachines = async (
  machines: number,
  load: Load,
  work: (scene: LoadedMachines) => Promise<void>,
): Promise<void> => {
  const scene = await openLoadedMachines(machines, load);
  try {
    const each = `each with ${pluralize(load.pods, 'pod')} and ${pluralize(load.volumes, 'volume')}`;
    console.log(`  ${pluralize(machines, 'machine')}, ${each}:`);
    await work(scene);
  } finally {
    await scene.close();
  }
};

const playBatches = async (deployed: Deployed, callOnce: Call): Promise<void> => {
  for (const { machines, load } of batches)
    await withMachines(machines, load, async (scene) =>
      console.log(
        `    on-event: ${await callOnce(deployed, batchAbout(scene.machines), scene)}, ${leftInWords(scene.left())}`,
      ),
    );
};

/** Machines whose events are lost. So many runs share one sweep. */
const LOST = 30;
const MOST_SWEEPS = 8;

const playSweeps = (deployed: Deployed, callOnce: Call): Promise<void> =>
  withMachines(LOST, FULL, async (scene) => {
    for (let nth = 1; nth <= MOST_SWEEPS && scene.left().pods + scene.left().volumes > 0; nth += 1)
      console.log(`    sweep ${nth}: ${await callOnce(deployed, {}, scene)}, ${leftInWords(scene.left())}`);
  });

/** The sizes of clusters in which one machine is off and its event is lost. */
const CROWDS = [1_000, 5_000];

const playCrowds = async (deployed: Deployed, callOnce: Call): Promise<void> => {
  for (const others of CROWDS) {
    const scene = await openCrowdedScene(others);
    try {
      console.log(`  one machine among ${others} Nodes with their pods and volumes:`);
      for (const nth of [1, 2])
        console.log(
          `    sweep ${nth}: ${await callOnce(deployed, {}, scene)}, ` +
            `the machine ${scene.isFenced() ? 'is' : 'is not'} fenced`,
        );
    } finally {
      await scene.close();
    }
  }
};

export const benchBatch = async (): Promise<void> => {
  const { functions, close } = await benched.packaged();
  const share = await openCpuShare(DEFAULT_SHARE);
  const callOnce = callThrough(share?.through ?? []);
  const how = share ? `${DEFAULT_SHARE.toFixed(3)} of a core` : 'a whole core';
  console.log(`functions on AWS, each call in a new process with ${how} and the heap limits of ${DEFAULT_MEMORY} MB:`);
  try {
    await playBatches(named(functions, 'on-event'), callOnce);
    await playSweeps(named(functions, 'sweep'), callOnce);
    await playCrowds(named(functions, 'sweep'), callOnce);
  } finally {
    await share?.close();
    await close();
  }
};
