import { describe, expect, it } from 'vitest';
import { differences, toComparable } from './compare.ts';
import { incidents } from './incidents.ts';
import type { Writing } from './lines.ts';
import { openSandboxStage } from './sandbox.ts';
import type { Story } from './stage.ts';

/**
 * In this test, one play of the sandbox stands for the real control plane, and another version of it for the sandbox.
 */
const play = async (name: string): Promise<Story> => {
  const stage = openSandboxStage(1);
  await incidents[name]?.(stage);
  return stage.story();
};

const story = await play('taint and force delete');

const compared = (change: (writing: Writing, index: number) => Writing | null): readonly string[] =>
  differences(toComparable(story), [
    toComparable({ ...story, writings: story.writings.flatMap((writing, index) => change(writing, index) ?? []) }),
  ]);

const isEndOf =
  (kind: Writing['kind']) =>
  (writing: Writing): boolean =>
    writing.kind === kind && writing.gone;
const endOfAttachment = isEndOf('volumeattachments');
const endOfPod = isEndOf('pods');

describe('the comparison of a recorded story with a simulated one', () => {
  it('finds no difference between a story and itself', () => {
    expect(compared((writing) => writing)).toEqual([]);
  });

  it('finds that something else deleted an object', () => {
    expect(compared((writing) => (endOfPod(writing) ? { ...writing, by: 'pod-garbage-collector' } : writing))).toEqual([
      'pod 1, exists: really statefulset-controller made it "yes" (before), then somebody made it "gone" (by hand); in the sandbox statefulset-controller made it "yes" (before), then pod-garbage-collector made it "gone" (by hand)',
    ]);
  });

  it('finds a write that is missing', () => {
    expect(compared((writing) => (endOfAttachment(writing) ? null : writing)).join()).toContain(
      'attachment to home 1, exists: really attach-detach made it "yes" (before), then external-attacher made it "gone"',
    );
  });

  it.for([
    [100, false],
    [290, false],
    [600, true],
    [-600, true],
  ] as const)('accepts a detach that takes %s ms longer only within a limit of a fifth or 300 ms', ([ms, isFound]) => {
    const found = compared((writing) => (endOfAttachment(writing) ? { ...writing, at: writing.at + ms } : writing));
    expect(found.some((difference) => difference.startsWith('attachment to home 1, exists "gone": really after'))).toBe(
      isFound,
    );
  });

  it('finds an event before its cause', () => {
    const gone = story.writings.find(endOfPod)?.revision ?? 0;
    const found = compared((writing) =>
      writing.by === 'statefulset-controller' && writing.revision > gone
        ? { ...writing, revision: gone - 0.5 }
        : writing,
    );
    expect(found).toContain('in the sandbox (pod 2, exists "yes") comes before (pod 1, exists "gone")');
  });

  it('finds a different order of events that do not race', () => {
    const first = story.writings.find(endOfAttachment);
    const last = Math.max(...story.writings.map(({ revision }) => revision));
    const found = compared((writing) => (writing === first ? { ...writing, revision: last + 1 } : writing));
    expect(
      found.some((difference) =>
        difference.startsWith(
          'attachment to home 1, exists "gone" (by hand) really comes before attachment to refuge 1, attached "true"',
        ),
      ),
    ).toBe(true);
  });

  it('finds a field that differs at the end', () => {
    const last = story.writings.findLast(({ kind }) => kind === 'volumeattachments');
    const found = compared((writing) =>
      writing === last
        ? {
            ...writing,
            object: Object.assign(structuredClone(Object(writing.object)), {
              spec: {
                attacher: 'other',
                nodeName: story.participants.refuge,
                source: { persistentVolumeName: story.participants.volume },
              },
            }),
          }
        : writing,
    );
    expect(found).toEqual([
      expect.stringMatching(
        /^attachment to refuge at the end: really .*ebs.csi.aws.com.*in the sandbox .*"attacher":"other"/,
      ),
    ]);
  });
});
