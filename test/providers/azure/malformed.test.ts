import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { CloudfenceError } from '../../../fencing/model/errors.ts';
import { azureCloud } from '../../../providers/azure/index.ts';
import { azureClients } from '../../../providers/azure/client.ts';
import { handleArm } from '../../../sandbox/azure/arm.ts';
import { addDisk, addMachine } from '../../../sandbox/azure/scenario.ts';
import { diskIn } from '../../../sandbox/azure/state.ts';
import { azureWorld, credential, patient, prefix, subscription } from '../../sandbox/azure/azure-world.ts';
import { malformedJson, type Malformed } from '../malformed.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';

/**
 * Hundreds of answers that ARM never gives. The SDK reads them from a socket. All the time, the machines run and hold
 * their disks.
 */

const world = azureWorld();
const alone = addMachine(world);
const member = addMachine(world, { set: 'Pool' });
const held = [alone, member].map((machine) => addDisk(world, {}, { machine }));
const machines = [alone, member];
const nobodys = [`${prefix}/disks/nobodys`];

let standIn: StandIn;
let malform: Malformed = (truth) => truth;
beforeAll(async () => {
  standIn = await openStandIn(({ method, url, body: sent }) => {
    const { status, headers, body } = handleArm(world, {
      method,
      url: `${standIn.url}${url}`,
      body: sent.toString(),
    }).answer;
    return { headers, ...malform({ status, body }) };
  });
  return standIn.close;
});

const cloud = () => azureCloud(azureClients({ subscription, credential, endpoint: standIn.url }));

const answerOrNone = async <T>(call: Promise<T> | undefined): Promise<T | null> => {
  try {
    return (await call) ?? null;
  } catch (error) {
    expect(error).toBeInstanceOf(CloudfenceError);
    return null;
  }
};

const malformed = malformedJson([]);

describe('no malformed answer', () => {
  it('makes a running machine missing or off', async () => {
    const proven = cloud();
    await fc.assert(
      fc.asyncProperty(malformed, fc.constantFrom(...machines), async (how, machine) => {
        malform = how;
        const facts = await answerOrNone(proven.look([machine], { disks: true }, patient()));
        expect(['running', 'unknown', 'none']).toContain(facts?.[0]?.power ?? 'none');
      }),
      { numRuns: 400 },
    );
  });

  it('makes a disk free that a machine holds, or a disk that is unknown', async () => {
    const proven = cloud();
    await fc.assert(
      fc.asyncProperty(
        malformed,
        fc.constantFrom(...machines),
        fc.constantFrom(...held, ...nobodys),
        async (how, machine, disk) => {
          malform = how;
          expect((await answerOrNone(proven.witness(`${machine}0`, [disk], patient()))) ?? 'none').not.toBe(
            nobodys.includes(disk) ? 'released' : 'free',
          );
          const asked = { driver: 'disk.csi.azure.com', handle: diskIn(world, disk)?.armId ?? disk };
          const holdings = await answerOrNone(proven.holders?.([asked], patient()));
          expect(holdings?.flatMap(({ by }) => (by.length === 0 ? [disk] : [])) ?? []).toEqual([]);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('makes a disk seem free that a machine holds', async () => {
    const proven = cloud();
    await fc.assert(
      fc.asyncProperty(malformed, fc.constantFrom(0, 1), async (how, at) => {
        malform = how;
        expect(['held', 'none']).toContain(
          (await answerOrNone(proven.witness(machines[at] ?? '', [held[at] ?? ''], patient()))) ?? 'none',
        );
      }),
      { numRuns: 300 },
    );
  });
});
