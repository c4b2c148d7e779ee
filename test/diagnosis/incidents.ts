import { describe, expect, it } from 'vitest';
import type { DiagnosisTools } from '../../app/diagnose.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { World } from '../../sandbox/world.ts';
import { type Diagnosed, diagnoseWith, theCause } from './sandbox-diagnosis.ts';

/**
 * The same incidents on each cloud. The rules know no cloud, so this tests what the reading of each cloud makes of
 * them.
 */

export interface Incident {
  readonly diagnose: () => Promise<Diagnosed>;
  readonly advance: (ms: number) => void;
  readonly stop: () => void;
  /** The guest shuts down and never ends. */
  readonly hang: () => void;
  readonly suspend: () => void;
  readonly cutOff: () => void;
  readonly deleteNode: () => void;
  readonly deleteDisk: () => void;
}

type CloudHand = Pick<Incident, 'stop' | 'hang' | 'suspend' | 'deleteDisk'>;

/** The part of an incident that is the same on every cloud. */
export const incidentIn = <P extends ClusterParts>(
  world: World<P>,
  node: string,
  tools: () => Promise<DiagnosisTools>,
  cloud: CloudHand,
): Incident => ({
  ...cloud,
  diagnose: async () => diagnoseWith(await tools(), 'pod/default/db-0'),
  advance: world.advance,
  cutOff: () => void world.parts.cluster.knobs.partitioned.push(node),
  deleteNode: () => {
    const object = getObject(world, 'nodes', node);
    if (object) writerAs(world, 'person').remove('nodes', object);
  },
});

const MINUTES = 180_000;

const incidents: readonly (readonly [string, (incident: Incident) => void])[] = [
  ['machine-off', ({ stop, advance }) => (stop(), advance(MINUTES))],
  ['machine-stopping', ({ hang, advance }) => (hang(), advance(60_000))],
  ['machine-suspended', ({ suspend: sleep, advance }) => (sleep(), advance(MINUTES))],
  ['machine-unreachable', ({ cutOff, advance }) => (cutOff(), advance(MINUTES))],
  ['node-gone', ({ stop, deleteNode, advance }) => (stop(), advance(60_000), deleteNode(), advance(MINUTES))],
  ['node-gone-machine-runs', ({ cutOff, deleteNode, advance }) => (cutOff(), deleteNode(), advance(MINUTES))],
  ['disk-deleted', ({ cutOff, deleteDisk, advance }) => (cutOff(), deleteDisk(), advance(MINUTES))],
  ['not-waiting', ({ advance }) => advance(MINUTES)],
];

/** Where the answer lists the steps of a fence. */
const endsByFence = ['machine-off', 'node-gone'];

/** Plays every incident on one cloud. */
export const describeIncidents = (cloud: string, begin: () => Incident): void => {
  describe(`on ${cloud}`, () => {
    it.each(incidents)('%s', async (kind, play) => {
      const incident = begin();
      play(incident);
      const answer = await incident.diagnose();
      expect(theCause(answer), answer.text).toMatchObject({ kind, confidence: 'proved' });
      expect(answer.unread).toEqual([]);
      if (endsByFence.includes(kind)) expect(answer.findings[0]?.rehearsal?.outcome, answer.text).toBe('would-fence');
    });
  });
};
