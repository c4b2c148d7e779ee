import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Cloud } from '../../../fencing/model/cloud.ts';
import { CloudfenceError } from '../../../fencing/model/errors.ts';
import { gcpCloud } from '../../../providers/gcp/index.ts';
import { computeClients } from '../../../providers/gcp/client.ts';
import { handleGce } from '../../../sandbox/gce/rest.ts';
import { addDisk, addInstance } from '../../../sandbox/gce/scenario.ts';
import { gceWorld, patient, requestIds } from '../../sandbox/gce/gce-world.ts';
import { malformedJson, type Malformed } from '../malformed.ts';
import { openStandIn } from '../stand-in.ts';

/**
 * Hundreds of answers that Compute Engine never gives. The SDK reads them from a socket. All the time, the machine runs
 * and holds its disks.
 */

const world = gceWorld();
const machine = addInstance(world);
const zonal = addDisk(world, {}, { instance: machine });
const regional = addDisk(
  world,
  { path: 'projects/my-project/regions/europe-west1/disks/replicated' },
  { instance: machine },
);
const nobodys = zonal.replace(/[^/]+$/, 'nobodys');

/**
 * The API omits `users` for a disk without users. So an answer that only omits `users` is wrong, but has the right
 * form.
 */
const malformed = malformedJson(['users']);

const CASES = 300;
/**
 * The SDK repeats what it cannot read after a while in real time, so several of them run at once. More of them would
 * take longer, because each needs its own client.
 */
const AT_ONCE = 20;

type Ask = (cloud: Cloud, signal: AbortSignal, n: number) => Promise<string>;

/** A caller that gives up when the SDK repeats the call, because the case is only about the first answer. */
const said = async (cases: readonly Malformed[], ask: Ask): Promise<readonly string[]> => {
  let asked = new Set<string>();
  let giveUp = new AbortController();
  let malform: Malformed = (truth) => truth;
  const standIn = await openStandIn(({ method, url, body: sent }) => {
    if (asked.has(url)) giveUp.abort();
    asked.add(url);
    const { status, body } = handleGce(world, { method, url, body: sent.toString() });
    return malform({ status, body });
  });
  const cloud = gcpCloud(computeClients({ newRequestId: requestIds(), endpoint: standIn.url }));
  const answers: string[] = [];
  for (const [n, how] of cases.entries()) {
    [asked, giveUp, malform] = [new Set(), new AbortController(), how];
    answers.push(await ask(cloud, giveUp.signal, n).catch(ofTheHierarchy));
  }
  await standIn.close();
  return answers;
};

const ofTheHierarchy = (error: unknown): 'no answer' => {
  expect(error).toBeInstanceOf(CloudfenceError);
  return 'no answer';
};

const saidInLanes = async (ask: Ask): Promise<ReadonlySet<string>> => {
  const lanes = Array.from({ length: AT_ONCE }, () => said(fc.sample(malformed, CASES / AT_ONCE), ask));
  const all = (await Promise.all(lanes)).flat();
  expect(all).toHaveLength(CASES);
  return new Set(all);
};

describe.concurrent('no malformed answer', () => {
  it('makes a running machine missing or off', async () => {
    const powers = await saidInLanes(
      async (cloud, signal) => (await cloud.look([machine], { disks: true }, signal))[0]?.power ?? '',
    );
    expect(['running', 'unknown', 'no answer']).toEqual(expect.arrayContaining([...powers]));
  });

  it('makes a disk free that a machine holds, or a disk that is unknown', async () => {
    const disks = [zonal, regional, nobodys];
    const witnesses = await saidInLanes((cloud, signal, n) =>
      cloud.witness(machine, [disks[n % disks.length] ?? zonal], signal),
    );
    expect(['held', 'none', 'no answer']).toEqual(expect.arrayContaining([...witnesses]));
  });
});

it('is an answer of the right form: Cloudfence believes what Compute Engine itself says', async () => {
  const ask: Ask = async (cloud) => {
    const facts = await cloud.look([machine, `${machine}-gone`], { disks: true }, patient());
    return [
      ...facts.map(({ power }) => power),
      await cloud.witness(`${machine}-gone`, [zonal, regional], patient()),
    ].join(', ');
  };
  expect(await said([(truth) => truth], ask)).toEqual(['running, missing, released']);
});
