import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { parseConfiguration } from '../../config/configuration-text.ts';
import type { RawParameters } from '../../infra/serverless/deployer.ts';
import type { LiveCloud } from './live-cloud.ts';
import { runCli } from './run-cli.ts';

/** `init` in a cluster of the sandbox, and what can be done with the files that it writes. */

type Live = Pick<LiveCloud<unknown>, 'clock' | 'environment' | 'folder' | 'kubeconfig'>;

/** Returns the file of the stage, and the same with the defaults of all parameters. */
export const stageOf = async (live: Live, defaults: string) => {
  const file = path.join(live.folder, 'stage.yml');
  const answer = await runCli(['init', '--output', file, '--force'], live);
  const text = await readFile(file, 'utf8');
  const written: RawParameters = parse(text);
  const usual: RawParameters = parse(await readFile(defaults, 'utf8'));
  return {
    answer,
    file,
    text,
    written,
    whole: { ...usual, ...written },
  };
};

/**
 * Follows the path of a person who uses only the CLI: the file is written, it can be loaded, and the doctor works with
 * it.
 */
export const pathWithoutFunctions = async (live: Live) => {
  const file = path.join(live.folder, 'cloudfence.yml');
  const init = await runCli(['init', '--for', 'cli', '-o', file], live);
  const configuration = parseConfiguration(await readFile(file, 'utf8'), file);
  const { KUBECONFIG: _own, ...environment } = live.environment;
  const doctor = await runCli(['doctor', '--config', file], { ...live, environment, kubeconfig: '' });
  return { init, configuration, doctor };
};
