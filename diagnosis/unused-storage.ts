import { ifFound, type PodView, type PvcView, type VolumeView } from './model/facts.ts';
import type { StorageFacts } from './model/without-pod.ts';
import type { DiagnosisReading, DiagnosisPorts } from './ports.ts';
import { formatDuration, formatTime, nameOf } from './rules/rule.ts';
import type { Target } from './target.ts';
import type { TreeLine } from './answer.ts';

/** Claims and PersistentVolumes that no pod uses and that are not bound or not deleted. */

/** Objects younger than this (ms) are not stuck yet. */
const PATIENCE_MS = 60_000;

type Storage = Pick<StorageFacts, 'claim' | 'volume'>;

const volumeOf = async (claim: PvcView, reading: DiagnosisReading): Promise<VolumeView | null> =>
  claim.volumeName === '' ? null : ifFound(await reading.volume(claim.volumeName));

const ofClaim = async (claim: PvcView | null, reading: DiagnosisReading): Promise<readonly Storage[]> =>
  claim ? [{ claim, volume: await volumeOf(claim, reading) }] : [];

const ofVolume = async (volume: VolumeView | null, reading: DiagnosisReading): Promise<readonly Storage[]> =>
  volume ? [{ claim: volume.claim && ifFound(await reading.claim(volume.claim)), volume }] : [];

/** Returns the stuck claims that no waiting pod uses, and the stuck volumes of other claims. */
const allStuck = async (
  pods: readonly PodView[],
  now: number,
  reading: DiagnosisReading,
): Promise<readonly Storage[]> => {
  const [claims, volumes] = await Promise.all([reading.stuckClaims(), reading.volumesGoing()]);
  const named = new Set(pods.flatMap(({ namespace, claims: own }) => own.map((name) => `${namespace}/${name}`)));
  const isOld = ({ since }: { readonly since: number }): boolean => now - since > PATIENCE_MS;
  const alone = claims.filter((claim) => isOld(claim) && !named.has(nameOf(claim)));
  const shown = new Set([...named, ...alone.map(nameOf)]);
  const going = volumes.filter((volume) => isOld(volume) && !(volume.claim && shown.has(nameOf(volume.claim))));
  const found = await Promise.all([
    ...alone.map((claim) => ofClaim(claim, reading)),
    ...going.map((volume) => ofVolume(volume, reading)),
  ]);
  return found.flat();
};

const storageOf = async (
  target: Target,
  pods: readonly PodView[],
  { now, reading, ports }: StorageSources,
): Promise<readonly Storage[]> => {
  if (target.kind === 'everything') return allStuck(pods, now, reading);
  if (pods.length > 0) return [];
  switch (target.kind) {
    case 'claim':
      return ofClaim(ifFound(await reading.claim(target)), reading);
    case 'volume':
      return ofVolume(ifFound(await reading.volume(target.name)), reading);
    case 'disk': {
      const { diskOf } = ports.cloud.rules;
      const found = await reading.volumesOn((one) => one.handle === target.id || diskOf(one) === target.id);
      if (found === 'unread') return [];
      return (await Promise.all(found.map((volume) => ofVolume(volume, reading)))).flat();
    }
    case 'pod':
    case 'node':
      return [];
  }
};

interface StorageSources {
  readonly reading: DiagnosisReading;
  readonly ports: Pick<DiagnosisPorts, 'cloud'>;
  readonly now: number;
}

/** The namespace of events about objects that have no namespace. */
const CLUSTER_EVENTS = 'default';

const factsOf = async ({ claim, volume }: Storage, { reading, now }: StorageSources): Promise<StorageFacts> => {
  const [volumeEvents, neighbors, attachments] = await Promise.all([
    volume?.deleting ? reading.events(CLUSTER_EVENTS, volume.uid) : [],
    claim?.deleting ? reading.podsIn(claim.namespace) : [],
    volume?.deleting ? reading.attachments() : [],
  ]);
  return {
    claim,
    volume,
    volumeEvents,
    ended: neighbors.filter(({ finished, claims }) => finished && claims.includes(claim?.name ?? '')),
    attachments: attachments === 'unread' ? [] : attachments.filter((one) => one.volumeName === volume?.name),
    now,
  };
};

/**
 * Returns the facts about the target's claims and volumes, or about all stuck ones, in addition to the waiting pods.
 */
export const gatherUnused = async (
  target: Target,
  pods: readonly PodView[],
  sources: StorageSources,
): Promise<readonly StorageFacts[]> =>
  Promise.all((await storageOf(target, pods, sources)).map((one) => factsOf(one, sources)));

/** Returns the facts as a tree: claim, volume, attachments. */
export const storageTree = ({ claim, volume, attachments, now }: StorageFacts): readonly TreeLine[] => {
  const state = ({ phase, deleting, since }: PvcView | VolumeView): string =>
    `${phase}${deleting ? `, deletion requested ${formatDuration(now - since)} ago` : ''}`;
  const top = claim ? [{ depth: 0, what: `claim ${nameOf(claim)}`, says: state(claim) }] : [];
  const depth = top.length;
  return [
    ...top,
    ...(volume
      ? [
          {
            depth,
            what: `volume ${volume.name}`,
            says: [state(volume), volume.handle?.handle].filter(Boolean).join(', '),
          },
        ]
      : []),
    ...attachments.map(({ node, created }) => ({
      depth: depth + 1,
      what: `attachment to ${node}`,
      says: `since ${formatTime(created)}`,
    })),
  ];
};
