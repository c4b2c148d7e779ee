import { inHalfOfTheTime } from '../../app/search-ports.ts';
import { unanswered } from '../../diagnosis/target.ts';
import { asCloudfenceError, InvalidInput, Unavailable } from '../../fencing/model/errors.ts';
import { timing, type Policy } from '../../fencing/model/policy.ts';
import type { CapControl, CapStatus } from '../../kubernetes/ledger.ts';
import type { OpenCluster } from '../../app/open-clusters.ts';
import type { Terminal } from '../answer.ts';
import { withSession, type CommonOptions, type Session } from '../session.ts';

export interface CapOptions extends CommonOptions {
  /** How long fences may exceed the cap, in ms. */
  readonly override?: number;
  /** The name of `override` in version 0.1.0. */
  readonly lift?: number;
  readonly reason?: string;
  readonly end?: boolean;
  /** The only cluster to which the command applies. */
  readonly cluster?: string;
}

interface Shown extends CapStatus {
  readonly cluster: string;
}

const HOUR_MS = 3_600_000;

const refuseMisuse = ({ override, reason, end = false }: CapOptions): void => {
  if (override !== undefined && end) throw new InvalidInput('give --override or --end, not both');
  if (override === undefined && reason !== undefined) throw new InvalidInput('--reason is valid only with --override');
  if (override === undefined) return;
  if ((reason ?? '').trim() === '') throw new InvalidInput('--override requires a --reason: say what you checked');
  if (override <= 0 || override > timing.longestCapOverride)
    throw new InvalidInput(`--override must be more than 0 and at most ${timing.longestCapOverride / HOUR_MS}h`);
};

/**
 * Returns the clusters to which the command applies. Without a change, these are all clusters. To override a cap, or to
 * end an override, a person names one of several clusters.
 * @throws InvalidInput
 */
const chosenClusters = (
  { clusters }: Session,
  { cluster, override, end = false }: CapOptions,
): readonly OpenCluster[] => {
  const names = clusters.map((one) => one.cluster.name).join(', ');
  if (cluster === undefined && clusters.length > 1 && (override !== undefined || end))
    throw new InvalidInput(`there are several clusters: choose one with --cluster: ${names}`);
  const found = clusters.filter((one) => cluster === undefined || one.cluster.name === cluster);
  if (found.length === 0)
    throw new InvalidInput(`cluster "${cluster ?? ''}" does not exist in ${names || 'the configuration'}`);
  return found;
};

const change = async (
  control: CapControl,
  { override, reason = '', end = false }: CapOptions,
  { policy, ports: { signal, clock } }: Session,
): Promise<void> => {
  if (policy.dryRun) return;
  if (override !== undefined)
    await control.override({ until: clock.now().wall + override, reason: reason.trim() }, signal);
  if (end) await control.endOverride(signal);
};

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
const percent = (share: number): string => `${Math.round(share * 1_000) / 10} %`;

const linesOf = (
  { cluster, begun, unfinished, limits, nodes, opens, override, fences }: Shown,
  cap: Policy['cap'],
): readonly string[] => [
  `${cluster}: Nodes fenced within 15 minutes: ${begun} of at most ${limits.begun} (${percent(cap.share)} of ` +
    `${nodes}); unfinished fences: ${unfinished} of at most ${limits.unfinished} (${percent(cap.atOnce)})`,
  ...(override ? [`  overridden until ${time(override.until)}: ${override.reason}`] : []),
  ...(!override && opens !== null ? [`  the next fence can begin at ${time(opens)}`] : []),
  ...fences.map(
    ({ begun, finished, count }) =>
      `  ${count === 1 ? 'begun' : `${count} begun until`} ${time(begun)}, ${finished ? 'finished' : 'unfinished'}`,
  ),
];

const overrideJson = (override: Shown['override']) =>
  override && { until: time(override.until), reason: override.reason };

const asJson = ({ opens, override, fences, ...use }: Shown) => ({
  ...use,
  opens: opens === null ? null : time(opens),
  override: overrideJson(override),
  lifted: overrideJson(override), // its name in version 0.1.0
  fences: fences.map((fence) => ({ ...fence, begun: time(fence.begun) })),
});

const show = (
  shown: readonly Shown[],
  { json = false, dryRun = false }: CapOptions,
  { policy: { cap } }: Session,
  { line }: Terminal,
): void => {
  if (json) return line(JSON.stringify({ dryRun, share: cap.share, atOnce: cap.atOnce, clusters: shown.map(asJson) }));
  for (const text of shown.flatMap((one) => linesOf(one, cap))) line(text);
};

/** Changes and reads the cap of one cluster. Null if it has no ledger. @throws Unavailable with the cluster's name */
const readCap = async (
  { cluster: { name }, cap: open }: OpenCluster,
  options: CapOptions,
  session: Session,
): Promise<Shown | null> => {
  const { policy, ports } = session;
  try {
    const status = await inHalfOfTheTime(session)(async () => {
      const control = await open();
      await change(control, options, session);
      return control.status(policy.cap, ports.signal);
    });
    return status && { cluster: name, ...status };
  } catch (cause) {
    throw cause instanceof Unavailable ? unanswered(name, cause) : cause;
  }
};

/**
 * Reads the caps of all clusters that answer, and names the others.
 * @throws the error of the first cluster if none answers
 */
const readCaps = async (
  opened: readonly OpenCluster[],
  options: CapOptions,
  session: Session,
  { complain }: Terminal,
): Promise<readonly Shown[]> => {
  const answers = await Promise.allSettled(opened.map((one) => readCap(one, options, session)));
  const [first] = answers;
  if (first?.status === 'rejected' && answers.every(({ status }) => status === 'rejected')) throw first.reason;
  return answers.flatMap((answer, index) => {
    if (answer.status === 'rejected') complain(`cloudfence: ${asCloudfenceError(answer.reason).message}`);
    else if (answer.value) return [answer.value];
    else complain(withoutLedger(opened[index]?.cluster.name ?? ''));
    return [];
  });
};

const withoutLedger = (cluster: string): string =>
  `cloudfence: ${cluster} has no ConfigMap kube-system/cloudfence-ledger. Cloudfence fences nothing without it: ` +
  'apply infra/kubernetes/rbac.yaml';

/**
 * Shows the use of the cap, overrides the cap for some time, or ends an override. Uses a person's own credentials,
 * because the functions can only read the override.
 */
export const cap = async ({ lift, ...given }: CapOptions, terminal: Terminal): Promise<number> => {
  const options = lift === undefined ? given : { override: lift, ...given };
  refuseMisuse(options);
  return withSession(options, terminal, async (session) => {
    const opened = chosenClusters(session, options);
    const shown = await readCaps(opened, options, session, terminal);
    show(shown, options, session, terminal);
    return shown.length === opened.length ? 0 : 1;
  });
};
