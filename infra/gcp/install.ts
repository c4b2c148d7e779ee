import type { CheckedInstall } from './check.ts';
import { names, type Names } from './names.ts';

/** What is deployed, before anything is. */
export interface Install extends CheckedInstall {
  readonly prefix: string;
  readonly names: Names;
}

export const installOf = (prefix: string, checked: CheckedInstall): Install => {
  const { project, region } = checked.parameters;
  return { ...checked, prefix, names: names({ project, region, prefix }) };
};

const SECOND = 1_000;

export const seconds = (ms: number): string => `${ms / SECOND}s`;

/** What each function is started with: no secret is in it. */
export const environmentOf = ({ parameters, settings, names }: Install, name: string): Readonly<Record<string, string>> => ({
  // One arena for all threads of Node's: 5 MB less of memory, and no slower.
  MALLOC_ARENA_MAX: '1',
  CLOUDFENCE_SETTINGS: settings,
  CLOUDFENCE_PROJECTS: [parameters.project, ...parameters.projects].join(','),
  CLOUDFENCE_AUDIENCE: names.address(name),
  CLOUDFENCE_CALLER: names.caller,
  ...(name === 'sweep' && { CLOUDFENCE_DOCTOR: names.doctor }),
  ...(name === 'doctor' && { CLOUDFENCE_ASKED_AT: names.address('sweep') }),
  CLOUDFENCE_BEHIND_CLOUD_RUN: 'true',
  CLOUDFENCE_AGAIN_TOPIC: names.topic('again'),
  CLOUDFENCE_DEAD_LETTER_TOPIC: names.topic('dead-letters'),
  CLOUDFENCE_TIMEOUT_SECONDS: String(parameters.timeout / SECOND),
});
