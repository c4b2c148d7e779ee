import { handlerIn } from './packaged-handler.ts';

/**
 * Keeps a packaged function as Lambda keeps a warm one: each message is an event, and is answered before the next one
 * is read.
 */
const [, , entry = ''] = process.argv;
const handle = handlerIn(entry);
const loadedAfter = performance.now();

process.on('message', (event) => {
  void handle(event).then((answer) => process.send?.({ answer, loadedAfter }));
});
