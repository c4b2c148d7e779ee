import { listFences } from '../../diagnosis/existing-fences.ts';
import { InvalidInput } from '../../fencing/model/errors.ts';
import type { Outcome } from '../../fencing/model/outcome.ts';
import { beginsNothing } from '../../fencing/model/policy.ts';
import { releaseFenced, releaseNamed, type ReleaseTools } from '../../config/release.ts';
import { newRunId } from '../../config/system.ts';
import { printOutcomes, printOutcome, outcomeOfError, type Terminal } from '../answer.ts';
import { keepByHand } from '../incident-place.ts';
import { openCloudsOf, withSession, type CommonOptions, type Session } from '../session.ts';

export interface ReleaseOptions extends CommonOptions {
  /** The reason of a person who has checked the machine. */
  readonly accept?: string;
  readonly all?: boolean;
}

const refuseMisuse = (target: string | undefined, { accept, all = false }: ReleaseOptions): void => {
  if (target !== undefined && all) throw new InvalidInput('name a Node, or give --all, not both');
  if (target === undefined && !all) throw new InvalidInput('name a Node, or give --all');
  if (accept?.trim() === '') throw new InvalidInput('--accept requires a reason: say what you checked');
};

/** If nothing identifies the machine of one Node, the release of the others continues. */
const toolsOf = (session: Session): ReleaseTools => ({
  ...session,
  openClusters: session.clusters,
  newRunId,
  prepare: (machine) => openCloudsOf([machine], session),
  failed: (error, { cluster, node }) => ({
    ...outcomeOfError(error, beginsNothing(session.policy)),
    cluster,
    node,
  }),
});

/** Returns the outcome for the target, or those for all fences. */
const released = async (
  target: string | undefined,
  accepted: string | null,
  session: Session,
): Promise<readonly Outcome[]> => {
  const tools = toolsOf(session);
  if (target !== undefined) return [await releaseNamed(target, accepted, tools)];
  const fenced = await listFences(session.ports.clusters, session.ports.signal);
  return Promise.all(fenced.map((one) => releaseFenced(one, accepted, tools)));
};

/** Releases fences, with the usual proof or on a person's word. */
export const release = async (
  target: string | undefined,
  options: ReleaseOptions,
  terminal: Terminal,
): Promise<number> => {
  refuseMisuse(target, options);
  const { json = false, accept: accepted = null } = options;
  return withSession(options, terminal, async (session) => {
    const outcomes = await released(target, accepted, session);
    const [only] = outcomes;
    const code =
      target !== undefined && only ? printOutcome(only, json, terminal) : printOutcomes(outcomes, json, terminal);
    await keepByHand('release', outcomes, session, terminal);
    return code;
  });
};
