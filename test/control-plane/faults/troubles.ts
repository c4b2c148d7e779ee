import { setTimeout as delay } from 'node:timers/promises';
import { XMLBuilder } from 'fast-xml-parser';
import type { Change } from './changes.ts';
import { changeIn } from './changes.ts';
import type { GateResponse, Handling, GateRequest } from './gate.ts';
import { keyOf } from './strike.ts';

/** What goes wrong on the connection to the API server or to EC2. */

type Refuse = (to: GateRequest['to']) => GateResponse;

const statusOf = (code: number, reason: string, headers: Readonly<Record<string, string>> = {}): GateResponse => ({
  status: code,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message: 'not now', code }),
});

const ec2Error = (status: number, Code: string): GateResponse => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body: new XMLBuilder().build({ Response: { Errors: { Error: { Code, Message: 'not now' } }, RequestID: 'trouble' } }),
});

/** https://docs.aws.amazon.com/ec2/latest/devguide/errors-overview.html */
export const throttled: Refuse = (to) =>
  to === 'api' ? statusOf(429, 'TooManyRequests', { 'retry-after': '1' }) : ec2Error(503, 'RequestLimitExceeded');
export const broken: Refuse = (to) => (to === 'api' ? statusOf(500, 'InternalError') : ec2Error(500, 'InternalError'));
export const unavailable: Refuse = (to) =>
  to === 'api' ? statusOf(503, 'ServiceUnavailable') : ec2Error(503, 'Unavailable');

export const refused =
  (refusal: Refuse): Handling =>
  async ({ to }) =>
    refusal(to);

/** The call takes effect, and the answer says that it failed. */
export const refusedAfterEffect =
  (refusal: Refuse): Handling =>
  async ({ to }, forward) => {
    await forward();
    return refusal(to);
  };

export const cut: Handling = async () => 'cut';

export const cutAfterEffect: Handling = async (_, forward) => {
  await forward();
  return 'cut';
};

/** The call takes effect and is never answered. */
export const silentAfterEffect: Handling = async (_, forward) => {
  await forward();
  return new Promise(() => undefined);
};

export const slow =
  (ms: number): Handling =>
  async (_, forward) => {
    const answer = await forward();
    await delay(ms);
    return answer;
  };

const passOn: Handling = (_, forward) => forward();

/** Only on the way to the server. */
export const onTheWayTo =
  (to: GateRequest['to'], trouble: Handling): Handling =>
  (passing, forward) =>
    (passing.to === to ? trouble : passOn)(passing, forward);

/** Each request has the trouble once, and succeeds when it is repeated. */
export const onceEach = (trouble: Handling): Handling => {
  const met = new Set<string>();
  return (passing, forward) => {
    const key = `${passing.method} ${keyOf(passing)}`;
    if (met.has(key)) return forward();
    met.add(key);
    return trouble(passing, forward);
  };
};

export const whenIts = (changes: readonly Change[], trouble: Handling): Handling => {
  const wanted = new Set<Change | null>(changes);
  return (passing, forward) => (wanted.has(changeIn(passing)) ? trouble : passOn)(passing, forward);
};
