import { NUDGE_ANNOTATION, OUT_OF_SERVICE } from '../../../kubernetes/names.ts';
import { z } from 'zod';
import type { Participants, NodeRole } from './participants.ts';
import { attachmentTo, POD } from './participants.ts';
import type { CurrentObjects, Writing } from './lines.ts';

/** The start of the times of a phase: its announcement, or the first change in it. */
export type CountedFrom = 'announcement' | 'first change';

export interface Phase {
  readonly title: string;
  /** Epoch ms. */
  readonly at: number;
  readonly from: CountedFrom;
}

/** Everything that happened in one cluster. */
export interface Story {
  readonly participants: Participants;
  readonly phases: readonly Phase[];
  readonly writings: readonly Writing[];
}

/**
 * One cluster on one EC2. `db-0` of a StatefulSet, with one ReadWriteOnce volume, runs at home. The second node is the
 * refuge. The words for what happens fit the real control plane and the sandbox.
 */
export interface DifferentialCluster {
  readonly participants: Participants;
  readonly phase: (title: string, from: CountedFrom) => void;
  /** The machine at home goes off in the middle of whatever it does. */
  readonly stop: () => Promise<void>;
  readonly terminate: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** From now on the CSI driver cannot detach the volume, or can again. */
  readonly failDetach: (fails: boolean) => Promise<void>;
  /** A request that a person sends. PATCH is a merge patch. @throws Error if the server rejects it */
  readonly ask: (method: 'GET' | 'PATCH' | 'DELETE', path: string, body?: object) => Promise<unknown>;
  /** The outcome of Cloudfence's run for the machine at home. */
  readonly fence: () => Promise<string>;
  readonly release: () => Promise<string>;
  readonly until: (what: string, holds: (standing: CurrentObjects) => boolean, withinMs?: number) => Promise<void>;
  readonly pass: (ms: number) => Promise<void>;
  readonly story: () => Promise<Story>;
  readonly close: () => Promise<void>;
}

export type Incident = (stage: DifferentialCluster) => Promise<void>;

/** What a person or a script does by hand. */
const attachmentPath = (participants: Participants, place: NodeRole): string =>
  `/apis/storage.k8s.io/v1/volumeattachments/${attachmentTo(participants, place)}`;

const tainted = z.looseObject({ spec: z.looseObject({ taints: z.array(z.unknown()).default([]) }) });

export const taint = async (
  { ask, participants }: DifferentialCluster,
  effect: 'NoSchedule' | 'NoExecute',
): Promise<void> => {
  const path = `/api/v1/nodes/${participants.home}`;
  const { spec } = tainted.parse(await ask('GET', path));
  await ask('PATCH', path, { spec: { taints: [...spec.taints, { ...OUT_OF_SERVICE, effect }] } });
};

/** From now on, no pod can be scheduled on the refuge. */
export const cordonRefuge = async ({ ask, until, participants }: DifferentialCluster): Promise<void> => {
  await ask('PATCH', `/api/v1/nodes/${participants.refuge}`, { spec: { unschedulable: true } });
  await until('the refuge is tainted', ({ value }) => value('node refuge', 'taints').includes('unschedulable'));
};

export const forceDelete = async ({ ask, participants }: DifferentialCluster): Promise<void> =>
  void (await ask('DELETE', `/api/v1/namespaces/${participants.namespace}/pods/${POD}`, { gracePeriodSeconds: 0 }));

export const deleteNode = async ({ ask, participants }: DifferentialCluster): Promise<void> =>
  void (await ask('DELETE', `/api/v1/nodes/${participants.home}`));

export const deleteAttachment = async ({ ask, participants }: DifferentialCluster): Promise<void> =>
  void (await ask('DELETE', attachmentPath(participants, 'home')));

export const nudge = async ({ ask, participants }: DifferentialCluster, place: NodeRole): Promise<void> =>
  void (await ask('PATCH', attachmentPath(participants, place), {
    metadata: { annotations: { [NUDGE_ANNOTATION]: 'now' } },
  }));
