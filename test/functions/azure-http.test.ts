import { afterEach, describe, expect, it, vi } from 'vitest';
import { doctor, fence, replay, sweep } from '../../functions/azure/handlers.ts';
import { invocationContext } from '../../functions/azure/http.ts';
import { webhook } from '../../functions/azure/webhook.ts';
import { deallocate } from '../../sandbox/azure/machines.ts';
import { diskIn } from '../../sandbox/azure/state.ts';
import { json } from '../providers/azure/fixtures.ts';
import { change, scene } from '../sandbox/azure/azure-runs.ts';
import { azureInstall, cloudEvent, gridEvent, post, takeAll, drainQueue } from './azure-install.ts';

afterEach(() => void vi.useRealTimers());

const off = () => {
  const staged = scene();
  change(staged.world, staged.holder, deallocate, 60_000);
  return { ...staged, install: azureInstall(staged.world) };
};

const said = ({ body }: { readonly body: string }) => JSON.parse(body) as unknown;
const alertAbout = (machine: string) => ({
  schemaId: 'azureMonitorCommonAlertSchema',
  data: {
    essentials: { alertTargetIDs: [machine] },
    alertContext: {
      operationName: 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/deallocate/action',
      status: 'Succeeded',
    },
  },
});

describe('the webhook', () => {
  it.each([
    ['an alert of the activity log', alertAbout],
    ['an event in the schema of Event Grid', (machine: string) => [gridEvent(machine)]],
    ['a CloudEvent', (machine: string) => cloudEvent(machine)],
  ])('queues %s, and then the machine is fenced', async (_, body) => {
    const { world, disk, holder, spare, install } = off();
    expect(await webhook(install.getDependencies)(post(body(holder)), install.context)).toMatchObject({ status: 202 });
    await drainQueue(world, install, ...takeAll(install));
    expect(diskIn(world, disk)?.attachments[0]?.machine).toBe(spare);
  });

  it('queues a CloudEvent in binary mode as the event that it is', async () => {
    const { world, disk, holder, spare, install } = off();
    const { data, ...attributes } = cloudEvent(holder);
    const headers = Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`Ce-${name}`, value]));
    expect(
      await webhook(install.getDependencies)(
        post(data, { headers: { 'Content-Type': 'application/json', ...headers } }),
        install.context,
      ),
    ).toMatchObject({ status: 202 });
    await drainQueue(world, install, ...takeAll(install));
    expect(diskIn(world, disk)?.attachments[0]?.machine).toBe(spare);
  });

  it('queues a CloudEvent in binary mode with too many levels, and it becomes a dead letter', async () => {
    const { world, install } = off();
    const { data: _data, ...attributes } = cloudEvent('x');
    const headers = Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value]));
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    expect(await webhook(install.getDependencies)(post(deep, { headers }), install.context)).toMatchObject({
      status: 202,
    });
    const sent = takeAll(install);
    expect(sent.map((text) => text.includes(deep))).toEqual([true]);
    await drainQueue(world, install, ...sent);
    expect(install.queues['dead-letters']).toHaveLength(1);
  });

  it('answers the handshakes of both schemas, and queues neither', async () => {
    const { install } = off();
    const answer = await webhook(install.getDependencies)(
      post(json('subscription-validation.request.docs.json'), {
        headers: { 'Aeg-Event-Type': 'SubscriptionValidation' },
      }),
      install.context,
    );
    expect([answer.status, said(answer)]).toEqual([
      200,
      { validationResponse: '512d38b6-c7b8-40c8-89fe-f46f9e9622b6' },
    ]);
    const options = await webhook(install.getDependencies)(
      post('', {
        method: 'OPTIONS',
        headers: { 'WebHook-Request-Origin': 'eventgrid.azure.net', 'WebHook-Request-Rate': '120' },
      }),
      install.context,
    );
    expect(options).toMatchObject({
      status: 200,
      headers: { 'webhook-allowed-origin': 'eventgrid.azure.net', 'webhook-allowed-rate': '120' },
    });
    expect(install.queues).toEqual({});
  });

  it('queues nothing for an OPTIONS request without a handshake', async () => {
    const { install } = off();
    expect(await webhook(install.getDependencies)(post('', { method: 'OPTIONS' }), install.context)).toMatchObject({
      status: 405,
    });
    expect(install.queues).toEqual({});
  });

  it('asks for a retry if the queue cannot be reached', async () => {
    const { holder, install } = off();
    install.outage.bus = true;
    expect(await webhook(install.getDependencies)(post(gridEvent(holder)), install.context)).toMatchObject({
      status: 503,
    });
    expect(install.lines).toMatchObject([{ level: 'error', decision: 'failed' }]);
  });

  it.each([
    ['of one byte', 'x'.repeat(200_000)],
    ['of three bytes', '中'.repeat(70_000)],
  ])('accepts nothing that no queue would accept, and logs that (letters %s)', async (_, text) => {
    const { install } = off();
    expect(await webhook(install.getDependencies)(post(text), install.context)).toMatchObject({ status: 413 });
    expect(install.lines).toMatchObject([{ level: 'warn', decision: 'not-understood', because: 'too-large' }]);
  });
});

it('an invocation logs under its own name, although another one of the process has begun since', async () => {
  const { install } = off();
  const dependencies = await install.getDependencies();
  const logged: string[] = [];
  const begun = (name: string) =>
    invocationContext(async () => dependencies, { ...install.context, log: () => void logged.push(name) });
  const first = await begun('first');
  await begun('second');
  first.dependencies.log({ decision: 'swept' });
  expect(logged).toEqual(['first']);
});

describe('a request by hand', () => {
  it('has no more time if the platform was slow to start: the time limit counts from the beginning', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { install } = off();
    const { limit } = await invocationContext(async () => {
      vi.advanceTimersByTime(20_000);
      return install.getDependencies();
    }, install.context);
    expect(limit.getRemainingTimeInMillis()).toBe(40_000);
  });

  it('fences the machine that it names', async () => {
    const { install, holder } = off();
    const answer = await fence(install.getDependencies)(post({ resourceId: holder }), install.context);
    expect([answer.status, said(answer)]).toMatchObject([200, { outcome: 'fenced' }]);
  });

  it('fences the machine that a pod leads to', async () => {
    const { install, holder } = off();
    const answer = await fence(install.getDependencies)(post({ target: 'pod/default/db-0' }), install.context);
    expect([answer.status, said(answer)]).toMatchObject([200, { outcome: 'fenced', instance: holder }]);
  });

  it('does not fence a whole scale set, and does not accept a statement about all its machines', async () => {
    const { world, disk, install, holder } = off();
    const set = holder.replace(/\/virtualmachines\/[^/]+$/, '');
    for (const resourceId of [set, `azure://${set}`]) {
      const answer = await fence(install.getDependencies)(
        post({ resourceId, assertOff: true, reason: 'I looked' }),
        install.context,
      );
      expect([answer.status, answer.body]).toEqual([
        400,
        expect.stringMatching(/names a scale set: name one of its machines/),
      ]);
    }
    world.advance(10_000);
    expect(diskIn(world, disk)?.attachments[0]?.machine).toBe(holder);
  });

  it('reports in a dry run of a whole scale set what it would do', async () => {
    const { world, disk, install, holder } = off();
    const answer = await replay(install.getDependencies)(
      post({ ...gridEvent(holder.replace(/\/virtualmachines\/[^/]+$/, '')), dryRun: true }),
      install.context,
    );
    expect(said(answer)).toMatchObject({ results: [{ dryRun: true }, { dryRun: true }] });
    world.advance(10_000);
    expect(diskIn(world, disk)?.attachments[0]?.machine).toBe(holder);
  });

  it('recognizes a dry run in base64, into which a queue may have converted it', async () => {
    const { install, holder } = off();
    const answer = await replay(install.getDependencies)(
      post(Buffer.from(JSON.stringify({ resourceId: holder, dryRun: true })).toString('base64')),
      install.context,
    );
    expect(said(answer)).toMatchObject({ outcome: 'would-fence', dryRun: true });
  });

  it('gets an answer that says what is wrong with it', async () => {
    const { install } = off();
    const answer = await fence(install.getDependencies)(post({ instanceId: 'i-1' }), install.context);
    expect([answer.status, answer.body]).toEqual([400, expect.stringMatching(/resourceId/)]);
  });

  it('to the doctor lists the unfinished fences', async () => {
    const { install, holder } = off();
    await fence(install.getDependencies)(post({ resourceId: holder }), install.context);
    expect(said(await doctor(install.getDependencies)(post({ question: 'fences' }), install.context))).toEqual({
      fences: [{ cluster: 'sandbox', node: expect.any(String), instance: holder }],
    });
  });
});

it('to sweep finds a machine although all its events were lost, and reports how many it left', async () => {
  const { world, disk, spare, install } = off();
  world.advance(120_000);
  expect(await sweep(install.getDependencies)({}, install.context)).toMatchObject({ results: [{ outcome: 'fenced' }] });
  world.advance(60_000);
  expect(diskIn(world, disk)?.attachments[0]?.machine).toBe(spare);
  expect(install.lines.at(-1)).toMatchObject({ decision: 'swept', DeadNodeUnfenced: 0 });
});
