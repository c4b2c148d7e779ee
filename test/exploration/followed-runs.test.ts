import { describe, expect, it } from 'vitest';
import { told } from './followed-runs.ts';
import { RUN } from './story.ts';

describe('a run in a story', () => {
  it('keeps its name when it changes its place', () => {
    expect(
      told([
        { says: `${RUN} begins`, by: 0, runs: [1, 0] },
        { says: `${RUN} begins`, by: 1, runs: [1, 1] },
        { says: `${RUN} reads the machine`, by: 1, runs: [1, 7] },
        { says: `${RUN} reads the cluster`, by: 0, runs: [8, 1] },
        { says: `${RUN} asks the disk`, by: 1, runs: [8, 9] },
      ]),
    ).toEqual([
      'run A begins',
      'run B begins',
      'run B reads the machine',
      'run B reads the cluster',
      'run A asks the disk',
    ]);
  });

  it('has another name than a run that ended', () => {
    expect(
      told([
        { says: `${RUN} begins`, by: 0, runs: [1, 0] },
        { says: `${RUN} is killed`, by: 0, runs: [0, 0] },
        { says: `${RUN} begins`, by: 0, runs: [1, 0] },
      ]),
    ).toEqual(['run A begins', 'run A is killed', 'run B begins']);
  });
});
