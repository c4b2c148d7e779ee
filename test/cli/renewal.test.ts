import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../config/environment.ts';
import { type Session, withSession } from '../../cli/session.ts';
import { openStandIn, type StandIn } from '../providers/stand-in.ts';
import { openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { withEnvironment } from './run-cli.ts';

/** A command that cleans up after Ctrl-C reaches its clusters, however old their secret is by then. */

let sandbox: LiveSandbox;
let secrets: StandIn;
beforeEach(async () => {
  sandbox = await openLiveSandbox();
  const SecretString = await readFile(sandbox.kubeconfig, 'utf8');
  secrets = await openStandIn(() => ({ body: { Name: 'kube', SecretString } }));
});
afterEach(() => Promise.all([secrets.close(), sandbox.close()]));

const KEPT_FOR_MS = 10 * 60_000;

/** Interrupts the command once it has read its secret, and asks the cluster again when the secret is old. */
const askAfterInterrupt = async (renewsUntil: AbortSignal | null): Promise<unknown> => {
  const config = path.join(sandbox.folder, 'cloudfence.yaml');
  await writeFile(config, 'clusters: [{ name: blue, secret: kube }]\n');
  const started = systemClock();
  let later = 0;
  const now = () => ({ wall: started.now().wall + later, mono: started.now().mono + later });
  const quiet = { line: () => undefined, complain: () => undefined, screens: { output: null, errors: null } };
  const terminal = { ...quiet, clock: { ...started, now }, input: () => process.stdin };
  const asks = async ({ clusters, ports }: Session): Promise<number> => {
    const ask = () => clusters[0]?.cluster.identify('nobody', new AbortController().signal);
    expect(await ask()).toBeNull();
    process.emit('SIGINT');
    expect(ports.signal.aborted).toBe(true);
    later = KEPT_FOR_MS + 1;
    expect(await ask()).toBeNull();
    return 0;
  };
  const environment = { ...sandbox.environment, AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url };
  return withEnvironment(environment, () =>
    withSession({ config, timeout: 60_000 }, terminal, asks, { whenInterrupted: 130, renewsUntil }),
  );
};

it('a command that cleans up renews its secret after the first Ctrl-C', async () => {
  expect(await askAfterInterrupt(new AbortController().signal)).toBe(0);
  expect(secrets.asked.length).toBeGreaterThan(1);
});

it('any other command reads no secret after Ctrl-C, and still uses the one that it has', async () => {
  expect(await askAfterInterrupt(null)).toBe(0);
  expect(secrets.asked).toHaveLength(1);
});
