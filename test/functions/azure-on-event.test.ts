import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { onEvent } from '../../functions/azure/on-event.ts';
import type { GetDependencies } from '../../functions/azure/dependencies.ts';
import { doctor } from '../../functions/azure/handlers.ts';
import { testChainOf } from '../../providers/azure/plugin/register.ts';
import { addFault } from '../../sandbox/azure/faults.ts';
import { deallocate } from '../../sandbox/azure/machines.ts';
import { shutdownTakes } from '../../sandbox/azure/scenario.ts';
import { diskIn, machineIn } from '../../sandbox/azure/state.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { AzureWorld } from '../../sandbox/azure-sandbox.ts';
import { memoryKeeper } from '../incidents/memory-keeper.ts';
import { change, scene } from '../sandbox/azure/azure-runs.ts';
import {
  azureInstall,
  cloudEvent,
  gridEvent,
  takeAll,
  post,
  waiting,
  drainQueue,
  type AzureInstall,
} from './azure-install.ts';
import { openCalls } from '../open-calls.ts';

const deliver = (install: AzureInstall, ...messages: readonly unknown[]) =>
  onEvent(install.getDependencies)(messages, install.context);
const decisions = ({ lines }: AzureInstall) => lines.map(({ decision }) => decision);
const holderOf = (world: AzureWorld, disk: string) => diskIn(world, disk)?.attachments[0]?.machine;
const setOf = (machine: string) => machine.replace(/\/virtualmachines\/[^/]+$/, '');

const off = () => {
  const staged = scene();
  change(staged.world, staged.holder, deallocate, 60_000);
  return { ...staged, install: azureInstall(staged.world) };
};

/** Lists of scale sets never answer here. The only thing that passes is the time limit of a list. */
const withHangingLists = (world: AzureWorld, install: AzureInstall): GetDependencies => {
  vi.spyOn(performance, 'now').mockImplementation(world.now);
  onTestFinished(() => void vi.restoreAllMocks());
  const timers: { readonly due: number; readonly ends: AbortController }[] = [];
  const timeout = (ms: number): AbortSignal => {
    const ends = new AbortController();
    timers.push({ due: world.now() + ms, ends });
    return ends.signal;
  };
  const hang = async (signal: AbortSignal) => {
    await nextTurn();
    while (!signal.aborted) {
      const due = Math.min(...timers.flatMap((timer) => (timer.ends.signal.aborted ? [] : [timer.due])));
      world.advance(Math.max(0, due - world.now()));
      timers.filter((timer) => timer.due <= world.now()).forEach(({ ends }) => ends.abort());
    }
    return signal.throwIfAborted();
  };
  return async () => {
    const dependencies = await install.getDependencies();
    const { ports, expand } = dependencies;
    return {
      ...dependencies,
      ports: { ...ports, clock: { ...ports.clock, timeout } },
      expand: async (named, signal) => {
        if (named.some((machine) => setOf(machine) === machine)) await hang(signal);
        return expand(named, signal);
      },
    };
  };
};

describe('a test event that the function doctor sends', () => {
  const asked = async (delivers: boolean) => {
    const { world, install } = off();
    const { keeper, names } = memoryKeeper();
    const wired: GetDependencies = async () => {
      const dependencies = await install.getDependencies();
      const testChain = testChainOf((text) => dependencies.queues.events(text, 0));
      const send: typeof testChain.send = async (...sent) => {
        await testChain.send(...sent);
        world.advance(1_000);
        if (delivers) await onEvent(wired)(takeAll(install), install.context);
      };
      return { ...dependencies, incidents: keeper, testChain: { ...testChain, send } };
    };
    const { status, body } = await doctor(wired)(post({ question: 'test-event' }), install.context);
    return { world, install, names, status, report: JSON.parse(body) };
  };

  it('is confirmed by on-event, which looks at no machine', async () => {
    const { world, install, names, status, report } = await asked(true);
    expect(report.checks).toContainEqual({
      what: 'test event: queue events → on-event',
      verdict: 'ok',
      says: expect.stringMatching(
        /^on-event received it after 1\d{3} ms, and acted on nothing\. Not tried: .*Event Grid/,
      ),
    });
    expect(status).toBe(200);
    expect([names(), decisions(install), waiting(world, install)]).toEqual([
      ['test-events/run-1.json'],
      ['test-event'],
      [],
    ]);
  });

  it('fails if it does not arrive', async () => {
    const { status, report } = await asked(false);
    expect(status).toBe(500);
    expect(report.conclusion).toMatchObject({
      readiness: 'not-ready',
      missing: ['test event: queue events → on-event'],
      next: expect.stringContaining('-f on-event'),
    });
  });
});

describe('a batch', () => {
  it.each([
    ['the schema of Event Grid', (holder: string) => [gridEvent(holder)]],
    ['CloudEvents', (holder: string) => cloudEvent(holder)],
    ['a text, as a queue may deliver it', (holder: string) => JSON.stringify(cloudEvent(holder))],
    ['bytes', (holder: string) => Buffer.from(JSON.stringify(gridEvent(holder)))],
  ])('fences the machine of an event in %s, and leaves nothing in any queue', async (_, message) => {
    const { world, disk, holder, spare, install } = off();
    await drainQueue(world, install, message(holder));
    const queued = Object.values(install.queues).flat();
    expect([holderOf(world, disk), world.parts.azure.violations, queued]).toEqual([spare, [], []]);
    expect(install.lines.at(-1)).toMatchObject({
      level: 'log',
      decision: 'fenced',
      event: 'e-1',
      instance: holder,
      Outcomes: 1,
      Outcome: 'fenced',
    });
  });

  it('looks once at a machine, however often it is named', async () => {
    const { world, holder, install } = off();
    await drainQueue(world, install, gridEvent(holder), cloudEvent(holder), gridEvent(holder, 'start'));
    expect(decisions(install).filter((decision) => decision === 'fenced')).toHaveLength(1);
  });

  it('replaces a scale set by its machines', async () => {
    const { world, disk, holder, spare, install } = off();
    await drainQueue(world, install, gridEvent(setOf(holder)));
    expect(holderOf(world, disk)).toBe(spare);
    const ends = install.lines
      .filter(({ Outcomes }) => Outcomes === 1)
      .map(({ instance, decision }) => `${decision === 'fenced' ? 'fenced' : 'not yet'} ${String(instance)}`);
    expect(new Set(ends)).toEqual(new Set([`not yet ${spare}`, `fenced ${holder}`]));
  });

  it('sends what it cannot read to the dead-letter queue with the reason, and handles the others', async () => {
    const { world, holder, install } = off();
    await drainQueue(world, install, '{"eventType": "Microsoft', { hello: 'world' }, gridEvent(holder));
    expect(install.queues['dead-letters']).toMatchObject([
      { text: '{"eventType": "Microsoft', properties: { reason: expect.stringMatching(/not JSON/) } },
      {
        text: '{"hello":"world"}',
        properties: { reason: expect.stringMatching(/not an event that Cloudfence supports/) },
      },
    ]);
    expect(decisions(install)).toContain('fenced');
    expect(waiting(world, install)).toEqual([]);
  });

  it('survives an event that is nested too deep to be serialized, and handles the others', async () => {
    const { world, holder, install } = off();
    const nested: unknown = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`);
    await drainQueue(world, install, nested, gridEvent(holder));
    expect(install.queues['dead-letters']).toMatchObject([
      { properties: { reason: expect.stringMatching(/not JSON/) } },
    ]);
    expect(decisions(install)).toContain('fenced');
  });

  it('refuses an event of another subscription, and names that', async () => {
    const { holder, install } = off();
    const other = holder.replace(/^\/subscriptions\/[^/]+/, '/subscriptions/99999999-0000-4000-8000-000000000000');
    await deliver(install, gridEvent(other));
    expect(install.lines).toMatchObject([{ level: 'warn', decision: 'foreign', instance: other }]);
    expect(install.queues).toEqual({});
  });
});

describe('an install for some resource groups', () => {
  it.each([
    ['a machine', (id: string) => id],
    ['a scale set', setOf],
  ])('refuses an event about %s of another resource group, and does not ask ARM about it', async (_, about) => {
    const { world, holder } = off();
    const install = azureInstall(world, {}, ['somebody-elses']);
    addFault(world.parts.azure, { times: 100, mishap: { kind: 'error', code: 'AuthorizationFailed', status: 403 } });
    await deliver(install, gridEvent(about(holder)));
    expect(install.lines).toMatchObject([
      {
        level: 'warn',
        decision: 'foreign',
        instance: about(holder),
        says: expect.stringMatching(/resource group .* serves only somebody-elses/),
      },
    ]);
    expect(install.queues).toEqual({});
  });

  it('does not serve a group whose name only begins like that of one of its own', async () => {
    const { world, holder } = off();
    const group = /resourcegroups\/([^/]+)/i.exec(holder)?.[1] ?? '';
    const install = azureInstall(world, {}, [group.slice(0, -1)]);
    await deliver(install, gridEvent(holder));
    expect(decisions(install)).toEqual(['foreign']);
  });

  it('serves its groups in any letter case', async () => {
    const { world, holder } = off();
    const install = azureInstall(world, {}, [(/resourcegroups\/([^/]+)/i.exec(holder)?.[1] ?? '').toUpperCase()]);
    await drainQueue(world, install, gridEvent(holder));
    expect(decisions(install)).toContain('fenced');
  });
});

describe('an event about a whole scale set', () => {
  it('of another subscription is refused, with the name of that', async () => {
    const { holder, install } = off();
    const other = setOf(holder).replace(
      /^\/subscriptions\/[^/]+/,
      '/subscriptions/99999999-0000-4000-8000-000000000000',
    );
    await deliver(install, gridEvent(other));
    expect(install.lines).toMatchObject([{ level: 'warn', decision: 'foreign', instance: other }]);
  });

  it('is reported if the scale set is gone, and nothing is done', async () => {
    const { holder, install } = off();
    const gone = setOf(holder).replace(/[^/]+$/, 'nobody');
    await deliver(install, gridEvent(gone, 'delete'));
    expect(install.lines).toMatchObject([{ decision: 'aside', says: expect.stringContaining(gone) }]);
    expect(install.queues).toEqual({});
  });
});

describe('an instance that ARM denies', () => {
  it.each([
    ['NotFound', 'its scale set lists it', 'power-unknown'],
    ['ResourceNotFound', 'its scale set lists it', 'power-unknown'],
    ['ParentResourceNotFound', 'its disk names it', 'missing-but-disk-held'],
  ])('is not touched (%s) while %s', async (code, because, reason) => {
    const { world, disk, holder } = scene();
    const mishap = { kind: 'error', status: 404, code } as const;
    addFault(world.parts.azure, { call: 'machine.get', mishap, times: 1_000 });
    if (because === 'its disk names it') addFault(world.parts.azure, { call: 'set.list', mishap, times: 1_000 });
    const install = azureInstall(world);
    await drainQueue(world, install, gridEvent(holder));
    expect(install.lines.filter(({ decision }) => decision === 'step')).toEqual([]);
    expect(install.lines).toContainEqual(expect.objectContaining({ because: reason }));
    expect([holderOf(world, disk), world.parts.azure.violations]).toEqual([holder, []]);
  });
});

describe('a machine that has to wait', () => {
  it('is sent again with a delay, its count, and what is known about it, and is not kept in the process', async () => {
    const { world, holder } = scene();
    shutdownTakes(world, holder, 600_000);
    change(world, holder, deallocate, 1_000);
    const install = azureInstall(world);
    await deliver(install, gridEvent(holder));
    expect(waiting(world, install)).toMatchObject([
      {
        seconds: expect.toSatisfy((wait: number) => wait >= 1 && wait <= 30),
        message: { cloudfence: 'look-again', machine: holder, hops: 1 },
      },
    ]);
    expect(machineIn(world, holder)?.power).toBe('deallocating');
  });

  it('comes back as a message of Cloudfence, and is then fenced', async () => {
    const { world, disk, holder, spare } = scene();
    shutdownTakes(world, holder, 600_000);
    change(world, holder, deallocate, 1_000);
    const install = azureInstall(world);
    await deliver(install, gridEvent(holder));
    world.advance(700_000);
    await drainQueue(world, install, ...takeAll(install));
    expect([holderOf(world, disk), waiting(world, install)]).toEqual([spare, []]);
  });
});

it('comes back when the cap has room again, and is then fenced', async () => {
  const { world, disk, holder, spare, install } = off();
  const ledger = getObject(world, 'configmaps', 'cloudfence-ledger', 'kube-system');
  if (ledger) ledger.data = { fences: `another--- - ${Math.floor(world.now() / 1_000)} f 2` };
  await deliver(install, gridEvent(holder));
  expect(install.lines).toContainEqual(
    expect.objectContaining({ decision: 'refused', because: 'cap-reached', CapReached: 1 }),
  );
  expect(waiting(world, install)).toMatchObject([
    { seconds: expect.toSatisfy((wait: number) => wait > 840 && wait <= 900), message: { machine: holder } },
  ]);
  world.advance(900_000);
  await drainQueue(world, install, ...takeAll(install));
  expect([holderOf(world, disk), waiting(world, install)]).toEqual([spare, []]);
});

describe('a message that failed', () => {
  const unreachable = { mishap: { kind: 'error', status: 403, code: 'AuthorizationFailed' }, times: 1_000 } as const;

  it('is sent again with growing delays, and in the end to the dead-letter queue with the reason', async () => {
    const { world, holder, install } = off();
    addFault(world.parts.azure, { ...unreachable, call: 'machine.get' });
    let messages: readonly unknown[] = [gridEvent(holder)];
    const waits: number[] = [];
    while (messages.length > 0) {
      await deliver(install, ...messages);
      waits.push(...waiting(world, install).map(({ seconds }) => seconds));
      messages = takeAll(install);
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 900, 900]);
    expect(install.queues['dead-letters']).toMatchObject([
      {
        text: JSON.stringify(gridEvent(holder)),
        properties: { reason: expect.stringMatching(/^the message failed 11 times: .*AuthorizationFailed/) },
      },
    ]);
  });

  it('is sent again if the members of a set are unknown, while the other machines are fenced', async () => {
    const { world, holder, install } = off();
    addFault(world.parts.azure, { ...unreachable, call: 'set.list' });
    await deliver(install, gridEvent(setOf(holder)), gridEvent(holder));
    expect(install.lines).toContainEqual(expect.objectContaining({ decision: 'fenced', instance: holder }));
    expect(waiting(world, install)).toMatchObject([
      { seconds: 5, message: { cloudfence: 'retry', failures: 1, body: JSON.stringify(gridEvent(setOf(holder))) } },
    ]);
  });

  it('is sent again if a list of a set never ends, and leaves the other machines half of the time', async () => {
    const { world, holder, spare, disk, install } = off();
    const sets = ['a', 'b', 'c'].map((name) => setOf(holder).replace(/[^/]+$/, name));
    await onEvent(withHangingLists(world, install))(
      [...sets.map((set) => gridEvent(set)), gridEvent(holder)],
      install.context,
    );
    expect(install.lines).toContainEqual(expect.objectContaining({ decision: 'fenced', instance: holder }));
    world.advance(60_000);
    expect(holderOf(world, disk)).toBe(spare);
    expect(waiting(world, install).map(({ message }) => message)).toMatchObject(
      sets.map((set) => ({ cloudfence: 'retry', failures: 1, body: JSON.stringify(gridEvent(set)) })),
    );
  });

  it('is sent again together with all others of its batch that failed', async () => {
    const { world, holder, spare, install } = off();
    addFault(world.parts.azure, { ...unreachable, call: 'machine.get' });
    const calls = openCalls();
    const counted: GetDependencies = async () => {
      const { queues, ...others } = await install.getDependencies();
      const events: typeof queues.events = async (...sent) => {
        await calls.during(nextTurn);
        return queues.events(...sent);
      };
      return { ...others, queues: { ...queues, events } };
    };
    await onEvent(counted)([gridEvent(holder), gridEvent(spare)], install.context);
    expect([calls.most(), waiting(world, install).length]).toEqual([2, 2]);
  });

  it('looks at its other machine again only as often as it comes back', async () => {
    const { world, holder, spare } = scene();
    shutdownTakes(world, holder, 600_000);
    change(world, holder, deallocate, 1_000);
    addFault(world.parts.azure, { ...unreachable, call: 'machine.get', path: spare.split('/').slice(-3).join('/') });
    const install = azureInstall(world);
    let messages: readonly unknown[] = [[gridEvent(holder), gridEvent(spare)]];
    for (let delivery = 1; delivery <= 4; delivery += 1) {
      await deliver(install, ...messages);
      expect(waiting(world, install)).toMatchObject([{ message: { cloudfence: 'retry', failures: delivery } }]);
      messages = takeAll(install);
    }
    expect(decisions(install).filter((decision) => decision === 'waiting')).toHaveLength(4);
  });

  it('is returned to Service Bus with its batch if nothing can be sent', async () => {
    const { install } = off();
    install.outage.bus = true;
    await expect(deliver(install, 'nonsense')).rejects.toThrow('Service Bus cannot be reached');
  });

  it('is returned to Service Bus at its last failure, too, if its dead letter cannot be sent', async () => {
    const { world, holder, install } = off();
    addFault(world.parts.azure, { ...unreachable, call: 'machine.get' });
    install.outage.bus = true;
    const last = { cloudfence: 'retry', failures: 10, body: JSON.stringify(gridEvent(holder)) };
    await expect(deliver(install, last)).rejects.toThrow('Service Bus cannot be reached');
  });
});
