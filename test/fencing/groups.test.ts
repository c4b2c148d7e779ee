import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { createGroups, type Group, type GroupMember } from '../../fencing/loop/groups.ts';

/** Requests with names. The test decides when each group of them is answered. */

interface Asked extends GroupMember {
  readonly name: string;
}

const asked = (name: string, signal = new AbortController().signal) => {
  const reject = vi.fn<(error: unknown) => void>();
  return { name, signal, reject, tries: 0 };
};

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const opened = (most?: number) => {
  const seen: string[][] = [];
  const open: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  const groups = createGroups<Asked>((group: Group<Asked>) => {
    seen.push(group.map(({ name }) => name));
    return new Promise((resolve, reject) => void open.push({ resolve, reject }));
  }, most);
  return {
    groups,
    seen,
    answer: async () => {
      open.shift()?.resolve();
      await settled();
    },
    fail: async (error: Error) => {
      open.shift()?.reject(error);
      await settled();
    },
  };
};

const namesOf = (some: readonly Asked[]): readonly string[] => some.map(({ name }) => name);

describe('requests that are answered in groups', () => {
  it('do not wait if they are the first, and form one group while another is answered', async () => {
    const { groups, seen, answer } = opened();
    expect(groups.isAnswering()).toBe(false);
    for (const name of ['a', 'b', 'c']) groups.add(asked(name));
    expect([seen, namesOf(groups.waiting()), groups.isAnswering()]).toEqual([[['a']], ['b', 'c'], true]);
    await answer();
    expect([seen, groups.waiting(), groups.isAnswering()]).toEqual([[['a'], ['b', 'c']], [], true]);
    await answer();
    expect([seen.length, groups.isAnswering()]).toEqual([2, false]);
    groups.add(asked('d'));
    expect(seen.at(-1)).toEqual(['d']);
  });

  it('form a group of at most as many as one call answers', async () => {
    const { groups, seen, answer } = opened(2);
    for (const name of ['a', 'b', 'c', 'd']) groups.add(asked(name));
    await answer();
    await answer();
    expect(seen).toEqual([['a'], ['b', 'c'], ['d']]);
  });

  it('are rejected together if their call fails, and the next group follows', async () => {
    const { groups, seen, answer, fail } = opened();
    const [one, two, three, four] = ['a', 'b', 'c', 'd'].map((name) => asked(name));
    if (!one || !two || !three || !four) throw new Error('four were made');
    for (const each of [one, two, three]) groups.add(each);
    await answer();
    const error = new Error('no answer');
    groups.add(four);
    await fail(error);
    expect([two, three].map(({ reject }) => reject.mock.calls)).toEqual([[[error]], [[error]]]);
    expect([one.reject.mock.calls, four.reject.mock.calls, seen.at(-1)]).toEqual([[], [], ['d']]);
  });
});

describe('a request whose caller gives up', () => {
  it('is rejected with the reason, and belongs to no group', async () => {
    const { groups, seen, answer } = opened();
    const controller = new AbortController();
    const given = asked('b', controller.signal);
    for (const each of [asked('a'), given, asked('c')]) groups.add(each);
    const reason = new Error('time is up');
    controller.abort(reason);
    expect(given.reject.mock.calls).toEqual([[reason]]);
    await answer();
    expect(seen).toEqual([['a'], ['c']]);
  });

  it('leaves nothing to answer if it was the only one', async () => {
    const { groups, seen, answer } = opened();
    const controller = new AbortController();
    for (const each of [asked('a'), asked('b', controller.signal)]) groups.add(each);
    controller.abort();
    await answer();
    expect([seen, groups.isAnswering()]).toEqual([[['a']], false]);
  });

  it('does not wait if its caller gave up before', () => {
    const { groups, seen } = opened();
    const reason = new Error('too late');
    const late = asked('a', AbortSignal.abort(reason));
    groups.add(late);
    expect([seen, late.reject.mock.calls, groups.waiting()]).toEqual([[], [[reason]], []]);
    expect(getEventListeners(late.signal, 'abort')).toEqual([]);
  });
});

describe('a group that has to wait and is asked again', () => {
  it('comes before later requests, and is rejected after several tries', async () => {
    const { groups, seen, answer } = opened();
    const error = new Error('the cloud throttles');
    const [one, two] = [asked('a'), { ...asked('b'), tries: 1 }];
    groups.add(asked('first'));
    groups.add(asked('later'));
    groups.again([one, two], 2, error);
    expect([one.tries, one.reject.mock.calls, two.reject.mock.calls]).toEqual([1, [], [[error]]]);
    await answer();
    expect(seen).toEqual([['first'], ['a', 'later']]);
  });
});
