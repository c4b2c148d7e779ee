import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardRemoval, FENCES_QUESTION } from '../../../infra/serverless/removal-guard.ts';
import { deployerAt, packaged } from './installed.ts';
import { type Management, openManagement } from './management.ts';
import { PROJECT } from './store.ts';

/**
 * A removal continues only if the function doctor says that there is no fence, or if nothing is left that could have
 * created one.
 */

let google: Management;
beforeEach(async () => {
  google = await openManagement();
});
afterEach(() => google.close());

const service = { classes: { Error } };
const guarded = async (written = {}): Promise<string> => {
  const notices: string[] = [];
  const log = { notice: (text: string) => void notices.push(text), warning: (text: string) => void notices.push(text) };
  const deployer = deployerAt(google, written);
  await guardRemoval({ name: 'doctor', ask: () => deployer.invoke('doctor', FENCES_QUESTION) }, service, {}, { log });
  return notices.join(' ');
};
const path = (name: string, region = 'europe-west1') =>
  `projects/${PROJECT}/locations/${region}/functions/cloudfence-prod-${name}`;

describe('the removal guard', () => {
  beforeEach(() => deployerAt(google).deploy(packaged(), () => undefined));

  it('allows a removal if there is no fence', async () => {
    google.answers.set('cloudfence-prod-doctor', { fences: [] });
    expect(await guarded()).toBe('');
  });

  it('refuses an answer that is empty', async () => {
    google.answers.set('cloudfence-prod-doctor', '');
    await expect(guarded()).rejects.toThrow(/did not say whether Nodes are fenced/);
  });

  it('refuses a removal if the functions are in another region', async () => {
    await expect(guarded({ region: 'us-central1' })).rejects.toThrow(
      /function doctor does not exist in us-central1, but .*europe-west1\/functions\/cloudfence-prod-doctor.* exist/,
    );
  });

  it('refuses a removal if only the doctor is gone', async () => {
    google.store.objects.delete(path('doctor'));
    await expect(guarded()).rejects.toThrow(/, but .*cloudfence-prod-on-event.* exist/);
  });

  it('refuses a removal if a region does not list its functions', async () => {
    for (const name of ['on-event', 'sweep', 'replay', 'fence', 'doctor', 'diagnose'])
      google.store.objects.delete(path(name));
    google.store.unreachable = ['projects/my-project/locations/asia-east1'];
    await expect(guarded()).rejects.toThrow(/asia-east1/);
  });

  it('refuses a removal if the caller may not list functions', async () => {
    google.store.granted = new Set();
    await expect(guarded()).rejects.toThrow(/cloudfunctions\.functions\.get/);
  });

  it('refuses a removal if a proxy, and not Google, says that there is nothing', async () => {
    google.store.proxied = true;
    await expect(guarded()).rejects.toThrow(/returned 404/);
  });

  it('allows a removal that was interrupted after all functions were gone', async () => {
    for (const name of ['on-event', 'sweep', 'replay', 'fence', 'doctor', 'diagnose'])
      google.store.objects.delete(path(name));
    expect(await guarded()).toMatch(/The function doctor does not exist/);
  });

  it('does not block an interrupted removal of another stage', async () => {
    for (const name of ['on-event', 'sweep', 'replay', 'fence', 'doctor', 'diagnose'])
      google.store.objects.delete(path(name));
    google.store.objects.set(path('x-doctor'), { name: path('x-doctor') });
    expect(await guarded()).toMatch(/The function doctor does not exist/);
  });
});

it('a deployment into another region is refused while the install is in the first', async () => {
  await deployerAt(google).deploy(packaged(), () => undefined);
  const writes = google.writes().length;
  await expect(deployerAt(google, { region: 'us-central1' }).deploy(packaged(), () => undefined)).rejects.toThrow(
    /already exists in another region/,
  );
  expect(google.writes().slice(writes)).toEqual([]);
});
