import { run } from '../../fencing/loop/run.ts';
import { type RunState, startRun } from '../../fencing/loop/state.ts';
import type { Outcome } from '../../fencing/model/outcome.ts';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import type { Incident } from './incidents.ts';
import { attacherDown, comingBack, crowded, forgotten, nodeGone, stopped, terminated } from './incidents.ts';
import { freshRun, portsOver, type Wanted } from './ports.ts';

/** What happens after the last run: Kubernetes attaches, starts, and cleans up. */
export const AFTERMATH_MS = 300_000;

export const fence = async ({ world, scene }: Incident, wanted: Partial<Wanted> = {}): Promise<Outcome> => {
  const ports = portsOver(world);
  return run(freshRun(world, ports, { machine: scene.holder, ...wanted }), ports);
};

const TWO_MINUTES = 120_000;

/** A run that releases the fence of the machine for a person, perhaps with their statement about its Node. */
export const freshRelease = (
  { world, scene }: Incident,
  accepted: string | null,
  policy: Partial<Policy> = {},
): RunState => {
  const { cloud, clusters } = portsOver(world);
  const location = { cluster: clusters[0]?.name ?? '', node: scene.nodeOf(scene.holder) };
  return startRun({
    request: { machine: scene.holder, intent: 'release', accepted, vouched: null },
    policy: { ...defaultPolicy, ...policy },
    identityRules: cloud,
    runId: 'release',
    deadline: world.now() + TWO_MINUTES,
    ...(accepted !== null && { location, statedAt: world.now() }),
  });
};

export const release = (incident: Incident, accepted: string | null, policy: Partial<Policy> = {}): Promise<Outcome> =>
  run(freshRelease(incident, accepted, policy), portsOver(incident.world));

/** Every way in which a machine dies or returns in these tests, with the right end of the run. */
export const incidents: readonly (readonly [
  string,
  (seed?: number) => Incident | Promise<Incident>,
  Outcome['outcome'],
])[] = [
  ['stopped', stopped, 'fenced'],
  ['terminated', terminated, 'fenced'],
  ['terminated and forgotten by EC2', forgotten, 'fenced'],
  ['stopped, whose Node is gone', nodeGone, 'fenced'],
  ['stopped under pods of every kind', crowded, 'fenced'],
  ['stopped while the CSI attacher is down', attacherDown, 'waiting'],
  ['fenced and back again', comingBack(async (incident) => void (await fence(incident))), 'released'],
];
