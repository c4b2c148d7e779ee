import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readHints } from '../../../providers/gcp/events/read-hints.ts';

const fixtures = new URL('../../fixtures/gcp/', import.meta.url);
const text = (name: string): string => readFileSync(new URL(name, fixtures), 'utf8');
const json = (name: string): Record<string, unknown> => JSON.parse(text(name));

const MACHINE = 'projects/project-1/zones/us-central1-a/instances/instance-1';
const stopped = json('audit-v1-stop-LAST.derived.json');
const entry = (protoPayload: object, more: object = {}) => ({
  insertId: 'x',
  ...more,
  protoPayload: { resourceName: MACHINE, ...protoPayload },
});
const summary = (raw: unknown) => readHints(raw).hints.map((hint) => [hint.machine, hint.because]);
const ignoredBecause = (words: RegExp) => ({
  hints: [],
  faults: [],
  ignored: [{ what: expect.stringMatching(words), where: '$' }],
});

describe('hints in the audit logs of Google Cloud', () => {
  it.each([
    ['audit-v1-stop-LAST.derived.json', 'api-call-stop'],
    ['audit-v1-delete-LAST.derived.json', 'api-call-delete'],
    ['audit-v1-start-LAST.derived.json', 'api-call-start'],
    ['audit-v1-suspend-LAST.iap-desktop.json', 'api-call-suspend'],
    ['system-preempted.iap-desktop.json', 'preempted'],
    ['system-hostError.iap-desktop.json', 'host-error'],
    ['system-guestTerminate.iap-desktop.json', 'guest-terminate'],
    ['system-terminateOnHostMaintenance.iap-desktop.json', 'terminate-on-host-maintenance'],
  ])('%s is %s', (name, because) => {
    expect(readHints(json(name))).toMatchObject({ hints: [{ machine: MACHINE, because }], faults: [], ignored: [] });
  });

  it('contain the account and the time of their event', () => {
    expect(readHints(stopped).hints).toEqual([
      {
        machine: MACHINE,
        because: 'api-call-stop',
        eventId: '-3vh2mxdfk2k',
        time: Date.UTC(2020, 5, 18, 7, 50, 51, 862),
        account: 'project-1',
        region: 'us-central1',
        replay: null,
      },
    ]);
  });

  it.each([
    ['v1.compute.instances.resume', 'api-call-resume'],
    ['beta.compute.instances.stop', 'api-call-stop'],
    ['alpha.compute.instances.startWithEncryptionKey', 'api-call-start-with-encryption-key'],
    ['v1.compute.instances.insert', 'api-call-insert'],
    ['compute.instances.automaticRestart', 'automatic-restart'],
    ['compute.instances.repair.recreateInstance', 'repair-recreate-instance'],
    ['compute.instances.somethingNew', 'something-new'],
  ])('come from %s', (methodName, because) => {
    expect(summary(entry({ methodName }))).toEqual([[MACHINE, because]]);
  });

  it.each([
    ['audit-v1-stop-FIRST.iap-desktop.json', /stop that was accepted/],
    ['audit-v1-delete-FIRST.iap-desktop.json', /delete that was accepted/],
    ['audit-v1-start-FIRST.iap-desktop.json', /start that was accepted/],
    ['audit-v1-reset-LAST.iap-desktop.json', /reset, which does not start or stop an instance/],
    ['audit-v1-stop-FAILED.derived.json', /stop that failed/],
  ])('are none in %s', (name, words) => {
    expect(readHints(json(name))).toEqual(ignoredBecause(words));
  });

  it.each([
    'compute.instances.migrateOnHostMaintenance',
    'v1.compute.instances.attachDisk',
    'v1.compute.instanceGroupManagers.resize',
    'storage.objects.get',
    'gcompute.instances.stop',
  ])('are none in %s', (methodName) => {
    expect(readHints(entry({ methodName }))).toEqual(ignoredBecause(/does not start or stop an instance/));
  });

  it('are found in a system event whose status has words and no code, but not if it has a code', () => {
    expect(
      summary(entry({ methodName: 'compute.instances.preempted', status: { message: 'Instance was preempted.' } })),
    ).toHaveLength(1);
    expect(readHints(entry({ methodName: 'v1.compute.instances.stop', status: { code: 7 } }))).toEqual(
      ignoredBecause(/failed/),
    );
  });

  it('name the project by its ID if the entry has its number', () => {
    const numbered = { methodName: 'v1.compute.instances.delete', resourceName: MACHINE.replace('project-1', '123') };
    expect(summary(entry(numbered, { resource: { labels: { project_id: 'project-1' } } }))).toEqual([
      [MACHINE, 'api-call-delete'],
    ]);
    expect(readHints(entry(numbered))).toMatchObject({
      hints: [],
      faults: [{ where: '$.protoPayload.resourceName', remedy: expect.stringContaining('project_id') }],
    });
  });
});

describe('wrappers of entries', () => {
  const push = json('pubsub-push-stop.derived.json');
  it.each([
    ['an array', [stopped]],
    ['the answer of entries.list', { entries: [stopped] }],
    ['a push of Pub/Sub', push],
    [
      'what `gcloud pubsub subscriptions pull` prints',
      [{ ackId: 'a', ackStatus: 'SUCCESS', message: push['message'] }],
    ],
    ['the result of a Pub/Sub pull', { receivedMessages: [{ ackId: 'a', message: push['message'] }] }],
    ['a message of Pub/Sub', push['message']],
    ['a CloudEvent of Pub/Sub', json('pubsub-cloudevent-stop.derived.json')],
    ['a CloudEvent of Eventarc', json('eventarc-cloudevent-stop.derived.json')],
    [
      'a CloudEvent with encoded data',
      { specversion: '1.0', data_base64: Buffer.from(JSON.stringify(stopped)).toString('base64') },
    ],
    ['JSON text', text('audit-v1-stop-LAST.derived.json')],
    ['JSON lines', `\uFEFF\n${JSON.stringify(stopped)}\n\n`],
  ])('%s is unwrapped', (_, raw) => {
    expect(summary(raw)).toEqual([[MACHINE, 'api-call-stop']]);
  });

  it('keep the good entries of a list, and name the bad ones by their place', () => {
    const reading = readHints([
      stopped,
      { message: { data: Buffer.from('{').toString('base64') } },
      json('eventarc-cloudevent-STRUCTURED-shape.google-cloudevents.json'),
    ]);
    expect(reading.hints).toHaveLength(1);
    expect(reading.faults).toMatchObject([{ where: '$[1].message.data', what: expect.stringMatching(/^not JSON/) }]);
    expect(reading.ignored).toMatchObject([{ where: '$[2].data' }]);
    expect(readHints(`${JSON.stringify(stopped)}\nnonsense`).faults).toMatchObject([{ where: '$(line 2)' }]);
  });

  it.each([MACHINE, 'gce://project-1/us-central1-a/instance-1'])(
    'are not needed for an instance that a person names: %s',
    (instance) => {
      expect(summary({ instance })).toEqual([[MACHINE, 'by-hand']]);
    },
  );
});
