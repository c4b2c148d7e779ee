import { openIncidents, openTestChain } from '../config/clouds.ts';
import { readVariable } from '../config/environment.ts';
import type { Configuration } from '../config/schema.ts';
import { asCloudfenceError } from '../fencing/model/errors.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import { keepIncidents, type RunLogs } from '../functions/incidents.ts';
import type { Occasion } from '../incidents/of-run.ts';
import type { IncidentKeeper } from '../incidents/keep.ts';
import type { IncidentPlace, TestChain } from '../providers/plugin.ts';
import type { Output } from './answer.ts';
import { folderKeeper } from './incident-folder.ts';

/** Where the CLI reads and stores incidents. */

/** An address has a scheme. Everything else is a folder. */
export const isAddress = (place: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(place);

/** Opens the incidents at an address. @throws CloudfenceError */
export const openPlace = (address: string, { region }: Pick<Configuration, 'region'>): Promise<IncidentPlace> =>
  openIncidents(address, { variable: readVariable, region: region ?? null });

/** Opens the chain of events behind an entrance. @throws CloudfenceError */
export const openChain = (entrance: string, { region }: Pick<Configuration, 'region'>): Promise<TestChain> =>
  openTestChain(entrance, { variable: readVariable, region: region ?? null });

/** Warns people about incidents that could not be stored. */
export const warnings =
  ({ complain }: Pick<Output, 'complain'>) =>
  (line: object): void =>
    complain(`cloudfence: ${'says' in line ? String(line.says) : 'the incident is not complete'}`);

/** The trigger is a person with this command. */
const occasionOfCommand = (command: string): Occasion => ({
  trigger: { kind: 'person', event: null, says: `cloudfence ${command}`, happened: null },
  account: null,
  region: null,
});

interface Shown {
  readonly settings: Configuration;
  readonly logs: RunLogs;
  readonly ports: Ports;
}

/** No command waits longer for this than the functions do. */
const LASTS_MS = 6_000;

/** The stage's sweep sends the messages about incidents in a bucket. For a folder, there is no sweep. */
const openKeeper = async (place: string, settings: Configuration): Promise<IncidentKeeper> =>
  isAddress(place) ? { objects: (await openPlace(place, settings)).objects, announce: null } : folderKeeper(place);

/**
 * Stores what the runs of a command show, if the configuration names a place. This happens after the answer, and a
 * failure is only a warning.
 */
export const keepByHand = async (
  command: string,
  outcomes: readonly Outcome[],
  { settings, logs, ports }: Shown,
  output: Output,
): Promise<void> => {
  const { incidents: place } = settings;
  if (place === undefined || outcomes.every(({ dryRun }) => dryRun)) return;
  const log = warnings(output);
  try {
    const keeping = { incidents: await openKeeper(place, settings), ports, log };
    await keepIncidents(outcomes, logs, () => occasionOfCommand(command), keeping, LASTS_MS);
  } catch (caught) {
    log({ says: `the incident is not complete: ${asCloudfenceError(caught).message}` });
  }
};
