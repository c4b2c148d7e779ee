import type { Tolerated } from './kubernetes.ts';
import { attacherPlanFor, BEGINS_AT, type Plan, type Planned } from './plan.ts';
import { seededRandom } from './seeded-random.ts';

/** The plan of a seed. Whoever adds to it keeps the one before, so that older seeds give the same plan again. */

const MINUTE = 60_000;

/**
 * One database in three keeps its write-ahead log on a second disk. In every third plan, a pod with two disks
 * tolerates our taint.
 */
const withDisks = (plan: Plan): Plan => {
  const random = seededRandom(plan.seed, 'disks');
  const twoDisks = Array.from({ length: plan.databases }, (_, at) => at).filter(() => random.chance(1 / 3));
  const tolerating = random.chance(1 / 3) ? [random.oneOf<Tolerated>(['out-of-service', 'everything'])] : [];
  return { ...plan, twoDisks, tolerating };
};

/**
 * In every third plan that allows powering off, a kubelet registers under another name, and no other machine is
 * disturbed. So the first Node of a machine that works is unreachable for long enough.
 */
const withSecondNode = (plan: Plan): Plan => {
  const random = seededRandom(plan.seed, 'second Node');
  if (plan.policy.unreachable !== 'power-off' || random.chance(2 / 3)) return plan;
  const at = random.between(BEGINS_AT, BEGINS_AT + MINUTE);
  const again: Planned = { at: at + random.between(0, 3 * MINUTE), do: 'register-again', machine: 0 };
  const others = plan.happenings.filter((what) => !('machine' in what));
  const happenings = [{ at, do: 'cut-off', machine: 0 } as const, again, ...others].toSorted((a, b) => a.at - b.at);
  return { ...plan, happenings, until: Math.max(plan.until, at + 13 * MINUTE) };
};

/**
 * In every third plan in which a machine of Azure or Google Cloud is terminated, another machine gets its name and its
 * Node soon after. It may be cut off, stopped, and started. On EC2, the Node would still name the first machine. The
 * cloud always knows its machines here, because an attachment does not show which of the two had the disk.
 */
const withTakenOverNode = (plan: Plan): Plan => {
  const random = seededRandom(plan.seed, 'names');
  const gone = plan.happenings.find((what) => what.do === 'terminate');
  if (random.chance(2 / 3) || gone?.do !== 'terminate' || plan.clouds[gone.machine] === 'aws') return plan;
  const { machine } = gone;
  const at = gone.at + gone.takes + random.oneOf([1, 10, 60]) * random.between(100, 3_000);
  const later = at + random.between(20_000, 4 * MINUTE);
  const more: readonly Planned[] = [
    { at, do: 'take-over', machine, within: MINUTE },
    ...(random.chance(0.3) ? [{ at: later, do: 'cut-off', machine } as const] : []),
    ...(random.chance(0.5)
      ? [{ at: later + random.between(0, MINUTE), do: 'stop', machine, byGuest: false, takes: 5_000 } as const]
      : []),
    ...(random.chance(0.3) ? [{ at: later + 2 * MINUTE, do: 'start', machine } as const] : []),
  ];
  const others = plan.happenings.filter((what) => what.do !== 'recreate' || what.machine !== machine);
  const happenings = [...others, ...more.filter((what) => what.at < plan.until)].toSorted((a, b) => a.at - b.at);
  return { ...plan, happenings, faultPeriods: plan.faultPeriods.filter(({ fault }) => fault !== 'not-found') };
};

export const secondNodePlanFor = (seed: number): Plan => withSecondNode(withDisks(attacherPlanFor(seed)));

export const takenOverPlanFor = (seed: number): Plan => withTakenOverNode(secondNodePlanFor(seed));

export const planFor = takenOverPlanFor;
