import type { PodFacts } from './cluster-facts.ts';
import type { LeftAlone } from './outcome.ts';
import { diskBelow } from './rules/disks.ts';
import { nodeKept, whyDelete } from './rules/finish.ts';
import { isHeld, leftAlone, namedBy, wantedBy } from './rules/pods.ts';
import { isRecurring } from './rules/recurring.ts';
import type { View } from './view.ts';

const whyStays = (view: View, pod: PodFacts): string | null => {
  if (isRecurring(view, pod)) return 'made anew as often as it is deleted, and it wants no volume';
  return isHeld(view, pod) ? 'deleted, but held by its finalizers' : null;
};

const pods = (view: View): readonly LeftAlone[] => {
  const named = namedBy(view);
  return view.cluster.pods.flatMap((pod) => {
    const why = leftAlone(pod, named) ?? whyStays(view, pod);
    return why === null ? [] : [{ what: `pod/${pod.namespace}/${pod.name}`, why }];
  });
};

const whyWanted = ({ volumes, unresolved }: PodFacts, key: string): string =>
  volumes.includes(key) ? `still uses ${key}` : `may still use ${key}: what is behind ${unresolved.join(', ')} cannot be told`;

const attachments = (view: View): readonly LeftAlone[] =>
  view.cluster.volumes.flatMap((volume) => {
    const [pod] = wantedBy(view, volume.key);
    if (!volume.attachment || !pod) return [];
    return [{ what: `volumeattachment/${volume.attachment.name}`, why: `pod ${pod.namespace}/${pod.name} ${whyWanted(pod, volume.key)}` }];
  });

const volumeOf = (view: View, disk: string): View['cluster']['volumes'][number] | undefined =>
  view.cluster.volumes.find((volume) => view.reading.diskOf(volume) === disk);

const whyDiskStays = (view: View, disk: View['machine']['disks'][number]): string | null => {
  const volume = volumeOf(view, disk.disk);
  if (disk.keep !== null) return disk.keep;
  if (!volume || volume.persistentVolume === null) return 'it belongs to no PersistentVolume of this Node';
  if (view.policy.detach === 'never' && diskBelow(view, volume)) return 'the policy never detaches disks';
  return null;
};

const disks = (view: View): readonly LeftAlone[] =>
  view.machine.disks.flatMap((disk) => {
    const why = whyDiskStays(view, disk);
    return why === null ? [] : [{ what: `disk/${disk.disk}`, why }];
  });

const node = (view: View): readonly LeftAlone[] => {
  const kept = view.cluster.node && whyDelete(view) ? nodeKept(view.cluster.node) : null;
  return kept === null || !view.cluster.node ? [] : [{ what: `node/${view.cluster.node.name}`, why: kept }];
};

/** What was not touched, and why: said with every outcome, so that nobody has to guess. */
export const leftOver = (view: View): readonly LeftAlone[] => [...pods(view), ...attachments(view), ...disks(view), ...node(view)];
