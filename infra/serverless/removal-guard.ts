import type { Deployer } from './deployer.ts';
import { fencesIn, FORCED, QUESTION, refusal, standingInWords } from './fences.ts';
import type { Options, Serverless, Writers } from './service.ts';

const why = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** An install goes only when none of its fences is left standing, for nobody else would take them back. */
export const guardRemoval = async (deployer: Deployer, { classes }: Serverless, options: Options, { log }: Writers): Promise<void> => {
  const refuse = (reason: string): never => {
    throw new classes.Error(refusal(reason));
  };
  if (options['force-remove']) return log.warning(FORCED);
  const said = await deployer.invoke('doctor', QUESTION).catch((error: unknown) => refuse(`the function doctor cannot say whether fences stand: ${why(error)}`));
  if (said === undefined) return log.notice('There is no function doctor any more: nothing can be asked about fences.');
  const fences = fencesIn(said);
  if (fences.length > 0) refuse(standingInWords(fences));
};
