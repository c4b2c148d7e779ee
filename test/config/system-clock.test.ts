import { expect, it } from 'vitest';
import { systemClock } from '../../config/environment.ts';

const clockOver = () => {
  const hands = { wall: 1_000_000, mono: 50 };
  return {
    hands,
    clock: systemClock(
      () => hands.wall,
      () => hands.mono,
    ),
  };
};

it.each([
  ['both clocks agree', 700, 700, 700],
  ['the machine was suspended and its monotonic clock stood still', 3_600_000, 5, 3_600_000],
  ['the wall clock was set back', -60_000, 700, 700],
  ['both clocks stand still', 0, 0, 0],
])('time passes with the faster of two clocks: %s', (_, wall, mono, passed) => {
  const { hands, clock } = clockOver();
  const before = clock.now().mono;
  hands.wall += wall;
  hands.mono += mono;
  expect(clock.now().mono - before).toBe(passed);
});

it.each([0, 1.5, 600_995.22, Infinity])('a timeout may have any length, such as %s ms', (ms) => {
  expect(systemClock().timeout(ms).aborted).toBe(false);
});

it('never runs backwards, even if the wall clock does', () => {
  const { hands, clock } = clockOver();
  const seen = [0, -5_000, 10_000, -20_000, 3].map((jump) => {
    hands.wall += jump;
    hands.mono += 10;
    return clock.now().mono;
  });
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
});
