import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scenarios, tooEarly } from './scenarios.ts';
import { explore } from './search.ts';
import { shortenPatience } from './time.ts';

let restorePatience = (): void => undefined;
beforeAll(() => {
  restorePatience = shortenPatience();
});
afterAll(() => {
  restorePatience();
});

const named = (name: string) => {
  const scenario = scenarios.find((one) => one.name === name);
  if (!scenario) throw new Error(`there is no scenario ${name}`);
  return scenario;
};

describe('an exploration of the shipped rules', () => {
  it('exhausts a stop with runs that are killed and frozen anywhere, and nothing breaks', () => {
    const { states, exhausted, story } = explore(named('stop'));
    expect(story).toBeNull();
    expect(exhausted).toBe(true);
    expect(states).toBeGreaterThan(100_000);
  });

  it('finds the schedule that breaks a disk where a kubelet mounts before the proof has expired everywhere', () => {
    const { story } = explore(tooEarly);
    expect(story?.breaks).toBe('one-writer');
    expect(story?.says).toContain('the run reads the machine: off, which is stale');
    expect(story?.says.at(-1)).toMatch(/detach/);
  });
});
