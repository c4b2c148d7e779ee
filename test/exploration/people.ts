import { FENCED_LABEL, OPT_OUT_LABEL } from '../../kubernetes/names.ts';
import type { Scenario } from './explore.ts';
import { labelOn } from './on-node.ts';
import { assumed, scenario } from './scenario.ts';
import { healthy, longAgo } from './world.ts';

/** What people do. */

export const people: readonly Scenario[] = [
  scenario('removed', 'The machine is stopped, and a person removes the fence or our taint.', {
    stops: 1,
    removals: 1,
  }),
  scenario('record-removed', "The machine is stopped and started again, and the kubelet removes the Node's record.", {
    stops: 1,
    starts: 1,
    recordRemovals: 1,
  }),
  scenario(
    'left-label',
    'A Node is parked, and a person removed all of its fence but the label. The machine is started.',
    { starts: 1 },
    {
      from: 'park',
      but: ({ node, machine }) => ({
        node: node && {
          ...node,
          taints: [],
          labels: { [FENCED_LABEL]: labelOn(node) },
          annotations: healthy({}).node?.annotations ?? {},
        },
        removed: node && { boot: node.boot, start: machine.boot, age: longAgo(assumed) },
      }),
    },
  ),
  scenario('pause', 'The machine is stopped, and a person pauses Cloudfence and ends the pause.', {
    stops: 1,
    pauses: 1,
  }),
  scenario('opt-out', 'The machine is stopped, and a person opts the Node out.', { stops: 1, optOuts: 1 }),
  scenario(
    'left-marked-and-opted-out',
    'A run died right after the mark, and a person opted the Node out. The machine is started and stopped again.',
    { starts: 1, stops: 1 },
    {
      from: 'mark',
      but: ({ node }) => ({
        node: node && { ...node, labels: { ...node.labels, [OPT_OUT_LABEL]: 'by-hand' } },
        optedOut: 0,
      }),
    },
  ),
  scenario('foreign-taint', 'The machine is stopped, and a person sets the out-of-service taint, too.', {
    stops: 1,
    foreignTaints: 1,
  }),
  scenario('cap', 'The machine is stopped while the cap is reached.', { stops: 1 }, { but: { cap: 'reached' } }),
  scenario(
    'foreign-taint-and-opt-out',
    'The machine is stopped, and a person sets the out-of-service taint, too, and opts the Node out.',
    { stops: 1, foreignTaints: 1, optOuts: 1 },
  ),
  scenario(
    'foreign-taint-and-removed',
    'The machine is stopped. A person sets the out-of-service taint, too, and removes it, our taint, or the fence.',
    { stops: 1, foreignTaints: 1, removals: 1 },
  ),
  scenario(
    'left-marked-and-paused',
    'A run died right after the mark, and a person paused Cloudfence. The machine is started, and the pause ends.',
    { starts: 1 },
    { from: 'mark', but: { paused: longAgo(assumed) } },
  ),
  scenario(
    'slow-write-foreign-taint',
    'The machine is off, a person sets the out-of-service taint, too, and the writes of the Node take time.',
    { foreignTaints: 1 },
    { from: 'off', slow: new Set(['write']) },
  ),
  scenario(
    'slow-write-left-marked-and-removed',
    'A run died right after the mark. A person removes the fence or our taint, the machine is started, and the writes of the Node take time. At most 1 s passes.',
    { removals: 1, starts: 1 },
    { from: 'mark', slow: new Set(['write']), but: { ticksLeft: 1 } },
  ),
  scenario(
    'slow-write-left-parked-and-accepted',
    'A Node is parked. The machine is started and stopped again, a person ends the fence on their word, and the writes of the Node take time.',
    { starts: 1, stops: 1, accepts: 1 },
    { from: 'park', slow: new Set(['write']) },
  ),
  scenario(
    'slow-write-two-runs-and-removed',
    'The machine is off, a person removes the fence or our taint, two runs look, and the writes of the Node take time. No second passes.',
    { removals: 1 },
    { runs: 2, from: 'off', slow: new Set(['write']), but: { ticksLeft: 0 } },
  ),
];
