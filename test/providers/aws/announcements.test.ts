import { readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { announcementsOf, type Announcement } from '../../../incidents/announcement.ts';
import { parseIncident } from '../../../incidents/incident.ts';
import { createIncidentKeeper } from '../../../providers/aws/incidents.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';

/** What the event bus and the topic receive about an incident, within the limits of their APIs. */

const servers: StandIn[] = [];
afterEach(() => Promise.all(servers.splice(0).map((one) => one.close())));

/** The first message about the fence of an example. */
const fence = (): Announcement => {
  const text = readFileSync(new URL('../../incidents/examples/fence.json', import.meta.url), 'utf8');
  const incident = parseIncident(text);
  const [announcement] = incident ? announcementsOf(null, incident) : [];
  if (!announcement) throw new Error('no message is about the example');
  return announcement;
};

/** Returns the bodies that the bus and the topic receive. */
const received = async (announcement: Announcement) => {
  const bodies = new Map<string, string>();
  const server = await openStandIn(({ headers, body }) => {
    const isBus = headers['x-amz-target'] === 'AWSEvents.PutEvents';
    bodies.set(isBus ? 'bus' : 'topic', body.toString());
    return { body: isBus ? { FailedEntryCount: 0 } : '<PublishResponse/>' };
  });
  servers.push(server);
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
  const places = { bucket: 'incidents', topic: 'arn:aws:sns:eu-central-1:111122223333:incidents' };
  const keeper = createIncidentKeeper(places, { region: 'eu-central-1', credentials, endpoint: server.url });
  await keeper.announce(announcement, new AbortController().signal);
  return bodies;
};

/** https://docs.aws.amazon.com/sns/latest/api/API_Publish.html */
it('the subject of a mail has less than 100 characters, all of them ASCII on one line', async () => {
  const announcement = fence();
  const page = `Cloudfence fenced Node kn\u00f6ten\n-${'x'.repeat(253)} in sandbox`;
  const bodies = await received({ ...announcement, texts: { ...announcement.texts, page } });
  const subject = new URLSearchParams(bodies.get('topic')).get('Subject') ?? '';
  expect(subject).toMatch(/^Cloudfence fenced Node kn\?ten\?-x+$/);
  expect(subject.length).toBeLessThan(100);
});

/** The protocol JSON 1.1 writes a timestamp as seconds: https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html */
it('the event on the bus has the time of the incident in seconds', async () => {
  const announcement = fence();
  const [entry] = JSON.parse((await received(announcement)).get('bus') ?? '').Entries;
  expect(new Date(entry.Time * 1_000).toISOString()).toBe(new Date(announcement.at).toISOString());
});
