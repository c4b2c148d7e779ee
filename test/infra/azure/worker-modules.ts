import { fileURLToPath } from 'node:url';

/** Where a process that loads an app, like the worker of the Functions host, finds `@azure/functions-core`. */
export const workerModules = { NODE_PATH: fileURLToPath(new URL('worker-modules', import.meta.url)) };
