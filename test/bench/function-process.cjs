'use strict';

/**
 * Loads one packaged function as Lambda does, in a process that holds nothing else, and tells its parent what that took;
 * given an event (JSON), it invokes the handler once. Plain JavaScript, so that no loader of TypeScript is measured too.
 */

const [, , file, event] = process.argv;
const LASTS_MS = 60_000;

const began = performance.now();
const { handler } = require(file);
const importMs = performance.now() - began;

const loaded = () => Object.keys(require.cache);
const imported = { importMs, rssAfterImport: process.memoryUsage().rss, loadedAtImport: loaded() };

const invoke = async () => {
  const started = performance.now();
  const cpu = process.cpuUsage();
  const answer = await handler(JSON.parse(event), { getRemainingTimeInMillis: () => LASTS_MS - (performance.now() - started) });
  const { user, system } = process.cpuUsage(cpu);
  return { answer, rssAfterwards: process.memoryUsage().rss, peakRss: process.resourceUsage().maxRSS * 1_024, fenceCpuMs: (user + system) / 1_000, loadedAfterwards: loaded() };
};

const tell = (finding) => process.send(finding, () => process.exit());

if (event === undefined) tell(imported);
else void invoke().then((invoked) => tell({ ...imported, ...invoked }));
