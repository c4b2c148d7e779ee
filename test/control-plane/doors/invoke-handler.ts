import { json } from 'node:stream/consumers';
import { handlerIn } from './packaged-handler.ts';

/**
 * Runs a packaged function once, as Lambda would: the event on stdin, its answer as the last line of stdout, the log
 * before it.
 */
const [, , entry = ''] = process.argv;
const handle = handlerIn(entry);
console.log(JSON.stringify(await handle(await json(process.stdin))));
