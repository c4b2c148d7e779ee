import { json } from 'node:stream/consumers';
import { handler } from '../../functions/aws/on-event.ts';

/** Runs the AWS handler once, as Lambda would: the event on stdin, its answer as the last line of stdout, the log before it. */
const LASTS_MS = 60_000;

const endsAt = Date.now() + LASTS_MS;
const answer = await handler(await json(process.stdin), { getRemainingTimeInMillis: () => endsAt - Date.now() });
console.log(JSON.stringify(answer));
