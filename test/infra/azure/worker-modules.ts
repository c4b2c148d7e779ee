import { fileURLToPath } from 'node:url';

/** For a process that loads an app as the worker of the Functions host does: where it finds `@azure/functions-core`. */
export const workerModules = { NODE_PATH: fileURLToPath(new URL('worker-modules', import.meta.url)) };
