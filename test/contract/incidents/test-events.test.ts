import { confirmTestEvents } from '../../../functions/messages.ts';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openLiveSandbox, type LiveSandbox } from '../../cli/live-sandbox.ts';
import { runCli } from '../../cli/run-cli.ts';
import { portsOver } from '../../simulation/ports.ts';
import { keepers, type KeeperHarness } from './stand-ins.ts';

/** `doctor --test-event` sends an event to the entrance of an install, and waits for its arrival. */

let sandbox: LiveSandbox;
beforeAll(async () => {
  sandbox = await openLiveSandbox();
});
afterAll(() => sandbox.close());

const entrances: Readonly<Record<string, (harness: KeeperHarness) => string>> = {
  aws: () => 'cloudfence-prod',
  azure: ({ address }) => address.replace(/\/incidents-container$/, '/events'),
  gcp: () => 'projects/my-project/topics/cloudfence-prod-events',
};
const names: Readonly<Record<string, string>> = {
  aws: 'test event: event bus → rule cloudfence-prod-test-event → queue cloudfence-prod → on-event',
  azure: 'test event: queue events → on-event',
  gcp: 'test event: topic cloudfence-prod-events → push → on-event',
};
const topics: Readonly<Record<string, string>> = {
  aws: 'cloudfence.test: Cloudfence Test Event',
  azure: 'events',
  gcp: 'projects/my-project/topics/cloudfence-prod-events',
};

describe.each(keepers)('doctor --test-event on %s', (cloud, _, open) => {
  let install: KeeperHarness;
  let config: string;
  beforeEach(async () => {
    install = await open();
    config = path.join(sandbox.folder, 'test-events.yaml');
    const clusters = [{ name: 'sandbox', kubeconfig: sandbox.kubeconfig }];
    await writeFile(config, JSON.stringify({ incidents: install.address, clusters }));
  });
  afterEach(() => install.close());

  /** The part of on-event that handles test events. */
  const onEvent = (message: unknown) =>
    confirmTestEvents(
      [{ messageId: 'm-1', body: JSON.stringify(message) }],
      { ports: portsOver(sandbox.world), incidents: install.keeper, log: () => undefined },
      async (others) => expect(others).toEqual([]),
    );
  const doctor = async (...more: readonly string[]) => {
    const environment = { ...install.environment, ...sandbox.environment };
    const entrance = entrances[cloud]?.(install) ?? '';
    const args = ['doctor', '--test-event', entrance, '--config', config, '--json', '--timeout', '60s', ...more];
    const { code, stdout, stderr } = await runCli(args, sandbox, { environment });
    return { code, report: stdout === '' ? null : JSON.parse(stdout), stderr };
  };

  it('sends it with the credentials of the person, and says how long it took', async () => {
    install.arrival.act = onEvent;
    const { code, report } = await doctor();
    expect(report).toMatchObject({
      verdict: 'ok',
      checks: expect.arrayContaining([
        {
          what: names[cloud],
          verdict: 'ok',
          says: expect.stringMatching(/^on-event received it after \d+ ms, and acted on nothing\. Not tried: /),
        },
        expect.objectContaining({ what: 'sandbox: may patch nodes' }),
      ]),
    });
    expect(code).toBe(0);
    expect(install.announced).toMatchObject([{ topic: topics[cloud], message: { cloudfence: 'test-event' } }]);
  });

  it('is not ready if nothing arrives, and says where to look', async () => {
    expect(await doctor()).toMatchObject({
      code: 1,
      report: {
        conclusion: { readiness: 'not-ready', missing: [names[cloud]], next: expect.stringMatching(/on-event/) },
        checks: expect.arrayContaining([
          expect.objectContaining({ says: expect.stringMatching(/did not confirm it within 30 s: look /) }),
        ]),
      },
    });
  });

  it('says which call is denied', async () => {
    install.trouble.status = 403;
    const { code, report } = await doctor();
    expect(code).toBe(1);
    expect(report.checks).toContainEqual(
      expect.objectContaining({ what: names[cloud], verdict: 'fail', says: expect.stringMatching(/403.*: look /) }),
    );
    expect(install.announced).toEqual([]);
  });
});

describe('doctor --test-event', () => {
  it.each([
    ['without a place where the arrival shows', {}, 'cloudfence-prod', /needs `incidents` in the configuration/],
    ['with a folder as that place', { incidents: './incidents' }, 'cloudfence-prod', /needs `incidents`/],
    [
      'at no entrance',
      { incidents: 's3://a-bucket' },
      'ftp://x?sig=secret',
      /"ftp:\/\/x\?…" is no place .*<service>-<stage>/,
    ],
  ])('is a usage error %s', async (_, settings, entrance, message) => {
    const config = path.join(sandbox.folder, 'wrong.yaml');
    const clusters = [{ name: 'sandbox', kubeconfig: sandbox.kubeconfig }];
    await writeFile(config, JSON.stringify({ ...settings, clusters }));
    const { code, stderr } = await runCli(['doctor', '--test-event', entrance, '--config', config], sandbox);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) });
  });
});
