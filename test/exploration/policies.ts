import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import type { Scenario } from './explore.ts';
import { assumed, scenario } from './scenario.ts';
import { OUT_OF_SERVICE, RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import { OLDEST_TICKS } from './time.ts';
import { longAgo, type World } from './world.ts';

/** Worlds with another policy than the default. */

export const powersOff: Policy = { ...defaultPolicy, unreachable: 'power-off' };

export const inShadow: Policy = { ...defaultPolicy, shadow: true };

/** The clock of a process was wrong when it removed our taint, or a kubelet has changed the time. */
const releasedInTheFuture = ({ node }: World): Partial<World> => {
  const text = node?.annotations[RECORD_ANNOTATION] ?? '';
  const ahead = text.replace(/(?<="released":")[^"]+/, '9999-01-01T00:00:00.000Z');
  return { node: node && { ...node, annotations: { ...node.annotations, [RECORD_ANNOTATION]: ahead } } };
};

export const withPolicies: readonly Scenario[] = [
  scenario(
    'power-off',
    'The kubelet is cut off, and the policy is to power the machine off.',
    { cuts: 1 },
    { policy: powersOff },
  ),
  scenario(
    'power-off-and-guards',
    'The policy is to power the machine off, the cap is reached, and a person pauses Cloudfence or opts the Node out.',
    { cuts: 1, pauses: 1, optOuts: 1 },
    { policy: powersOff, but: { cap: 'reached' } },
  ),
  scenario(
    'power-off-and-claim',
    'The kubelet is cut off, the policy is to power the machine off, and another Node registers that may be its own.',
    { cuts: 1, claims: 1 },
    { policy: powersOff },
  ),
  scenario(
    'power-off-and-reconnect-soon',
    'The kubelet is cut off and may reach the API server again, the policy is to power the machine off, and at most 9 s pass.',
    { cuts: 1 },
    { policy: powersOff, but: { readyFor: longAgo(assumed), ticksLeft: 9 } },
  ),
  scenario(
    'slow-survey-soon',
    'The kubelet is cut off, the policy is to power the machine off, another Node registers that may be its own, the survey of all Nodes takes time, and at most 8 s pass.',
    { claims: 1 },
    {
      policy: powersOff,
      slow: new Set(['survey-connectivity']),
      but: ({ node, lease }) => ({
        connected: false,
        node: node && { ...node, ready: false },
        lease: { ...lease, age: OLDEST_TICKS },
        ticksLeft: 8,
      }),
    },
  ),
  scenario(
    'node-always-deleted',
    'The machine is stopped and started again, and the policy is to delete the Node of each machine that is off.',
    { stops: 1, starts: 1 },
    { policy: { ...defaultPolicy, deleteNode: 'always' } },
  ),
  scenario(
    'never-detached',
    'The machine is stopped, and the policy is to detach no disk.',
    { stops: 1 },
    { policy: { ...defaultPolicy, detach: 'never' } },
  ),
  scenario(
    'dry-run',
    'The machine is stopped, and every run is a dry run.',
    { stops: 1 },
    { policy: { ...defaultPolicy, dryRun: true } },
  ),
  scenario(
    'shadow',
    'The machine is stopped and started again, and Cloudfence is in shadow mode.',
    { stops: 1, starts: 1 },
    { policy: inShadow },
  ),
  scenario(
    'shadow-power-off',
    'The kubelet is cut off, the policy is to power the machine off, and Cloudfence is in shadow mode.',
    { cuts: 1 },
    { policy: { ...powersOff, shadow: true } },
  ),
  scenario(
    'left-marked-in-shadow',
    'A run died right after the mark, and shadow mode begins. The machine is started and stopped again.',
    { starts: 1, stops: 1 },
    { from: 'mark', policy: inShadow },
  ),
  scenario(
    'left-parked-in-shadow',
    'A Node is parked, and shadow mode begins. The machine is started and stopped again.',
    { starts: 1, stops: 1 },
    { from: 'park', policy: inShadow },
  ),
  scenario(
    'left-marked-in-shadow-and-terminated',
    'A run died right after the mark, and shadow mode begins. The machine is terminated.',
    { terminations: 1 },
    { from: 'mark', policy: inShadow },
  ),
  scenario(
    'left-marked-in-shadow-and-always-deleted',
    'A run died right after the mark, and shadow mode begins. The policy is to delete every fenced Node.',
    { starts: 1 },
    { from: 'mark', policy: { ...inShadow, deleteNode: 'always' } },
  ),
  scenario(
    'left-parked-in-shadow-with-another-time',
    'A Node is parked, and shadow mode begins. The record has a time in the future. The machine is started.',
    { starts: 1 },
    { from: 'park', policy: inShadow, but: releasedInTheFuture },
  ),
  scenario(
    'left-taken-back',
    'A run died right after the mark, and a person removed our taint. The machine is started and stopped again.',
    { starts: 1, stops: 1 },
    {
      from: 'mark',
      but: ({ node, machine }) => ({
        node: node && { ...node, taints: node.taints.filter(({ key }) => key !== OUT_OF_SERVICE.key) },
        removed: node && { boot: node.boot, start: machine.boot, age: longAgo(assumed) },
      }),
    },
  ),
];
