import { XMLValidator } from 'fast-xml-parser';
import { describe, expect, it } from 'vitest';
import { timelinePicture } from '../../report/chart.ts';
import { clockTime, duration, tickText, ticks } from '../../report/words.ts';
import { timelineOf } from '../../report/timeline.ts';
import { released } from './samples.ts';

describe('the timeline as a picture', () => {
  const picture = timelinePicture(timelineOf(released));

  it('is the one in README.md; `-u` writes it again', () =>
    expect(picture).toMatchFileSnapshot('../../docs/timeline.svg'));

  it('is well-formed, and contains no name', () => {
    expect(XMLValidator.validate(picture)).toBe(true);
    expect(picture).not.toContain(released.machine);
    expect(picture).not.toContain(released.node);
  });
});

describe('times in words', () => {
  it.each([
    [0, '0 s'],
    [129, '0.13 s'],
    [9_999, '10.0 s'],
    [59_960, '1 min 00 s'],
    [356_000, '5 min 56 s'],
    [3_599_900, '1 h 00 min'],
    [7_500_000, '2 h 05 min'],
    [86_399_999, '1 d 00 h'],
    [266_400_000, '3 d 02 h'],
    [-1_000, '−1.00 s'],
  ])('%i ms is %s', (ms, says) => expect(duration(ms)).toBe(says));

  it('an axis has few and round marks', () => {
    expect(ticks(29_400, 6).map(tickText)).toEqual(['0', '5 s', '10 s', '15 s', '20 s', '25 s']);
    expect(ticks(660_000, 6).map(tickText)).toEqual(['0', '2 min', '4 min', '6 min', '8 min', '10 min']);
    for (const span of [100, 5_000, 400_000, 86_400_000, 3e9]) expect(ticks(span, 5).length).toBeLessThanOrEqual(6);
    expect(clockTime(0)).toBe('00:00:00.000');
  });
});
