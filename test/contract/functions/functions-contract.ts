import { describe, expect, it } from 'vitest';

/** What happens to a message: the platform deletes it, or delivers it again. */
export type Ending = 'acknowledged' | 'comes back';

/**
 * The function on-event of one install, with its real entry point, a cloud, and a cluster. The queues are the
 * platform's, or stand-ins that keep what is sent.
 */
export interface FunctionsHarness {
  /** An event about the machine, as the cloud sends it to the queue. */
  readonly event: () => unknown;
  /**
   * Delivers messages as the platform does, in one batch if the platform has batches. Returns one ending for each
   * message.
   */
  readonly deliver: (...messages: readonly unknown[]) => Promise<readonly Ending[]>;
  /** What the function sends to itself for a later look, with the delay. */
  readonly delayed: () => readonly { readonly text: string; readonly seconds: number }[];
  /** Waits for the longest of these delays, and then delivers those messages. */
  readonly deliverDelayed: () => Promise<readonly Ending[]>;
  readonly deadLetters: () => readonly { readonly body: string; readonly reason: string }[];
  readonly isFenced: () => boolean;
  /** What two machines wrote to one disk at the same time. */
  readonly violations: () => readonly unknown[];
  /** From now on, nothing can be sent to a queue. */
  readonly breakQueue: () => void;
  /** From now on, the cloud answers no read of the machine. */
  readonly breakCloud: () => void;
  readonly wait: (ms: number) => void;
}

/** Creates an install with a machine that is off, or that will be off in five minutes. */
export type OpenFunctions = (machine: 'off' | 'stopping') => FunctionsHarness;

const FIVE_MINUTES = 300_000;
const NOT_JSON = '{"an event that is cut o';

const endsOfOneMessage = (open: OpenFunctions): void => {
  it('fences the machine that is off, and acknowledges the message', async () => {
    const its = open('off');
    expect(await its.deliver(its.event())).toEqual(['acknowledged']);
    its.wait(FIVE_MINUTES);
    expect([its.isFenced(), its.delayed(), its.deadLetters(), its.violations()]).toEqual([true, [], [], []]);
  });

  it('acknowledges a second delivery, and changes nothing', async () => {
    const its = open('off');
    await its.deliver(its.event());
    expect(await its.deliver(its.event())).toEqual(['acknowledged']);
    expect([its.isFenced(), its.deadLetters(), its.violations()]).toEqual([true, [], []]);
  });

  it('sends itself a delayed message about a machine that has to wait, and then fences the machine', async () => {
    const its = open('stopping');
    expect(await its.deliver(its.event())).toEqual(['acknowledged']);
    expect(its.isFenced()).toBe(false);
    expect(its.delayed()).toEqual([{ text: expect.any(String), seconds: expect.any(Number) }]);
    expect(its.delayed().every(({ seconds }) => seconds >= 1)).toBe(true);
    its.wait(FIVE_MINUTES);
    expect(await its.deliverDelayed()).toEqual(['acknowledged']);
    expect([its.isFenced(), its.deadLetters(), its.violations()]).toEqual([true, [], []]);
  });

  it.each([
    ['is not JSON', NOT_JSON],
    ['is no event that Cloudfence knows', '{"hello":"world"}'],
  ])('makes a dead letter with a reason of a message that %s', async (_, body) => {
    const its = open('off');
    expect(await its.deliver(body)).toEqual(['acknowledged']);
    expect(its.deadLetters()).toEqual([{ body, reason: expect.stringMatching(/\w{4}/) }]);
    expect(its.isFenced()).toBe(false);
  });

  it('keeps the message while the cloud answers no read, and does nothing', async () => {
    const its = open('off');
    its.breakCloud();
    expect(await its.deliver(its.event())).toEqual(['comes back']);
    expect([its.isFenced(), its.deadLetters()]).toEqual([false, []]);
  });
};

const endsOfABatch = (open: OpenFunctions): void => {
  it('fences the machine of a good message next to one that cannot be read', async () => {
    const its = open('off');
    expect(await its.deliver(NOT_JSON, its.event())).toEqual(['acknowledged', 'acknowledged']);
    expect([its.isFenced(), its.deadLetters().map(({ body }) => body)]).toEqual([true, [NOT_JSON]]);
  });

  it('loses no message that has to wait while the queue is down, and fences the machines of the others', async () => {
    const its = open('off');
    its.breakQueue();
    const [poison] = await its.deliver(NOT_JSON, its.event());
    expect([poison, its.isFenced(), its.violations()]).toEqual(['comes back', true, []]);
  });

  it('looks once at a machine that two messages name', async () => {
    const its = open('stopping');
    await its.deliver(its.event(), its.event());
    its.wait(FIVE_MINUTES);
    await its.deliverDelayed();
    expect([its.isFenced(), its.deadLetters(), its.violations()]).toEqual([true, [], []]);
  });
};

/** What the function on-event of every cloud does with messages. */
export const functionsContract = (name: string, open: OpenFunctions): void => {
  describe(`the contract of on-event on ${name}: a message`, () => {
    endsOfOneMessage(open);
  });
  describe(`the contract of on-event on ${name}: a batch`, () => {
    endsOfABatch(open);
  });
};
