import { json } from 'node:stream/consumers';
import { handlerIn } from './packaged-handler.ts';

/**
 * Runs a packaged function once, as Lambda would: the event on stdin, the log on stdout, and the answer as its last
 * line.
 */
const [, , entry = ''] = process.argv;
const handle = handlerIn(entry);
console.log(JSON.stringify(await handle(await json(process.stdin))));
