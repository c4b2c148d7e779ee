import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { handshakeAnswer } from '../../../providers/azure/events/kinds.ts';
import { readHints } from '../../../providers/azure/events/read-hints.ts';
import { json, text, VM } from './fixtures.ts';

const ignoredBecause = (words: RegExp) => ({
  hints: [],
  faults: [],
  ignored: [{ what: expect.stringMatching(words), where: expect.stringMatching(/^\$/) }],
});
const action = (operationName: string, resourceUri = VM) => ({
  eventType: 'Microsoft.Resources.ResourceActionSuccess',
  subject: resourceUri,
  data: { operationName, resourceUri },
});

describe('events that are understood and name no machine', () => {
  it.each([
    ['an action on something else', json('arm-ResourceActionSuccess.eventgrid-schema.docs.json'), /listKeys/],
    [
      'a delete of something else',
      json('arm-ResourceDeleteSuccess.eventgrid-schema.docs.json'),
      /storageAccounts\/delete/,
    ],
    ['a reboot of the guest', json('health-vm-restarted.derived.json'), /VirtualMachineRestarted/],
    ['a detach', action('Microsoft.Compute/virtualMachines/attachDetachDataDisks/action'), /attachDetachDataDisks/],
    [
      'an operation on a part of a machine',
      action('Microsoft.Compute/virtualMachines/write', `${VM}/extensions/agent`),
      /no machine/,
    ],
    [
      'an operation on a disk',
      action('Microsoft.Compute/disks/delete', VM.replace('virtualmachines', 'disks')),
      /disks\/delete/,
    ],
    [
      'another kind of event of the same sender',
      { type: 'Microsoft.Resources.SomethingNew', specversion: '1.0' },
      /SomethingNew/,
    ],
    [
      'an alert about something else',
      { alertContext: { conditionType: 'SingleResourceMultipleMetricCriteria' } },
      /an alert/,
    ],
    ['a handshake', json('subscription-validation.request.docs.json'), /handshake/],
  ])('%s', (_, raw, words) => {
    expect(readHints(raw)).toEqual(ignoredBecause(words));
  });
});

describe('an unreadable event', () => {
  it.each([
    ['an operation without a name', { ...action(''), data: {} }, '$.data.operationName'],
    [
      'an annotation of nothing',
      {
        eventType: 'Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated',
        data: { resourceInfo: { properties: { annotationName: 'x' } } },
      },
      '$.data.resourceInfo.properties.targetResourceId',
    ],
    ['an unknown type', { type: 'com.example.opened', specversion: '1.0' }, '$.type'],
    ['a disk named by hand', { resourceId: VM.replace('virtualmachines', 'disks') }, '$.resourceId'],
    ['an invalid alert', { schemaId: 'other', data: 1 }, '$.schemaId'],
    ['an empty list', [], '$'],
    ['an empty text', ' ', '$'],
    ['null', null, '$'],
    ['nothing', undefined, '$'],
    ['something else', { hello: 'world' }, '$'],
  ])('is a fault with its place: %s', (_, raw, where) => {
    const { hints, faults } = readHints(raw);
    expect(hints).toEqual([]);
    expect(faults[0]).toMatchObject({ where, remedy: expect.stringMatching(/\w/), what: expect.stringMatching(/\w/) });
  });

  const person = /Sensitive|aud\b|POST/;
  const early = {
    eventType: 'com.example.other',
    data: { claims: { name: 'Sensitive Person', aud: 'x' }, httpRequest: { method: 'POST' } },
  };
  const known = json('arm-vm-deallocate.derived.json');
  const broken = [{ ...known[0], data: { ...known[0].data, operationName: 7 } }];
  const cut = text('arm-vm-deallocate.derived.json').slice(0, -20);
  it.each([
    ['an event', broken],
    ['an event that starts with them', early],
    ['the same as a text in a list', [{ text: JSON.stringify(early) }]],
    ['the same as a text in a text', { text: JSON.stringify({ text: JSON.stringify(early.data) }) }],
    ['an event as text', JSON.stringify(broken)],
    ['a text that is cut off', cut],
    ['a text that starts with them', cut.slice(cut.indexOf('"claims"'))],
    ['the same in base64', Buffer.from(cut).toString('base64')],
    ['old payloads', [{ ...json('arm-vm-deallocate.old-strings.derived.json')[0], eventType: 'com.example.other' }]],
  ])('never shows who caused the event: %s', (_, raw) => {
    const { faults } = readHints(raw);
    expect(faults).not.toEqual([]);
    for (const one of faults) expect(JSON.stringify(one)).not.toMatch(person);
  });

  it('is never ignored silently, and never throws', () => {
    const event = json('health-vm-unavailable.derived.json');
    const wrapped = fc.oneof(
      fc.jsonValue(),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString('base64')),
      fc.jsonValue().map((data) => ({ ...event, data })),
      fc.record({ operationName: fc.string(), resourceUri: fc.string() }).map((data) => ({ ...action(''), data })),
      fc.jsonValue().map((alertContext) => ({ alertContext })),
      fc.string(),
    );
    fc.assert(
      fc.property(wrapped, (raw) => {
        const { hints, faults, ignored } = readHints(raw);
        expect(hints.length + faults.length + ignored.length).toBeGreaterThan(0);
      }),
      { numRuns: 2_000, seed: 1 },
    );
  });
});

describe('the validation handshake of a subscription', () => {
  const post = (body: unknown) => handshakeAnswer({ method: 'POST', headers: {}, body });

  it('is answered as the documentation says, in both schemas', () => {
    const answer = post(json('subscription-validation.request.docs.json'));
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(answer?.body ?? '')).toEqual(json('subscription-validation.response.docs.json'));
    const [{ eventType: type, ...request }] = json('subscription-validation.request.docs.json');
    expect(post({ ...request, type, specversion: '1.0' })).toEqual(answer);
    const headers = { 'webhook-request-origin': 'eventgrid.azure.net', 'webhook-request-rate': '120' };
    expect(handshakeAnswer({ method: 'OPTIONS', headers, body: null })).toEqual({
      status: 200,
      headers: { 'webhook-allowed-origin': 'eventgrid.azure.net', 'webhook-allowed-rate': '120' },
      body: '',
    });
  });

  it('is recognized only in its exact form', () => {
    expect(post(json('arm-vm-deallocate.derived.json'))).toBeNull();
    expect(post(null)).toBeNull();
    expect(handshakeAnswer({ method: 'OPTIONS', headers: {}, body: null })).toBeNull();
    const [request] = json('subscription-validation.request.docs.json');
    expect(post([request, request])).toBeNull();
    expect(handshakeAnswer({ method: 'PUT', headers: {}, body: [request] })).toBeNull();
    expect(post([{ ...request, data: {} }])).toBeNull();
  });
});
