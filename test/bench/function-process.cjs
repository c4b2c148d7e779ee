'use strict';

/**
 * Loads one packaged function as Lambda does, in a process that holds nothing else, and tells its parent what that took;
 * given an event (JSON), it invokes the handler once. Plain JavaScript, so that no loader of TypeScript is measured too.
 */

const [, , file, event, calls, exported = 'handler'] = process.argv;
const LASTS_MS = 60_000;
const MOST_ANSWERS = 10;

const loaded = () => Object.keys(require.cache);

const builtins = () =>
  process.moduleLoadList.filter((name) => name.startsWith('NativeModule ')).map((name) => name.slice(13));

/** The programs that the function starts. Each has its arguments only after it has been announced. */
const programs = [];
require('node:diagnostics_channel').subscribe('child_process', ({ process: program }) => programs.push(program));

/** What is loaded when the first request leaves, and what that took from the beginning of the import. */
let firstCall = null;
const atFirstCall = ({ request }) => {
  if (firstCall !== null) return;
  const { user, system } = process.cpuUsage(cpuBefore);
  firstCall = {
    ms: performance.now() - began,
    cpuMs: (user + system) / 1_000,
    host: request.getHeader('host'),
    loaded: loaded(),
    builtins: builtins(),
  };
};
require('node:diagnostics_channel').subscribe('http.client.request.start', atFirstCall);

/** What was asked, and what is loaded when the answer arrives, until many are. */
const answers = [];
const atAnswer = ({ request: { method, path } }) => {
  if (answers.length < MOST_ANSWERS) answers.push({ asked: `${method} ${path}`, loaded: loaded() });
};
require('node:diagnostics_channel').subscribe('http.client.response.finish', atAnswer);

const cpuBefore = process.cpuUsage();
const began = performance.now();
const handler = require(file)[exported];
const importMs = performance.now() - began;

const imported = { importMs, rssAfterImport: process.memoryUsage().rss, loadedAtImport: loaded() };

/** Calls the handler as the Functions Framework does, without a network. Only the body of the answer matters. */
const overHttp = async (request) => {
  let text = '';
  const response = {
    writeHead: (status) => ((response.status = status), response),
    end: (body) => (text = body ?? ''),
  };
  await handler(request, response);
  return text === '' ? { status: response.status } : JSON.parse(text);
};

/** Calls the handler as the Functions host of Azure does, with a request or a message. It drops the log lines. */
const asAzure = ({ http, message }) => {
  const said = () => undefined;
  const request = { method: 'POST', headers: [], text: async () => JSON.stringify(http) };
  return handler(http === undefined ? message : request, { log: said, warn: said, error: said });
};

const asLambda = (request, started) =>
  handler(request, { getRemainingTimeInMillis: () => LASTS_MS - (performance.now() - started) });

const invoke = async () => {
  const started = performance.now();
  const cpu = process.cpuUsage();
  const given = JSON.parse(event);
  const ways = { http: overHttp, azure: asAzure, lambda: (request) => asLambda(request, started) };
  const answer = (await ways[calls](given)) ?? null;
  const { user, system } = process.cpuUsage(cpu);
  return {
    answer,
    answeredAfterMs: performance.now() - started,
    rssAfterwards: process.memoryUsage().rss,
    peakRss: process.resourceUsage().maxRSS * 1_024,
    fenceCpuMs: (user + system) / 1_000,
    firstCall,
    answers,
    programs: programs.map(({ spawnargs = [] }) => spawnargs.join(' ')),
    loadedAfterwards: loaded(),
  };
};

const tell = (finding) => process.send(finding, () => process.exit());

if (event === undefined) tell(imported);
else void invoke().then((invoked) => tell({ ...imported, ...invoked }));
