import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import type { Scenario } from './explore.ts';
import { inShadow } from './policies.ts';
import { scenario } from './scenario.ts';

/** Worlds that an earlier fence, or a person, has left, and in which Cloudfence begins nothing. */

const dryRun: Policy = { ...defaultPolicy, dryRun: true };

export const imagined: readonly Scenario[] = [
  scenario(
    'shadow-and-foreign-taint',
    'The machine is stopped, a person sets the out-of-service taint, and Cloudfence is in shadow mode.',
    { stops: 1, foreignTaints: 1 },
    { policy: inShadow },
  ),
  scenario(
    'left-marked-in-shadow-and-removed',
    'A run died right after the mark, and shadow mode begins. A person removes the fence or our taint, and the machine is started.',
    { starts: 1, removals: 1 },
    { from: 'mark', policy: inShadow },
  ),
  scenario(
    'left-marked-and-dry-run',
    'A run died right after the mark, and from then on every run is a dry run. The machine is started and stopped again.',
    { starts: 1, stops: 1 },
    { from: 'mark', policy: dryRun },
  ),
  scenario(
    'left-parked-and-dry-run',
    'A Node is parked, and from then on every run is a dry run. The machine is started and stopped again.',
    { starts: 1, stops: 1 },
    { from: 'park', policy: dryRun },
  ),
];
