import { fencesIn, FORCED, refusal, standingInWords, type Fences } from './fences.ts';
import type { Options, Serverless, Writers } from './service.ts';

/** The function that knows which fences stand. */
export interface Doctor {
  readonly name: string;
  /** Its answer to the question of fences.ts; undefined when there is no such function. */
  readonly ask: () => Promise<unknown>;
}

const standing = async (ask: Doctor['ask']): Promise<Fences | null> => {
  const said = await ask();
  return said === undefined ? null : fencesIn(said);
};

const why = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** An install goes only when none of its fences is left standing, for nobody else would take them back. */
export const guardRemoval = async ({ name, ask }: Doctor, { classes }: Pick<Serverless, 'classes'>, options: Options, { log }: Pick<Writers, 'log'>): Promise<void> => {
  const refuse = (reason: string): never => {
    throw new classes.Error(refusal(reason));
  };
  if (options['force-remove']) return log.warning(FORCED);
  const fences = await standing(ask).catch((error: unknown) => refuse(`the function ${name} cannot say whether fences stand: ${why(error)}`));
  if (fences === null) return log.notice(`There is no function ${name} any more: nothing can be asked about fences.`);
  if (fences.length > 0) refuse(standingInWords(fences));
};
