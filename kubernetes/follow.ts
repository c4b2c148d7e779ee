import type { V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { VolumeFacts } from '../fencing/cluster-facts.ts';
import { attachmentFacts, readAttachment } from './attachment-facts.ts';
import { attachmentName } from './attachment-name.ts';
import type { Claim } from './claims.ts';
import { claimKey, claimsOf } from './claims.ts';
import type { Reader } from './connection.ts';
import { pages } from './pages.ts';
import { isFinished } from './pod-facts.ts';
import type { SeenVolume } from './volume-facts.ts';

const claimOf = ({ volume }: SeenVolume): Claim | null => {
  const { namespace, name } = volume?.spec?.claimRef ?? {};
  return namespace === undefined || name === undefined ? null : { namespace, name };
};

const usesElsewhere = (pod: V1Pod, claim: Claim, node: string): boolean => {
  const where = pod.spec?.nodeName ?? '';
  return where !== '' && where !== node && !isFinished(pod) && claimsOf(pod).some((other) => claimKey(other) === claimKey(claim));
};

/** The Node of the pod that uses the claim now, anywhere but on this Node; null while it is scheduled nowhere. */
const nodeUsing = async (reader: Reader, claim: Claim, node: string): Promise<string | null> => {
  const readPage = (paging: { limit: number; _continue?: string }) =>
    reader.read(CoreV1Api, (core) => core.listNamespacedPod({ ...paging, namespace: claim.namespace }));
  for await (const page of pages(readPage)) {
    const user = page.find((pod) => usesElsewhere(pod, claim, node));
    if (user) return user.spec?.nodeName ?? null;
  }
  return null;
};

/** The volume's facts with its next attachment, when one is asked for and a pod elsewhere uses it. */
export const followed = async (reader: Reader, seen: SeenVolume, node: string, follow: readonly string[]): Promise<VolumeFacts> => {
  const { facts } = seen;
  const claim = follow.includes(facts.key) ? claimOf(seen) : null;
  const next = claim && (await nodeUsing(reader, claim, node));
  const successor = next === null ? null : await readAttachment(reader, attachmentName(facts, next));
  return { ...facts, successor: successor && attachmentFacts(successor) };
};
