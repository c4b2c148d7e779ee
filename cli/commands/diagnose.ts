import { answerJson, answerLines, type AnswerJson } from '../../diagnosis/answer.ts';
import { parseTarget } from '../../diagnosis/target.ts';
import { runDiagnosis } from '../../config/diagnose.ts';
import type { Terminal } from '../answer.ts';
import { NEEDS_PERSON, STILL_WAITING } from '../exit-code.ts';
import { withSession, type CommonOptions } from '../session.ts';

/** Returns 0 if no pod waits, 3 if the waits end by themselves or with a fence, and 4 if a person has to act. */
const exitCodeFor = ({ findings }: AnswerJson): number => {
  const endings = findings.map(({ cause }) => cause.ending);
  if (endings.includes('by-person')) return NEEDS_PERSON;
  return endings.some((ending) => ending !== 'over') ? STILL_WAITING : 0;
};

/** Says why pods wait for their volumes. Only reads. */
export const diagnose = (target: string | undefined, options: CommonOptions, terminal: Terminal): Promise<number> => {
  const asked = parseTarget(target);
  return withSession(options, terminal, async ({ openedCloud, clusters: openClusters, policy, ports, deadline }) => {
    const answer = answerJson(await runDiagnosis(asked, { openedCloud, openClusters, policy, ports, deadline }));
    if (options.json) terminal.line(JSON.stringify(answer));
    else for (const line of answerLines(answer)) terminal.line(line);
    return exitCodeFor(answer);
  });
};
