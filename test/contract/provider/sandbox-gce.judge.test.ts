import { afterAll, describe, expect, it } from 'vitest';
import { inProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { freshClientsOf } from '../../sandbox/gce/gce-world.ts';
import { checkedCalls, type CheckedCalls } from '../discovery/checked-calls.ts';
import { computeDocument } from '../discovery/document.ts';
import { nameReuseContract } from './name-reuse-contract.ts';
import { providerContract } from './provider-contract.ts';
import { inProcessGceBench } from './sandbox-gce-bench.ts';

const document = computeDocument();
const all: CheckedCalls[] = [];

const open = () =>
  inProcessGceBench((world) => {
    const checked = checkedCalls(document, inProcessFetch(world));
    all.push(checked);
    return freshClientsOf(world, checked.fetch);
  });

providerContract("the sandbox's Compute Engine, call by call as Google's document has it", open);
nameReuseContract("the sandbox's Compute Engine, call by call as Google's document has it", open);

describe('the calls above and their answers', () => {
  afterAll(() => all.splice(0));

  it("are as Google's document has them, all that the provider makes", () => {
    expect(all.flatMap(({ faults }) => faults)).toEqual([]);
    expect([...new Set(all.flatMap(({ called }) => [...called]))].toSorted()).toEqual([
      'compute.disks.get',
      'compute.instances.detachDisk',
      'compute.instances.get',
      'compute.instances.stop',
      'compute.zoneOperations.wait',
    ]);
  });
});
