import type { DiskId } from '../machine.ts';
import { patience } from '../policy.ts';
import { because } from '../reason.ts';
import { refuse, wait, type Decision, type Rule, type View } from '../view.ts';
import { currentRecord } from './mark.ts';

/** The word of a person, given to this run or written in the record of the fence that it goes on with. */
export const vouchedFor = (view: View): string | null => view.request.vouched ?? currentRecord(view)?.vouched ?? null;

/** Disks of the Node's PersistentVolumes: the only ones that are ever asked, or touched. */
export const disksOfVolumes = ({ cluster, reading }: Pick<View, 'cluster' | 'reading'>): readonly DiskId[] =>
  cluster.volumes
    .filter((volume) => volume.persistentVolume !== null)
    .map((volume) => reading.diskOf(volume))
    .filter((disk) => disk !== null);

/**
 * "Not found" alone is no proof: a wrong account or region looks the same. A disk of the same account and region that
 * exists and does not name the machine is the witness that it is really gone.
 */
export const missingNeedsWitness: Rule = (view) => {
  if (view.machine.power !== 'missing' || vouchedFor(view) !== null) return null;
  const { machine } = view.machine;
  switch (view.memory.witness) {
    case 'released':
      return null;
    case 'held':
      return stillHeld(view);
    case 'none':
      return refuse(because('missing-without-witness', `the cloud does not know ${machine} and no disk of it can be found to confirm that`));
    case null:
      return askWitness(view);
  }
};

/** Each look asks the disks anew. */
const stillHeld = ({ machine: { machine }, memory: { firstOff }, now }: View): Decision => {
  const held = because('missing-but-disk-held', `the cloud does not know ${machine}, yet a disk still names it`);
  const mayLetGo = firstOff !== null && now.mono - firstOff.mono < patience.disksLetGo;
  return mayLetGo ? wait(patience.pollLongest, held) : refuse(held);
};

const askWitness = (view: View): Decision => {
  const disks = disksOfVolumes(view);
  const { machine } = view.machine;
  if (disks.length > 0) return { do: 'witness', disks, because: because('missing-without-witness', `asking ${disks.length} disks about ${machine}`) };
  return refuse(because('missing-without-witness', `the cloud does not know ${machine} and its Node names no disk to ask about it`));
};

/**
 * A disk of the machine that no volume of the Node explains may be held by an attachment that the Node's status forgot,
 * such as on a drained node: then the list of all attachments is searched, once.
 */
export const unexplainedDisk: Rule = ({ machine, cluster, memory, reading }) => {
  if (memory.searched || !cluster.node) return null;
  const explained = new Set(cluster.volumes.map((volume) => reading.diskOf(volume)));
  const disk = machine.disks.find(({ disk: id, keep }) => keep === null && !explained.has(id));
  return disk ? { do: 'search', because: because('disks-going', `no volume of Node ${cluster.node.name} explains ${disk.disk}`) } : null;
};

/** Some clouds show "stopped" for a moment while a machine starts: there it takes two reads that agree. */
export const offOnlyOnce: Rule = ({ machine, memory, now }) => {
  if (machine.power !== 'off-if-repeated' || !memory.firstOff) return null;
  const left = patience.secondRead - (now.mono - memory.firstOff.mono);
  return left > 0 ? wait(left, because('second-read', 'this state is proof only when a second read repeats it')) : null;
};

/** A proof without a boot generation could not be told from the next boot's. */
export const generationUnknown: Rule = (view) =>
  view.machine.generation === null && view.machine.power !== 'missing' && vouchedFor(view) === null
    ? refuse(because('generation-unknown', `the cloud does not say which boot of ${view.machine.machine} has ended`))
    : null;

/** A person's word counts only where the configuration lets it, and never against a cloud that says that the machine is up. */
export const vouchingRefused: Rule = (view) =>
  vouchedFor(view) !== null && view.policy.vouching === 'refused'
    ? refuse(because('vouching-refused', 'the configuration lets nobody vouch for a machine (policy.vouching)'))
    : null;

/** Memory that resumes writes within seconds; a state without words for it proves nothing. */
export const doubtfulPower: Rule = (view) => {
  const { machine, power, evidence } = view.machine;
  if (vouchedFor(view) !== null) return null;
  const said = Object.entries(evidence).map(([key, value]) => `${key} ${value}`).join(', ');
  if (power === 'suspended') return refuse(because('suspended', `${machine} is suspended or may be: its memory would write again (${said})`));
  if (power === 'unknown') return refuse(because('power-unknown', `the cloud gives no power state for ${machine} (${said})`));
  return null;
};
