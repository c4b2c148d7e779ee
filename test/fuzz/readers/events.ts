import { readEventOfAnyCloud } from '../../../app/any-cloud.ts';
import type { ParsedEvent } from '../../../fencing/model/cloud.ts';
import { parseJsonOrText } from '../../../fencing/model/json-text.ts';
import { readHints as readAws } from '../../../providers/aws/events/read-hints.ts';
import { readHints as readAzure } from '../../../providers/azure/events/read-hints.ts';
import { readHints as readGcp } from '../../../providers/gcp/events/read-hints.ts';
import { sample, samplesOf } from '../../functions/samples.ts';
import { bytesOf, type Damage, damaged, decoded } from '../damage.ts';
import { CANARY, type Reader, type Reading } from '../judge.ts';

/** Only the readers of events. The sender puts a secret into a field that nothing reads. */

const SECRET = 'httpHeaders';
const withSecret = (text: string): string => text.replace('{', () => `{"${SECRET}":[["authorization","${CANARY}"]],`);

export const eventSamples = (cloud: string): readonly string[] =>
  samplesOf(cloud).map((name) => withSecret(sample(cloud, name)));

/** An event arrives as a text, as a parsed value, as bytes, or with another one. */
const arrivals = [
  decoded,
  (text: string): unknown => parseJsonOrText(decoded(text)),
  bytesOf,
  (text: string): unknown => [parseJsonOrText(decoded(text)), { instanceId: 'i-0123456789abcdef0' }],
] as const;

/** The longest id of a machine in any cloud (characters). */
const LONGEST_ID = 1_000;

const wrongWith = ({ hints, faults, ignored }: ParsedEvent): readonly string[] => [
  ...(hints.length + faults.length + ignored.length === 0 ? ['drops the event silently'] : []),
  ...(hints.some(({ machine }) => machine === '' || machine.length > LONGEST_ID)
    ? ['names an impossible machine']
    : []),
  ...(hints.some(({ time }) => time !== null && !Number.isFinite(time)) ? ['tells an impossible time'] : []),
  ...(new Set(hints.map(({ machine }) => machine)).size > 1_000 ? ['names more machines than one call may name'] : []),
  ...(faults.some(({ what, where, remedy }) => what === '' || where === '' || remedy === '')
    ? ['has a fault without a reason']
    : []),
];

const wordFor = ({ hints, faults, ignored }: ParsedEvent): string => {
  if (faults.length > 0) return hints.length > 0 ? 'understood in part' : 'not understood';
  if (hints.length > 0) return 'understood';
  return ignored.length > 0 ? 'ignored' : 'nothing';
};

const readingOf = (read: ParsedEvent): Reading => ({
  outcome: wordFor(read),
  said: [
    ...read.hints.map(({ because, eventId, replay }) => `${because} ${eventId} ${replay}`).slice(0, 50),
    ...read.faults.map(({ what, where, remedy }) => `${what} ${where} ${remedy}`),
    ...read.ignored.map(({ what, where }) => `${what} ${where}`),
  ],
  wrong: wrongWith(read),
});

const eventReader = (
  name: string,
  share: number,
  samples: readonly string[],
  readHints: (raw: unknown) => ParsedEvent,
): Reader => ({
  name,
  share,
  takes: 'json',
  turns: arrivals.map((_, at) => at),
  read: (damage: Damage) => {
    const arrive = arrivals[damage.turn % arrivals.length] ?? decoded;
    return readingOf(readHints(arrive(damaged(samples, damage, [SECRET]))));
  },
});

const [aws, azure, gcp] = ['aws', 'azure', 'gcp'].map(eventSamples);

const anyCloud = [
  { name: 'aws', readHints: readAws },
  { name: 'azure', readHints: readAzure },
  { name: 'gcp', readHints: readGcp },
];

export const eventReaders: readonly Reader[] = [
  eventReader('event of AWS', 1_600, aws ?? [], readAws),
  eventReader('event of Azure', 1_600, azure ?? [], readAzure),
  eventReader('event of Google Cloud', 1_600, gcp ?? [], readGcp),
  eventReader(
    'event of any cloud',
    400,
    [aws, azure, gcp].flatMap((one) => one ?? []),
    (raw) => readEventOfAnyCloud(raw, anyCloud),
  ),
];
