import { statusJson, statusLines } from '../../diagnosis/status-answer.ts';
import type { FenceStatus, Status } from '../../diagnosis/status.ts';
import { runStatus } from '../../config/status.ts';
import type { ReasonCode } from '../../fencing/model/reason.ts';
import type { Terminal } from '../answer.ts';
import { NEEDS_PERSON, STILL_WAITING } from '../exit-code.ts';
import { withSession, type CommonOptions, type Session } from '../session.ts';

export interface StatusOptions extends CommonOptions {
  /** Look again and again, until Ctrl-C. */
  readonly watch?: boolean;
}

/** Refusals of a release that end by themselves, or when the machine starts. */
const ENDS_WITHOUT_A_PERSON: ReadonlySet<ReasonCode> = new Set(['still-off', 'return-unproven', 'lease-misdated']);

const needsPerson = ({ release: { outcome, reason } }: FenceStatus): boolean =>
  outcome === 'refused' && !ENDS_WITHOUT_A_PERSON.has(reason.code);

/**
 * Returns 0 if no Node is fenced, 1 if a cluster did not answer, 3 if Nodes are fenced, and 4 if a fence needs a
 * person.
 */
const exitCodeFor = ({ clusters, unreachable }: Status): number => {
  const fences = clusters.flatMap((cluster) => cluster.fences);
  if (unreachable.length > 0) return 1;
  if (fences.some(needsPerson)) return NEEDS_PERSON;
  return fences.length > 0 ? STILL_WAITING : 0;
};

/** Moves to the top left corner, and clears what is below. */
const TOP = '\u001B[H\u001B[J';

const show = (status: Status, { json = false, watch = false }: StatusOptions, { line, screens }: Terminal): number => {
  const lines = json ? [JSON.stringify(statusJson(status))] : statusLines(status);
  const moment = `${new Date(status.now).toISOString().slice(0, 19)}Z`;
  if (watch && !json && screens.output) screens.output.write(`${TOP}${[moment, '', ...lines, ''].join('\n')}`);
  else for (const text of watch && !json ? [moment, ...lines, ''] : lines) line(text);
  return exitCodeFor(status);
};

const EVERY_MS = 5_000;

/** Shows the state of every cluster. With `--watch`, shows it again and again. Only reads. */
export const status = (options: StatusOptions, terminal: Terminal): Promise<number> => {
  const look = async ({ clusters: openClusters, policy, ports }: Session): Promise<number> => {
    const deadline = ports.clock.now().mono + options.timeout;
    return show(await runStatus({ openClusters, policy, ports, deadline }), options, terminal);
  };
  const watch = async (session: Session): Promise<number> => {
    const { clock, signal } = session.ports;
    for (;;) {
      await look(session);
      await clock.sleep(EVERY_MS, signal);
    }
  };
  return withSession(options, terminal, options.watch ? watch : look, { whenInterrupted: options.watch ? 0 : null });
};
