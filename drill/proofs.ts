import type { DrillResult } from './tools.ts';
import { msOf } from './phases.ts';

/** What a drill has shown about this account that no stand-in can show, and what it has not. Pure. */

export interface Proofs {
  readonly proved: readonly string[];
  readonly unproved: readonly string[];
}

export interface ProofOptions {
  /** Whether the command fenced by itself, so that no function was tried. */
  readonly fencedHere: boolean;
}

/** Sooner than this after the stop (ms), no sweep takes the Node for silent, because its Lease was fresh at the stop. */
const NO_SWEEP_MS = 50_000;

const actorOf = ({ fencedHere }: ProofOptions): string =>
  fencedHere ? 'your own credentials' : 'the credentials of the functions';

const deliveryClaims = ({ recovery }: DrillResult, { fencedHere }: ProofOptions): readonly string[] => {
  const [off, marked] = [msOf(recovery, 'off'), msOf(recovery, 'marked')];
  if (fencedHere || off === null || marked === null) return [];
  const delay = `${(Math.max(0, marked - off) / 1_000).toFixed(1)} s`;
  return [
    marked < NO_SWEEP_MS
      ? `the event of this account arrives: the Node was marked ${delay} after the cloud said off, sooner than a sweep looks for it`
      : `an event or the sweep finds a machine that is off: the Node was marked ${delay} after the cloud said off`,
  ];
};

const proved = (result: DrillResult, options: ProofOptions): readonly string[] => {
  const { recovery, restart, facts } = result;
  const reached = (phase: Parameters<typeof msOf>[1]): boolean => msOf([...recovery, ...restart], phase) !== null;
  const claims: readonly (readonly [boolean, string])[] = [
    [reached('off'), `the API answers this version of Cloudfence: ${facts?.drilled.calls.join(', ') ?? ''}`],
    [reached('off'), 'your own credentials may stop this machine'],
    [reached('up'), 'your own credentials may start this machine'],
    [reached('marked'), `${actorOf(options)} may read this machine, and mark its Node`],
    [reached('marked') && reached('pod-deleted'), `${actorOf(options)} may delete the pods of the Node`],
    [
      reached('detached') && reached('attached'),
      'the CSI driver detaches a volume from a machine that is off, and attaches it elsewhere',
    ],
    [reached('released'), 'a fresh boot is recognized, and the fence is released'],
  ];
  return [...claims.filter(([holds]) => holds).map(([, says]) => says), ...deliveryClaims(result, options)];
};

const NEVER = [
  'a detach through the cloud API, which a fence needs only if Kubernetes does not detach by itself (`cloudfence doctor` checks the permission)',
  'a machine that is gone for good, and a machine that runs out of reach',
  'other accounts, regions, zones, and machine types',
] as const;

/** Lists what the account has proved. A stand-in in the place of the cloud proves nothing about an account. */
export const proofsOf = (result: DrillResult, options: ProofOptions): Proofs => {
  const standIn = result.facts?.drilled.standIn ?? null;
  if (standIn !== null)
    return {
      proved: [],
      unproved: [`anything about an account: ${standIn} answered in the place of the cloud`, ...NEVER],
    };
  const functions = options.fencedHere ? ['the deployed functions: the command itself fenced (`--fence-here`)'] : [];
  return { proved: proved(result, options), unproved: [...functions, ...NEVER] };
};
